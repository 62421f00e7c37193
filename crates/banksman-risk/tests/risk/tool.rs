//! Actions as agents propose them.

use banksman_core::json::{CanonicalJson, parse};
use banksman_core::{Action, Assessment, Kind, Risk};
use proptest::prelude::*;

use crate::assessor;

fn assess(body: &str) -> Assessment {
    let action =
        Action::from_json(parse(body.as_bytes()).unwrap()).unwrap_or_else(|error| panic!("{body}: {error}"));
    assessor().assess(&action)
}

fn rules(found: &Assessment) -> String {
    found.findings.iter().map(|finding| finding.rule.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn arguments_are_what_their_names_say() {
    for (body, expected) in [
        (r#"{"tool":"get_weather","args":{"city":"Berlin"}}"#, Risk::None),
        (r#"{"tool":"read_file","args":{"path":"README.md"}}"#, Risk::None),
        (r#"{"tool":"list_directory","args":{"path":"~/.ssh"}}"#, Risk::None),
        (r#"{"tool":"search","args":{"query":"DROP TABLE users"}}"#, Risk::None),
        (r#"{"tool":"review_code","args":{"code":"import os; os.remove('/')"}}"#, Risk::None),
        (r#"{"tool":"read_file","args":{"path":".env"}}"#, Risk::Medium),
        (r#"{"tool":"read_file","args":{"path":"x/../.env"}}"#, Risk::Medium),
        (r#"{"tool":"get_files","args":{"files":["a","~/.ssh/id_rsa"]}}"#, Risk::Medium),
        (r#"{"tool":"write_file","args":{"file_path":"/etc/passwd","content":"x"}}"#, Risk::High),
        (r#"{"tool":"writeFile","args":{"nested":{"deep":[{"path":"~/.bashrc"}]}}}"#, Risk::High),
        (r#"{"tool":"delete_directory","args":{"path":"/"}}"#, Risk::Critical),
        (r#"{"tool":"frob","args":{"path":"/etc/passwd"}}"#, Risk::High),
        (r#"{"tool":"move_file","args":{"source":"a","destination":"/etc/x"}}"#, Risk::High),
        (
            r#"{"tool":"apply_patch","args":{"input":"*** Begin Patch\n*** Update File: .env\n*** End Patch"}}"#,
            Risk::Medium,
        ),
        (r#"{"tool":"fetch","args":{"url":"https://example.com"}}"#, Risk::None),
        (r#"{"tool":"fetch","args":{"url":"http://169.254.169.254/"}}"#, Risk::High),
        (r#"{"tool":"look","args":{"thing":"http://169.254.169.254/"}}"#, Risk::High),
        (r#"{"tool":"fetch","args":{"url":"https://example.com","method":"delete"}}"#, Risk::High),
        (r#"{"tool":"query","args":{"sql":"DROP TABLE users"}}"#, Risk::High),
        (r#"{"tool":"postgres_query","args":{"query":"DELETE FROM users"}}"#, Risk::High),
        (r#"{"tool":"delete_user","args":{"id":1}}"#, Risk::Medium),
        (r#"{"tool":"send_email","args":{"to":"a@example.com"}}"#, Risk::Medium),
        (r#"{"tool":"x","args":{},"annotations":{"destructiveHint":true}}"#, Risk::Medium),
        (
            r#"{"tool":"delete_user","args":{},"annotations":{"readOnlyHint":true,"destructiveHint":false}}"#,
            Risk::Medium,
        ),
        (r#"{"tool":"x","args":{},"action_type":"destructive_tool_call"}"#, Risk::Critical),
        (r#"{"tool":"x","args":{},"action_type":"safety_filter_change"}"#, Risk::Critical),
        (r#"{"tool":"x","args":{},"predicted_severity":"S0"}"#, Risk::None),
        (r#"{"tool":"x","args":{},"predicted_severity":"S1"}"#, Risk::Low),
        (r#"{"tool":"x","args":{},"predicted_severity":"S2"}"#, Risk::Medium),
        (r#"{"tool":"x","args":{},"predicted_severity":"S3"}"#, Risk::High),
        (r#"{"tool":"x","args":{},"predicted_severity":"S4"}"#, Risk::Critical),
        (r#"{"tool":"db","kind":"sql","args":{"query":"DROP DATABASE x"}}"#, Risk::Critical),
        (r#"{"tool":"db","kind":"sql","args":{"anything":"DROP DATABASE x"}}"#, Risk::Critical),
        (
            r#"{"tool":"db","kind":"sql","args":{"statements":["SELECT 1","DROP DATABASE x"]}}"#,
            Risk::Critical,
        ),
        (r#"{"tool":"f","kind":"file","args":{"path":"/etc/passwd","operation":"write"}}"#, Risk::High),
        (r#"{"tool":"read","kind":"file","args":{"path":"/etc/passwd"}}"#, Risk::None),
        (r#"{"tool":"h","kind":"http","args":{"url":"https://example.com","method":"GET"}}"#, Risk::None),
    ] {
        let found = assess(body);
        assert_eq!(found.level, expected, "{} for {body}", rules(&found));
    }
}

#[test]
fn findings_say_in_which_argument_they_are() {
    let found = assess(r#"{"tool":"x","kind":"sql","args":{"a/b":"SELECT 1; DROP TABLE t"}}"#);
    let finding = found.findings.iter().find(|finding| finding.rule == "sql.drop.table").unwrap();
    assert_eq!(finding.argument.as_deref(), Some("/a~1b"));
    let span = finding.span.unwrap();
    assert_eq!((span.start, span.end), (10, 22));
    let found = assess(r#"{"tool":"read_file","args":{"deep":[{"path":".env"}]}}"#);
    assert_eq!(found.findings[0].argument.as_deref(), Some("/deep/0/path"));
}

#[test]
fn a_tool_by_name_alone_is_unknown() {
    for text in ["get_weather", r#"{"name":"get_weather","arguments":{}}"#, r#"{"tool":"get_weather"}"#] {
        assert_eq!(assessor().assess_text(Kind::Tool, text).level, Risk::High, "{text}");
    }
}

#[test]
fn hints_never_lower() {
    for tool in ["delete_user", "get_user", "send_email"] {
        let bare = assess(&format!(r#"{{"tool":"{tool}","args":{{}}}}"#));
        let praised = assess(&format!(
            r#"{{"tool":"{tool}","args":{{}},"annotations":{{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}}}"#
        ));
        assert!(praised.level >= bare.level, "{tool}");
    }
}

proptest! {
    #[test]
    fn any_name_and_text_are_read(name in "[a-zA-Z_.-]{1,30}", key in "[a-z_]{1,12}", value in "\\PC{0,60}") {
        let args = serde_json::json!({key: value}).to_string();
        let action = Action::bare(name.clone(), Kind::Tool, CanonicalJson::parse(args.as_bytes()).unwrap());
        let _ = assessor().assess(&action);
        let _ = assessor().assess_text(Kind::Tool, &name);
        let _ = assessor().assess_text(Kind::Tool, &value);
    }
}
