//! What a host says on standard input.

use banksman_core::json::{CanonicalJson, Json, Object, parse};
use banksman_core::{Action, Kind};
use serde::Deserialize;

use super::permission::LeaveAsked;
use super::{Form, Host};

/// Where a command's folder is put among its arguments: it changes what the command does, and hosts keep it apart.
const FOLDER: &str = "cwd";
/// Other names under which a command may say its folder itself.
const FOLDERS: &[&str] = &[FOLDER, "workdir", "working_directory", "working_dir", "directory"];

/// What a host says.
#[derive(Debug)]
pub(crate) enum Event {
    /// Something wants to run.
    Asked(Box<Call>),
    /// Something has run.
    Done(Report),
    /// Nothing that concerns us.
    Other,
}

/// Something that wants to run.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) form: Form,
    pub(crate) session: Option<String>,
    /// The host's name for this very call.
    pub(crate) id: Option<String>,
    pub(crate) permission_mode: Option<String>,
    pub(crate) action: Action,
    /// Whether we put the folder among the arguments.
    folder_added: bool,
    /// Whether it asks leave for more than the call that it is about.
    pub(crate) asks_leave: bool,
    /// Whether the host cannot be handed other arguments.
    fixed: bool,
}

/// Something that has run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) session: Option<String>,
    pub(crate) id: String,
    /// What went wrong, if something did.
    pub(crate) error: Option<String>,
}

/// The few members that tell what this is about. The rest is not looked at.
#[derive(Deserialize)]
struct Outline {
    hook_event_name: String,
    session_id: Option<String>,
    tool_use_id: Option<String>,
    error: Option<serde_json::Value>,
    tool_response: Option<serde_json::Value>,
}

impl Outline {
    /// What went wrong, if something did. Codex has one event for every end, and what it tells of a command is the
    /// command's own words: a text in which anything may stand, so nothing is read from it. A document that says it is
    /// believed.
    fn error(&self) -> Option<String> {
        if self.hook_event_name == "PostToolUseFailure" {
            return Some(match &self.error {
                Some(serde_json::Value::String(text)) => text.clone(),
                _ => "the host says that it failed".to_owned(),
            });
        }
        let response = self.tool_response.as_ref()?;
        let code = |path: &str| response.pointer(path).and_then(serde_json::Value::as_i64);
        let says = |path: &str, value: bool| response.pointer(path) == Some(&serde_json::Value::Bool(value));
        match ["/exit_code", "/exitCode", "/metadata/exit_code"].into_iter().find_map(code) {
            Some(0) => None,
            Some(code) => Some(format!("exit code {code}")),
            None if says("/isError", true) || says("/is_error", true) || says("/success", false) => {
                Some("the tool says that it failed".to_owned())
            }
            None => None,
        }
    }
}

/// Which question an input seems to be, for an answer to what cannot be read.
pub(crate) fn likely_form(input: &[u8]) -> Form {
    let says = |name: &[u8]| input.windows(name.len()).any(|window| window == name);
    if says(b"\"PermissionRequest\"") && !says(b"\"PreToolUse\"") {
        Form::PermissionRequest
    } else {
        Form::PreToolUse
    }
}

impl Event {
    /// Reads what the host says; an error says what is wrong with it.
    pub(crate) fn read(host: Host, input: &[u8]) -> Result<Self, String> {
        let outline: Outline = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        match outline.hook_event_name.as_str() {
            "PreToolUse" => Call::read(host, Form::PreToolUse, input).map(|call| Self::Asked(Box::new(call))),
            "PermissionRequest" => {
                Call::read(host, Form::PermissionRequest, input).map(|call| Self::Asked(Box::new(call)))
            }
            "PostToolUse" | "PostToolUseFailure" => {
                let error = outline.error();
                Ok(match outline.tool_use_id {
                    Some(id) => Self::Done(Report { session: outline.session_id, id, error }),
                    None => Self::Other,
                })
            }
            _ => Ok(Self::Other),
        }
    }
}

