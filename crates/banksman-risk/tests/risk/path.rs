//! File actions.

use banksman_core::{Action, Kind, Risk, json};
use proptest::prelude::*;

use crate::assessor;

fn level(text: &str) -> Risk {
    assessor().assess_text(Kind::File, text).level
}

#[test]
fn files_are_judged_by_where_they_are() {
    for (text, expected) in [
        ("read README.md", Risk::None),
        ("read /etc/hosts", Risk::None),
        ("read /etc/passwd", Risk::None),
        ("write src/main.rs", Risk::None),
        ("write /tmp/x", Risk::None),
        ("delete /tmp/x", Risk::None),
        ("rmtree node_modules", Risk::None),
        ("write /dev/null", Risk::None),
        ("README.md", Risk::None),
        ("read .env", Risk::Medium),
        ("read ./src/../.env", Risk::Medium),
        (".env", Risk::Medium),
        ("read /etc/shadow", Risk::High),
        ("/etc/hosts", Risk::High),
        ("write ~/.bashrc", Risk::High),
        ("write ~/.ssh/authorized_keys", Risk::High),
        ("write /tmp/../etc/cron.d/x", Risk::High),
        ("write ~/.config/git/config", Risk::High),
        ("write ~/.local/bin/ls", Risk::High),
        ("write ~/.cargo/config.toml", Risk::High),
        ("write .cargo/config.toml", Risk::High),
        ("write .vscode/tasks.json", Risk::High),
        ("write .envrc", Risk::Medium),
        ("write .npmrc", Risk::Medium),
        ("write .github/workflows/ci.yml", Risk::Medium),
        ("rmtree .git", Risk::High),
        ("rmtree ~", Risk::Critical),
        ("rmtree /", Risk::Critical),
        ("rmtree /etc", Risk::Critical),
        ("write /dev/sda", Risk::Critical),
        ("write banksman-data/policy.yaml", Risk::Critical),
    ] {
        assert_eq!(level(text), expected, "{text}");
    }
}

fn level_of(action: &str) -> Risk {
    let action = Action::from_json(json::parse(action.as_bytes()).unwrap()).unwrap();
    assessor().assess(&action).level
}

/// In containers and on web servers, projects live among the system's own folders.
#[test]
fn the_working_folder_is_a_project_wherever_projects_are_kept() {
    for (action, expected) in [
        (
            r#"{"tool":"Bash","kind":"shell","args":{"command":"rm -rf node_modules","cwd":"/usr/src/app"}}"#,
            Risk::None,
        ),
        (
            r#"{"tool":"Bash","kind":"shell","args":{"command":"rm -rf /var/www/shop/dist","cwd":"/var/www/shop"}}"#,
            Risk::None,
        ),
        (
            r#"{"tool":"Bash","kind":"shell","args":{"command":"echo x > src/a.txt","cwd":"/opt/shop"}}"#,
            Risk::None,
        ),
        (r#"{"tool":"Bash","kind":"shell","args":{"command":"rm -rf .","cwd":"/opt/shop"}}"#, Risk::High),
        (
            r#"{"tool":"Bash","kind":"shell","args":{"command":"rm -rf ../../lib","cwd":"/usr/src/app"}}"#,
            Risk::Critical,
        ),
        (
            r#"{"tool":"Bash","kind":"shell","args":{"command":"rm -rf dist-packages","cwd":"/usr/lib/python3"}}"#,
            Risk::Critical,
        ),
        (r#"{"tool":"Bash","kind":"shell","args":{"command":"rm -rf x","cwd":"/etc"}}"#, Risk::Critical),
        (
            r#"{"tool":"Write","kind":"file","args":{"file_path":"/usr/src/app/src/a.ts","content":"x"},"evidence":{"cwd":"/usr/src/app"}}"#,
            // What its name says, and nothing more.
            Risk::Low,
        ),
        (
            r#"{"tool":"Write","kind":"file","args":{"file_path":"/usr/src/app/.env","content":"x"},"evidence":{"cwd":"/usr/src/app"}}"#,
            Risk::Medium,
        ),
        (
            r#"{"tool":"Write","kind":"file","args":{"file_path":"/usr/src/app/src/a.ts","content":"x"}}"#,
            Risk::High,
        ),
        (
            r#"{"tool":"Write","kind":"file","args":{"file_path":"/usr/bin/env","content":"x"},"evidence":{"cwd":"/usr/src/app"}}"#,
            Risk::High,
        ),
        (
            r#"{"tool":"Write","kind":"file","args":{"file_path":"/usr/bin/env","content":"x"},"evidence":{"cwd":"/usr/bin"}}"#,
            Risk::High,
        ),
    ] {
        assert_eq!(level_of(action), expected, "{action}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC{0,100}") {
        let _ = level(&text);
    }

    #[test]
    fn redundant_parts_never_lower_a_level(
        verb in prop_oneof![Just("read"), Just("write"), Just("delete"), Just("rmtree"), Just("chmod")],
        path in prop_oneof![
            Just("/"), Just("/etc/shadow"), Just("~/.ssh/id_rsa"), Just(".env"), Just("/tmp/x"), Just("src/a/b.rs"), Just(".git"),
            Just("/usr/lib"), Just("~"), Just("node_modules/x"), Just("../x"), Just("../../etc/passwd"), Just("/dev/sda"), Just("banksman-data/x"), Just("."),
        ],
        detours in proptest::collection::vec(prop_oneof![Just("./"), Just("/"), Just("x/../"), Just("x/y/../../"), Just(".//./")], 1..4),
    ) {
        // Behind every slash, and before a relative path.
        let mut text = String::new();
        let relative = !path.starts_with(['/', '~']);
        let mut detours = detours.iter().cycle();
        if relative {
            text.push_str(detours.next().filter(|detour| !detour.starts_with('/')).unwrap_or(&"./"));
        }
        for c in path.chars() {
            text.push(c);
            if c == '/' {
                text.push_str(detours.next().unwrap_or(&"./"));
            }
        }
        let (plain, detoured) = (level(&format!("{verb} {path}")), level(&format!("{verb} {text}")));
        prop_assert!(detoured >= plain, "{} {}: {} but {}: {}", verb, path, plain, text, detoured);
    }
}
