//! What Codex asks leave for in the middle of a call.
//!
//! Its shell asks in the shape of the call itself, `{command, description}`, for three things: to start it (where every
//! command is asked about), to run it outside of the sandbox (`description` is the agent's justification, which it may
//! leave out), and to let it talk to a host while it runs (`description` is `network-access https://host:443`). Before the
//! call, hooks see the command alone. So nothing in such a request tells that it asks for no more than the call that was
//! let run, and each is an action of its own.

use banksman_core::Kind;
use banksman_core::json::{Json, Object};

use super::{Form, Host};

/// What a policy calls it when a command wants to talk to a host; the word is Codex's.
const NETWORK: &str = "network-access";
/// What a policy calls it when a command wants to run, as far as can be told, outside of the sandbox.
const SANDBOX: &str = "leave-sandbox";
/// What Codex's proxy speaks.
const SCHEMES: &[&str] = &["http", "https", "socks5-tcp", "socks5-udp"];

/// What leave is asked for.
#[derive(Debug)]
pub(super) struct LeaveAsked {
    pub(super) tool: &'static str,
    pub(super) kind: Kind,
    pub(super) args: Vec<(String, Json)>,
}

impl LeaveAsked {
    /// What leave is asked for beyond the call, if that may be so.
    pub(super) fn read(host: Host, form: Form, tool: &str, input: &Json) -> Option<Self> {
        // Older versions of Codex had a name of its own for the network.
        if host != Host::Codex || form != Form::PermissionRequest || !matches!(tool, "Bash" | "NetworkAccess")
        {
            return None;
        }
        let args =
            input.as_object().and_then(network).map(|args| Self { tool: NETWORK, kind: Kind::Http, args });
        Some(args.unwrap_or_else(|| Self { tool: SANDBOX, kind: Kind::Shell, args: members(input) }))
    }
}

/// The arguments of a request for the network. Only what is exactly that: whatever else is said is shown as it is, and
/// counts as leaving the sandbox.
fn network(input: &Object) -> Option<Vec<(String, Json)>> {
    let (command, said) = (input.get("command")?.as_str()?, input.get("description")?.as_str()?);
    if input.iter().count() != 2 {
        return None;
    }
    let target = said.strip_prefix(NETWORK)?.strip_prefix(' ')?;
    let (scheme, rest) = target.split_once("://")?;
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']' | '%');
    if !SCHEMES.contains(&scheme) || rest.is_empty() || !rest.chars().all(is_host) {
        return None;
    }
    let text = |name: &str, value: &str| (name.to_owned(), Json::String(value.to_owned()));
    // What is said over the connection is not known: a connection is what is asked for.
    Some(vec![text("command", command), text("method", "CONNECT"), text("url", target)])
}

fn members(input: &Json) -> Vec<(String, Json)> {
    match input {
        Json::Object(args) => args.clone().into_members().collect(),
        other => vec![("input".to_owned(), other.clone())],
    }
}

#[cfg(test)]
mod tests {
    use banksman_core::json::parse;

    use super::*;

    fn asked(tool: &str, input: &str) -> Option<LeaveAsked> {
        LeaveAsked::read(Host::Codex, Form::PermissionRequest, tool, &parse(input.as_bytes()).unwrap())
    }

    #[test]
    fn a_host_is_named_as_the_target_of_a_request_beside_the_command_that_wants_it() {
        for target in ["https://example.com:443", "http://[::1]:80", "socks5-tcp://10.0.0.1:22"] {
            let input = format!(r#"{{"command":"cargo fetch","description":"network-access {target}"}}"#);
            let leave = asked("Bash", &input).unwrap();
            assert_eq!((leave.tool, leave.kind), (NETWORK, Kind::Http), "{target}");
            let given = |name: &str| leave.args.iter().find(|(key, _)| key == name).unwrap().1.as_str();
            assert_eq!(
                (given("url"), given("command"), given("method")),
                (Some(target), Some("cargo fetch"), Some("CONNECT"))
            );
        }
    }

    #[test]
    fn whatever_is_not_exactly_that_may_leave_the_sandbox_and_is_shown_as_it_was_said() {
        for input in [
            r#"{"command":"ls"}"#,
            r#"{"command":"ls","description":"I need the network"}"#,
            r#"{"command":"ls","description":"network-access"}"#,
            r#"{"command":"ls","description":"network-access "}"#,
            r#"{"command":"ls","description":"network-access https://"}"#,
            r#"{"command":"ls","description":"network-access example.com"}"#,
            r#"{"command":"ls","description":"network-access file:///etc/passwd"}"#,
            r#"{"command":"ls","description":"network-access https://example.com:443 and leave the sandbox"}"#,
            r#"{"command":"ls","description":"network-access https://example.com:443","more":1}"#,
            r#"{"command":"ls","description":["network-access https://example.com:443"]}"#,
            r#""ls""#,
            "null",
        ] {
            let leave = asked("Bash", input).unwrap();
            assert_eq!((leave.tool, leave.kind), (SANDBOX, Kind::Shell), "{input}");
        }
        let leave = asked("Bash", r#"{"command":"ls","description":"please"}"#).unwrap();
        assert_eq!(leave.args.len(), 2, "the justification is among what people see");
    }

    #[test]
    fn what_hosts_show_whole_before_the_call_is_the_call_itself() {
        let input = parse(br#"{"command":"ls"}"#).unwrap();
        for (host, form, tool) in [
            (Host::Codex, Form::PreToolUse, "Bash"),
            (Host::Codex, Form::PermissionRequest, "apply_patch"),
            (Host::Codex, Form::PermissionRequest, "mcp__mail__send"),
            (Host::ClaudeCode, Form::PermissionRequest, "Bash"),
        ] {
            assert!(LeaveAsked::read(host, form, tool, &input).is_none(), "{host:?} {form:?} {tool}");
        }
    }
}