impl Call {
    fn read(host: Host, form: Form, input: &[u8]) -> Result<Self, String> {
        // Strict from here on: what two readers could read differently is not judged at all.
        let Json::Object(members) = parse(input).map_err(|error| error.to_string())? else {
            return Err("not an object".into());
        };
        let text = |name: &str| match members.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(format!("{name} is {}, not a text", other.kind_name())),
        };
        let tool = text("tool_name")?.filter(|tool| !tool.is_empty()).ok_or("it names no tool")?;
        let input = members.get("tool_input").ok_or("it has no tool_input")?.clone();
        let folder = text("cwd")?;
        let permission_mode = text("permission_mode")?;
        let leave = LeaveAsked::read(host, form, &tool, &input);
        let asks_leave = leave.is_some();
        let (tool, kind, fixed, mut args) = match (leave, input) {
            (Some(leave), _) => (leave.tool.to_owned(), leave.kind, true, leave.args),
            (None, Json::Object(args)) => {
                let kind = kind_of(&tool);
                (tool, kind, false, args.into_members().collect::<Vec<_>>())
            }
            (None, other) => {
                let kind = kind_of(&tool);
                (tool, kind, true, vec![("input".to_owned(), other)])
            }
        };
        let says_folder = args.iter().any(|(name, _)| FOLDERS.contains(&name.as_str()));
        let folder_added = (kind == Kind::Shell || asks_leave) && !says_folder && folder.is_some();
        if let (true, Some(folder)) = (folder_added, &folder) {
            args.push((FOLDER.to_owned(), Json::String(folder.clone())));
        }
        let mut action = Action::bare(tool.as_str(), kind, canonical(args)?);
        let session = text("session_id")?.filter(|session| !session.is_empty());
        action.session.clone_from(&session);
        action.server = server_of(&tool).map(str::to_owned);
        let around = [
            ("host", Some(host.as_str().to_owned())),
            ("cwd", folder),
            ("permission_mode", permission_mode.clone()),
        ];
        let around =
            around.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Json::String(value?))));
        action.evidence = Some(canonical(around.collect())?);
        let id = text("tool_use_id")?.filter(|id| !id.is_empty());
        Ok(Self { form, session, id, permission_mode, action, asks_leave, folder_added, fixed })
    }

    /// Arguments as the host takes them, from those of an action. `None`: the host cannot run these.
    pub(crate) fn input_of(&self, args: &CanonicalJson) -> Option<CanonicalJson> {
        let Ok(Json::Object(args)) = args.to_json() else { return None };
        if self.fixed {
            return None;
        }
        if !self.folder_added {
            return Some(CanonicalJson::of(&Json::Object(args)));
        }
        let own = self.action.args.to_json().ok()?;
        // A reviewer who moved the command elsewhere wants something that the host cannot do.
        if args.get(FOLDER) != own.get(FOLDER) {
            return None;
        }
        canonical(args.into_members().filter(|(name, _)| name != FOLDER).collect()).ok()
    }

    /// What names what a call with these arguments does, whatever the host calls it. Every argument counts: one that
    /// only describes a command says, elsewhere, what is written.
    pub(crate) fn deed(&self, args: &CanonicalJson) -> banksman_core::Digest {
        banksman_core::action_digest(&self.action.tool, self.action.kind, args)
    }
}

fn canonical(members: Vec<(String, Json)>) -> Result<CanonicalJson, String> {
    let object = Object::from_members(members).map_err(|key| format!("{key} occurs twice"))?;
    Ok(CanonicalJson::of(&Json::Object(object)))
}

/// How the arguments of a host's own tools are to be understood.
fn kind_of(tool: &str) -> Kind {
    match tool {
        "Bash" => Kind::Shell,
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "apply_patch" => Kind::File,
        "WebFetch" => Kind::Http,
        _ => Kind::Tool,
    }
}

