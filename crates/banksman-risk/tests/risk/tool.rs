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

#[test]
fn a_kind_adds_a_way_of_reading_and_takes_none_away() {
    for (body, expected) in [
        (
            r#"{"tool":"Bash","kind":"http","args":{"command":"rm -rf /","url":"http://localhost/"}}"#,
            Risk::Critical,
        ),
        (r#"{"tool":"Bash","kind":"javascript","args":{"command":"true //; rm -rf ~"}}"#, Risk::Critical),
        (r#"{"tool":"Bash","kind":"python","args":{"command":"rm -rf /"}}"#, Risk::Critical),
        (r#"{"tool":"Bash","kind":"sql","args":{"command":"rm -rf /"}}"#, Risk::Critical),
        (r#"{"tool":"Bash","kind":"file","args":{"command":"rm -rf /","path":"a"}}"#, Risk::Critical),
        (
            r#"{"tool":"read_file","kind":"http","args":{"url":"https://example.com","path":"~/.ssh/id_rsa"}}"#,
            Risk::Medium,
        ),
        (
            r#"{"tool":"query","kind":"sql","args":{"sql":"SELECT 1","batch":["DROP TABLE users"]}}"#,
            Risk::High,
        ),
        (r#"{"tool":"delete_user","kind":"http","args":{"url":"https://example.com"}}"#, Risk::Medium),
        (
            r#"{"tool":"write_file","kind":"file","args":{"path":"/etc/passwd","operation":"read"}}"#,
            Risk::High,
        ),
    ] {
        let found = assess(body);
        assert!(found.level >= expected, "{} is {} for {body}", rules(&found), found.level);
    }
}

#[test]
fn code_is_read_however_it_is_wrapped() {
    for args in [
        r#"{"command":["rm",1,"-rf","/"]}"#,
        r#"{"command":[["rm","-rf","/"]]}"#,
        r#"{"command":["bash",["-c","rm -rf /"]]}"#,
        r#"{"command":{"text":"rm -rf /"}}"#,
        r#"{"command":{"program":"rm","args":["-rf","/"]}}"#,
        r#"{"input":"rm -rf /"}"#,
        r#"{"run":"rm -rf /"}"#,
        r#"{"line":"rm -rf /"}"#,
        r#"{"cmds":["ls","rm -rf /"]}"#,
        r#"{"command":"ls","then":"rm -rf /"}"#,
        r#"{"executable":"rm","args":["-rf","/"]}"#,
        r#"{"arguments":"{\"command\":\"rm -rf /\"}"}"#,
        r#"{"anything":"{\"command\":\"rm -rf /\"}"}"#,
        r#"{"description":"rm -rf /"}"#,
    ] {
        for tool in ["Bash", "exec_command", "mcp__box__run_command", "terminal"] {
            let found = assess(&format!(r#"{{"tool":"{tool}","args":{args}}}"#));
            assert_eq!(found.level, Risk::Critical, "{} for {tool} {args}", rules(&found));
        }
    }
    for args in [
        r#"{"command":"bash","args":"-c 'rm -rf /'"}"#,
        r#"{"command":"bash","parameters":["-c","rm -rf /"]}"#,
        r#"{"command":"bash","args":[],"params":["-c","rm -rf /"]}"#,
        r#"{"command":"bash","input":"rm -rf /"}"#,
        r#"{"command":"ls","line":"rm -rf /"}"#,
    ] {
        let found = assess(&format!(r#"{{"tool":"x","kind":"shell","args":{args}}}"#));
        assert_eq!(found.level, Risk::Critical, "{} for {args}", rules(&found));
    }
}

#[test]
fn variables_are_read_however_they_are_written() {
    let plain = assess(
        r#"{"tool":"x","kind":"shell","args":{"command":"git log","env":{"LD_PRELOAD":"/tmp/x.so"}}}"#,
    );
    assert!(plain.level > Risk::Low, "{}", rules(&plain));
    for variables in [
        r#""env":["LD_PRELOAD=/tmp/x.so"]"#,
        r#""env":[{"name":"LD_PRELOAD","value":"/tmp/x.so"}]"#,
        r#""env":"LD_PRELOAD=/tmp/x.so""#,
        r#""env_vars":{"LD_PRELOAD":"/tmp/x.so"}"#,
        r#""env":{},"environment_variables":{"LD_PRELOAD":"/tmp/x.so"}"#,
    ] {
        let found =
            assess(&format!(r#"{{"tool":"x","kind":"shell","args":{{"command":"git log",{variables}}}}}"#));
        assert_eq!(rules(&found), rules(&plain), "{variables}");
    }
}

#[test]
fn code_that_cannot_be_read_is_high() {
    for args in [r#"{"command":{"data":[114,109]}}"#, r#"{"command":[114,109]}"#, r#"{"timeout":5}"#] {
        let found = assess(&format!(r#"{{"tool":"Bash","args":{args}}}"#));
        assert!(rules(&found).contains("unread.unreadable"), "{} for {args}", rules(&found));
    }
}

#[test]
fn what_runs_beside_code_raises_no_alarm() {
    for body in [
        r#"{"tool":"Bash","args":{"command":"ls","description":"List files; don't rm -rf / them","timeout":5}}"#,
        r#"{"tool":"Bash","kind":"shell","args":{"command":"ls","description":"List files; don't rm -rf / them"}}"#,
        r#"{"tool":"shell","args":{"command":["ls","-l"],"workdir":"/home/me","justification":"it's needed"}}"#,
        r#"{"tool":"BashOutput","args":{"bash_id":"bash_1","filter":"error.*"}}"#,
        r#"{"tool":"get_terminal_output","args":{"id":3}}"#,
        r#"{"tool":"browser_click","args":{"element":"It's the (drop) button","ref":"e3"}}"#,
        r#"{"tool":"list_sql_tables","args":{"schema":"public"}}"#,
        r#"{"tool":"text_to_sql","args":{"question":"Which users dropped out, and when?"}}"#,
        r#"{"tool":"db_query","args":{"query":{"age":{"$gt":5}}}}"#,
        r#"{"tool":"postgres_query","args":{"query":{"text":"SELECT name FROM users WHERE id = $1","values":["it's"]}}}"#,
        r#"{"tool":"python","kind":"python","args":{"code":"print('hello')","session":"it's one"}}"#,
        r#"{"tool":"device","args":{"command":3}}"#,
        r#"{"tool":"environment_info","args":{"command":null,"env":"production"}}"#,
        r#"{"tool":"note","args":{"content":"{\"command\":\"rm -rf /\"}"}}"#,
    ] {
        let found = assess(body);
        assert!(found.level <= Risk::Low, "{} for {body}", rules(&found));
        assert!(!rules(&found).contains("unread."), "{} for {body}", rules(&found));
    }
}

fn leaf() -> impl Strategy<Value = serde_json::Value> {
    prop::sample::select(vec![
        serde_json::json!("rm -rf /"),
        serde_json::json!("ls"),
        serde_json::json!("DROP TABLE users"),
        serde_json::json!("import os; os.remove('/etc/passwd')"),
        serde_json::json!("~/.ssh/id_rsa"),
        serde_json::json!("http://169.254.169.254/"),
        serde_json::json!("{\"command\":\"git push --force\"}"),
        serde_json::json!(["rm", "-rf", "/"]),
        serde_json::json!([["npm", "publish"], 1]),
        serde_json::json!({"text": "npm publish"}),
        serde_json::json!(7),
        serde_json::json!(null),
    ])
}

proptest! {
    #[test]
    fn no_kind_makes_anything_milder(
        tool in prop::sample::select(vec![
            "Bash", "exec_command", "read_file", "write_file", "query", "run_sql", "python", "fetch", "delete_user", "x",
        ]),
        args in prop::collection::btree_map(
            prop::sample::select(vec![
                "command", "cmd", "code", "sql", "query", "path", "url", "input", "args", "env", "line", "text",
                "operation", "method", "description", "batch",
            ]),
            leaf(),
            0..4,
        ),
    ) {
        let args = CanonicalJson::parse(serde_json::to_string(&args).unwrap().as_bytes()).unwrap();
        let plain = assessor().assess(&Action::bare(tool, Kind::Tool, args.clone()));
        for kind in Kind::ALL {
            let found = assessor().assess(&Action::bare(tool, *kind, args.clone()));
            prop_assert!(
                found.level >= plain.level,
                "{kind}: {} is {}, and {} is {}", rules(&found), found.level, rules(&plain), plain.level
            );
        }
    }

    #[test]
    fn any_name_and_text_are_read(name in "[a-zA-Z_.-]{1,30}", key in "[a-z_]{1,12}", value in "\\PC{0,60}") {
        let args = serde_json::json!({key: value}).to_string();
        let action = Action::bare(name.clone(), Kind::Tool, CanonicalJson::parse(args.as_bytes()).unwrap());
        let _ = assessor().assess(&action);
        let _ = assessor().assess_text(Kind::Tool, &name);
        let _ = assessor().assess_text(Kind::Tool, &value);
    }
}
