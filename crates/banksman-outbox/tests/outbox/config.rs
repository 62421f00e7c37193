//! `channels.yaml`: what is understood, and what is refused where.

use banksman_outbox::Config;

fn problem(text: &str) -> String {
    match Config::parse("channels.yaml", text, "http://127.0.0.1:7447") {
        Ok(_) => panic!("it was taken: {text}"),
        Err(error) => error.to_string(),
    }
}

fn secret(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, text).unwrap();
    let shown = path.display().to_string();
    (folder, shown)
}

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n";

#[test]
fn a_whole_file_is_read_and_no_secret_is_printed() {
    let (_folder, path) = secret(KEY);
    let text = format!(
        "
version: 1
console: https://gate.example
channels:
  slack:   {{slack: {{token: {{file: {path}}}, signing_secret: {{file: {path}}}}}, decide_up_to: high}}
  line:    {{line: {{access_token: {{file: {path}}}, channel_secret: {{file: {path}}}}}}}
  mail:    {{email: {{host: smtp.example.org, from: 'Banksman <b@example.org>', user: b, password: {{file: {path}}}}}}}
  tickets: {{webhook: {{url: 'https://tickets.example/in', key: {{file: {path}}}}}}}
people:
  ann:
    addresses: {{slack: U1, line: U2, mail: ann@example.org}}
    prefers: [slack, mail]
    time_zone: Europe/Berlin
    quiet_hours: {{from: '22:00', to: '07:00'}}
    wake_for: critical
places:
  ops-room: {{slack: C1}}
  queue: {{tickets: banksman}}
limits: {{tries: 5, messages: 10, within: 5m, digest_above: 2, remind_after: 10m, reminders: 2}}
reach: [10.1.0.0/16]
resume: {{allow: ['https://agents.example/resume/'], key: {{file: {path}}}}}
"
    );
    let config = Config::parse("channels.yaml", &text, "http://127.0.0.1:7447")
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(config.console(), "https://gate.example");
    assert!(!format!("{config:?}").contains("MfKQ9r8G"), "{config:?}");
}

#[tokio::test]
async fn on_a_channel_that_only_tells_nothing_is_decided_not_even_what_has_no_risk() {
    let (_folder, path) = secret(KEY);
    let hook = format!("webhook: {{url: 'https://t.example/', key: {{file: {path}}}}}");
    let text = format!(
        "version: 1\nchannels:\n  none: {{{hook}, decide_up_to: none}}\n  low: {{{hook}, decide_up_to: low}}\n  all: {{{hook}}}"
    );
    let config = Config::parse("channels.yaml", &text, "http://127.0.0.1:7447").unwrap();
    let world = crate::world::World::new().await;
    let opened = config.open(std::sync::Arc::clone(&world.engine)).unwrap();
    for (tool, channels) in [("note", vec!["all", "low"]), ("wire", vec!["all"])] {
        let case = world.hold(tool, 1).await;
        let offering: Vec<_> =
            ["all", "low", "none"].into_iter().filter(|name| opened.outbox.may_decide(name, &case)).collect();
        assert_eq!(offering, channels, "{tool}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let (_folder, path) = secret(KEY);
    let hook = format!("{{webhook: {{url: 'https://t.example/', key: {{file: {path}}}}}}}");
    let with = |rest: &str| format!("version: 1\nchannels:\n  t: {hook}\n{rest}");
    for (text, place, words) in [
        ("version: 2".to_owned(), "channels.yaml:1:10", "this program knows version 1"),
        ("version: 1\nchanels: {}".to_owned(), "channels.yaml:2:", "chanels"),
        (
            "version: 1\nchannels:\n  t: {}".to_owned(),
            "channels.yaml:3:6",
            "one of slack, line, email and webhook",
        ),
        (
            "version: 1\nchannels:\n  t: {webhook: {url: 'ftp://x/', key: {env: NOT_SET_ANYWHERE}}}"
                .to_owned(),
            "channels.yaml:3:6",
            "only http and https",
        ),
        (
            "version: 1\nchannels:\n  t: {webhook: {url: 'https://x/', key: {env: NOT_SET_ANYWHERE}}}"
                .to_owned(),
            "channels.yaml:3:6",
            "NOT_SET_ANYWHERE is not set",
        ),
        (
            "version: 1\nchannels:\n  t: {webhook: {url: 'https://x/', key: whsec_here}}".to_owned(),
            "channels.yaml:3:",
            "",
        ),
        (
            with("people:\n  ann: {addresses: {slack: U1}}"),
            "channels.yaml:5:8",
            "there is no channel \"slack\"",
        ),
        (with("people:\n  ann: {addresses: {t: ''}}"), "channels.yaml:5:8", "is empty"),
        (with("people:\n  ann: {addresses: {}, prefers: [t]}"), "channels.yaml:5:8", "has no address there"),
        (
            with("people:\n  ann: {addresses: {t: x}, time_zone: Mars/Base}"),
            "channels.yaml:5:8",
            "no time zone",
        ),
        (
            with("people:\n  ann: {addresses: {t: x}, wake_for: high}"),
            "channels.yaml:5:8",
            "goes with quiet_hours",
        ),
        (
            with("people:\n  ann: {addresses: {t: x}, quiet_hours: {}}"),
            "channels.yaml:5:8",
            "says nothing about the time",
        ),
        (
            with("people: {ann: {addresses: {t: x}}, bea: {addresses: {t: x}}}"),
            "channels.yaml:1:",
            "same address",
        ),
        (with("people: {ann: {}}\nplaces: {ann: {t: x}}"), "channels.yaml:5:", "is a person already"),
        (with("limits: {messages: 0}"), "channels.yaml:4:9", "tells nobody anything"),
        (
            with(&format!("resume: {{allow: ['ftp://x'], key: {{file: {path}}}}}")),
            "channels.yaml:4:18",
            "only http",
        ),
    ] {
        let said = problem(&text);
        assert!(said.starts_with(place), "{said}\n{text}");
        assert!(said.contains(words), "{said}\n{text}");
        assert!(!said.contains("MfKQ"), "{said}");
    }
}

/// The examples of a page, with the lines that they begin at.
fn examples(page: &str) -> Vec<(usize, String)> {
    let path = format!("../../docs/{page}");
    let text = std::fs::read_to_string(path).unwrap();
    let mut found = Vec::new();
    let mut inside: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut inside, line) {
            (None, "```yaml") => inside = Some((number + 2, String::new())),
            (Some(_), "```") => found.extend(inside.take()),
            (Some((_, example)), line) => example.extend([line, "\n"]),
            (None, _) => {}
        }
    }
    found
}

#[test]
fn every_example_of_the_documentation_loads() {
    let examples = examples("notifications.md");
    assert!(examples.len() >= 3, "the examples were not found");
    for (line, text) in examples {
        Config::check("docs/notifications.md", &text).unwrap_or_else(|error| panic!("line {line}: {error}"));
    }
}

#[test]
fn where_a_secret_is_has_to_be_said_even_where_none_is_read() {
    let text = "version: 1\nchannels: {t: {webhook: {url: 'https://x/', key: {}}}}";
    assert!(
        Config::check("channels.yaml", text).unwrap_err().to_string().contains("say where the secret is")
    );
}