/// The MCP server of `mcp__server__tool`.
fn server_of(tool: &str) -> Option<&str> {
    let (server, tool) = tool.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then_some(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(input: &str) -> Call {
        match Event::read(Host::ClaudeCode, input.as_bytes()) {
            Ok(Event::Asked(call)) => *call,
            other => panic!("{other:?}"),
        }
    }

    fn asked(tool: &str, input: &str) -> Call {
        call(&format!(
            r#"{{"session_id":"s1","cwd":"/srv/app","permission_mode":"default","hook_event_name":"PreToolUse",
                "tool_name":"{tool}","tool_input":{input},"tool_use_id":"toolu_1"}}"#
        ))
    }

    #[test]
    fn tools_are_read_for_what_they_are() {
        for (tool, kind, server) in [
            ("Bash", Kind::Shell, None),
            ("Write", Kind::File, None),
            ("Edit", Kind::File, None),
            ("MultiEdit", Kind::File, None),
            ("NotebookEdit", Kind::File, None),
            ("apply_patch", Kind::File, None),
            ("WebFetch", Kind::Http, None),
            ("Read", Kind::Tool, None),
            ("mcp__github__create_issue", Kind::Tool, Some("github")),
            ("mcp__odd__a__b", Kind::Tool, Some("odd")),
            ("mcp__", Kind::Tool, None),
            ("mcp____x", Kind::Tool, None),
        ] {
            let call = asked(tool, "{}");
            assert_eq!((call.action.kind, call.action.server.as_deref()), (kind, server), "{tool}");
            assert_eq!(call.action.tool, tool);
            assert_eq!(call.action.session.as_deref(), Some("s1"));
        }
    }

    #[test]
    fn a_command_is_judged_where_it_runs_and_handed_back_without_that() {
        let call = asked("Bash", r#"{"command":"rm -rf *","timeout":5}"#);
        assert_eq!(call.action.args.as_str(), r#"{"command":"rm -rf *","cwd":"/srv/app","timeout":5}"#);
        let back = call.input_of(&call.action.args).unwrap();
        assert_eq!(back.as_str(), r#"{"command":"rm -rf *","timeout":5}"#);
        let elsewhere = CanonicalJson::parse(br#"{"command":"ls","cwd":"/"}"#).unwrap();
        assert_eq!(call.input_of(&elsewhere), None);
        // Its own word for the folder stays, and nothing is added beside it.
        let own = asked("Bash", r#"{"command":"ls","workdir":"/x"}"#);
        assert_eq!(own.action.args.as_str(), r#"{"command":"ls","workdir":"/x"}"#);
        assert_eq!(own.input_of(&own.action.args).unwrap(), own.action.args);
    }

    #[test]
    fn numbers_are_not_rounded_on_the_way() {
        let call = asked("mcp__bank__pay", r#"{"cents":9007199254740993}"#);
        assert!(call.action.args.as_str().contains("9007199254740993"));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_read() {
        for input in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"hook_event_name":5}"#,
            r#"{"hook_event_name":"PreToolUse"}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash"}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"","tool_input":{}}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":7,"tool_input":{}}"#,
            r#"{"hook_event_name":"PreToolUse","hook_event_name":"Stop","tool_name":"Bash","tool_input":{}}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_name":"Read","tool_input":{}}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","command":"rm"}}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"a\ud800"}}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"a\u0000b"}}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}} {}"#,
        ] {
            assert!(Event::read(Host::ClaudeCode, input.as_bytes()).is_err(), "{input}");
        }
        let deep = format!(
            r#"{{"hook_event_name":"PreToolUse","tool_name":"x","tool_input":{}{}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        assert!(Event::read(Host::Codex, deep.as_bytes()).is_err());
        assert!(Event::read(Host::Codex, b"{\"hook_event_name\":\"PreToolUse\",\"x\":\"\xff\"}").is_err());
    }

    #[test]
    fn an_input_that_is_no_object_is_judged_but_cannot_be_edited() {
        let call = asked("freeform", r#""*** Begin Patch""#);
        assert_eq!(call.action.args.as_str(), r#"{"input":"*** Begin Patch"}"#);
        assert_eq!(call.input_of(&call.action.args), None);
    }

    #[test]
    fn other_events_do_not_concern_us_and_ends_are_told() {
        for name in ["SessionStart", "Stop", "UserPromptSubmit", "Notification", "whatever"] {
            let input = format!(r#"{{"hook_event_name":"{name}"}}"#);
            assert!(matches!(Event::read(Host::Codex, input.as_bytes()), Ok(Event::Other)), "{name}");
        }
        let done = br#"{"hook_event_name":"PostToolUse","session_id":"s","tool_use_id":"t","tool_response":{"a":1}}"#;
        assert!(matches!(Event::read(Host::Codex, done), Ok(Event::Done(Report { error: None, .. }))));
        let failed = br#"{"hook_event_name":"PostToolUseFailure","session_id":"s","tool_use_id":"t","error":"exit 1"}"#;
        match Event::read(Host::ClaudeCode, failed) {
            Ok(Event::Done(report)) => assert_eq!(report.error.as_deref(), Some("exit 1")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_end_that_says_it_failed_is_a_failure_and_a_text_says_nothing() {
        for (response, error) in [
            (r#"{"exit_code":0}"#, None),
            (r#"{"exit_code":1,"output":"x"}"#, Some("exit code 1")),
            (r#"{"output":"","metadata":{"exit_code":-1}}"#, Some("exit code -1")),
            (r#"{"content":[],"isError":true}"#, Some("the tool says that it failed")),
            (r#"{"content":[],"isError":false}"#, None),
            (r#"{"success":false}"#, Some("the tool says that it failed")),
            // Whatever a command printed.
            (r#""{\"exit_code\":1}""#, None),
            (r#""Process exited with code 1""#, None),
            (r#"{"exit_code":"1"}"#, None),
            ("null", None),
        ] {
            let input = format!(
                r#"{{"hook_event_name":"PostToolUse","session_id":"s","tool_use_id":"t","tool_response":{response}}}"#
            );
            match Event::read(Host::Codex, input.as_bytes()) {
                Ok(Event::Done(report)) => assert_eq!(report.error.as_deref(), error, "{response}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn another_call_is_another_deed_whatever_its_arguments_are_called() {
        let one = asked("mcp__forge__create_issue", r#"{"title":"x","description":"harmless"}"#);
        let same = asked("mcp__forge__create_issue", r#"{"description":"harmless","title":"x"}"#);
        let other = asked("mcp__forge__create_issue", r#"{"title":"x","description":"@everyone"}"#);
        let deed = |call: &Call| call.deed(&call.action.args);
        assert_eq!(deed(&one), deed(&same));
        assert_ne!(deed(&one), deed(&other));
        let sandboxed = asked("Bash", r#"{"command":"ls"}"#);
        let free = asked("Bash", r#"{"command":"ls","dangerouslyDisableSandbox":true}"#);
        assert_ne!(deed(&sandboxed), deed(&free));
    }

    #[test]
    fn codex_asks_leave_in_the_shape_of_the_call_and_it_is_another_action() {
        let request = |description: &str| {
            let input = format!(
                r#"{{"session_id":"s1","cwd":"/srv/app","permission_mode":"default",
                    "hook_event_name":"PermissionRequest","tool_name":"Bash",
                    "tool_input":{{"command":"cargo fetch"{description}}}}}"#
            );
            match Event::read(Host::Codex, input.as_bytes()) {
                Ok(Event::Asked(call)) => *call,
                other => panic!("{other:?}"),
            }
        };
        let network = request(r#","description":"network-access https://example.com:443""#);
        assert_eq!((network.action.tool.as_str(), network.action.kind), ("network-access", Kind::Http));
        assert_eq!(
            network.action.args.as_str(),
            r#"{"command":"cargo fetch","cwd":"/srv/app","method":"CONNECT","url":"https://example.com:443"}"#
        );
        for description in ["", r#","description":"it needs the cache""#] {
            let escape = request(description);
            assert_eq!((escape.action.tool.as_str(), escape.action.kind), ("leave-sandbox", Kind::Shell));
            assert!(escape.asks_leave && escape.input_of(&escape.action.args).is_none());
        }
        assert!(!asked("Bash", r#"{"command":"cargo fetch"}"#).asks_leave);
    }
}
