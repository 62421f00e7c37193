//! What hosts understand as yes, no, and "ask".
//!
//! | | yes | no | ask |
//! |---|---|---|---|
//! | Claude Code, PreToolUse | `allow` | `deny` | `ask` |
//! | Claude Code, PermissionRequest | `behavior: allow` | `behavior: deny` | silence: its own dialog opens |
//! | Codex, PreToolUse | silence: `allow` alone is an error there, and errors let run | `deny` | none: `ask` is an error too |
//! | Codex, PermissionRequest | `behavior: allow` | `behavior: deny` | none: a model may be asked in a person's place |

use banksman_core::json::CanonicalJson;
use serde::Serialize;

use crate::display::Visible;

/// Longest reason that is handed to a host.
const REASON_CHARS: usize = 6_000;

/// Who runs the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Host {
    /// Anthropic's Claude Code
    ClaudeCode,
    /// OpenAI's Codex
    Codex,
}

impl Host {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// Whether it runs other arguments than it asked about, if told to.
    ///
    /// Of Codex only recent versions do; older ones take such an answer for an error, and then run what was asked.
    pub(crate) fn takes_edits(self) -> bool {
        match self {
            Self::ClaudeCode => true,
            Self::Codex => false,
        }
    }

    /// Whether it can be told to ask the person in front of it, in a mode in which it would.
    pub(crate) fn can_ask(self, permission_mode: Option<&str>) -> bool {
        match self {
            Self::ClaudeCode => matches!(permission_mode, Some("default" | "acceptEdits" | "plan")),
            Self::Codex => false,
        }
    }
}

/// Which question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Before a tool is used.
    PreToolUse,
    /// Before a person is asked for leave.
    PermissionRequest,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It may run; with these arguments instead, if there are some.
    Allow {
        /// For whoever sits in front of the host.
        reason: String,
        input: Option<CanonicalJson>,
        /// For the model, which does not see the reason of a yes.
        told: Option<String>,
    },
    /// It may not.
    Deny { reason: String },
    /// A person in front of the host has to say. Only for hosts that can be told so.
    Ask { reason: String },
}

impl Answer {
    pub(crate) fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// The one document to print; nothing, where silence is the answer.
    pub(crate) fn render(&self, host: Host, form: Form) -> Option<String> {
        let specific = match form {
            Form::PreToolUse => self.before_tool(host)?,
            Form::PermissionRequest => self.on_request(host)?,
        };
        serde_json::to_string(&Document { specific }).ok()
    }

    fn before_tool(&self, host: Host) -> Option<Specific<'_>> {
        let decided = |decision, reason| Specific::PreToolUse {
            event: "PreToolUse",
            decision,
            reason: brief(reason),
            input: None,
            told: None,
        };
        match (self, host) {
            (Self::Allow { .. }, Host::Codex) => None,
            (Self::Allow { reason, input, told }, Host::ClaudeCode) => Some(Specific::PreToolUse {
                event: "PreToolUse",
                decision: "allow",
                reason: brief(reason),
                input: input.as_ref(),
                told: told.as_deref().map(brief),
            }),
            (Self::Ask { reason }, Host::ClaudeCode) => Some(decided("ask", reason)),
            (Self::Deny { reason }, _) | (Self::Ask { reason }, Host::Codex) => Some(decided("deny", reason)),
        }
    }

    fn on_request(&self, host: Host) -> Option<Specific<'_>> {
        let decision = match (self, host) {
            (Self::Allow { input, .. }, Host::ClaudeCode) => {
                Decision { behavior: "allow", message: None, input: input.as_ref() }
            }
            (Self::Allow { .. }, Host::Codex) => Decision { behavior: "allow", message: None, input: None },
            (Self::Ask { .. }, Host::ClaudeCode) => return None,
            (Self::Deny { reason }, _) | (Self::Ask { reason }, Host::Codex) => {
                Decision { behavior: "deny", message: Some(brief(reason)), input: None }
            }
        };
        Some(Specific::PermissionRequest { event: "PermissionRequest", decision })
    }
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "hookSpecificOutput")]
    specific: Specific<'a>,
}

/// Arguments are written as they are: a JSON library's own numbers would round some of them.
#[derive(Serialize)]
#[serde(untagged)]
enum Specific<'a> {
    PreToolUse {
        #[serde(rename = "hookEventName")]
        event: &'static str,
        #[serde(rename = "permissionDecision")]
        decision: &'static str,
        #[serde(rename = "permissionDecisionReason")]
        reason: String,
        #[serde(rename = "updatedInput", skip_serializing_if = "Option::is_none")]
        input: Option<&'a CanonicalJson>,
        #[serde(rename = "additionalContext", skip_serializing_if = "Option::is_none")]
        told: Option<String>,
    },
    PermissionRequest {
        #[serde(rename = "hookEventName")]
        event: &'static str,
        decision: Decision<'a>,
    },
}

#[derive(Serialize)]
struct Decision<'a> {
    behavior: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(rename = "updatedInput", skip_serializing_if = "Option::is_none")]
    input: Option<&'a CanonicalJson>,
}

/// Never empty, since hosts ignore a no without a reason, and never endless.
fn brief(reason: &str) -> String {
    let reason = reason.trim();
    if reason.is_empty() {
        return "Banksman: denied".to_owned();
    }
    // Hosts show it to people: line by line, and with nothing in it that a terminal would obey.
    let shown: Vec<String> = reason.lines().map(|line| Visible(line).to_string()).collect();
    let shown = shown.join("\n");
    let mut brief: String = shown.chars().take(REASON_CHARS).collect();
    if brief.len() < shown.len() {
        brief.push_str(" … (cut)");
    }
    brief
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn rendered(answer: &Answer, host: Host, form: Form) -> Value {
        answer.render(host, form).map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
    }

    fn edited() -> Answer {
        let input = CanonicalJson::parse(br#"{"command":"ls","n":0.1000000000000000055511151231257827}"#);
        Answer::Allow {
            reason: "yes".into(),
            input: input.ok(),
            told: Some("they say: mind the\u{1b}".into()),
        }
    }

    #[test]
    fn claude_code_hears_what_it_expects() {
        let allow = rendered(&edited(), Host::ClaudeCode, Form::PreToolUse);
        assert_eq!(allow["hookSpecificOutput"]["permissionDecision"], "allow");
        assert_eq!(allow["hookSpecificOutput"]["updatedInput"]["command"], "ls");
        assert_eq!(allow["hookSpecificOutput"]["additionalContext"], "they say: mind the\\u{1b}");
        let text = edited().render(Host::ClaudeCode, Form::PreToolUse).unwrap();
        assert!(text.contains("0.1000000000000000055511151231257827"), "{text}");
        let request = rendered(&edited(), Host::ClaudeCode, Form::PermissionRequest);
        assert_eq!(request["hookSpecificOutput"]["decision"]["behavior"], "allow");
        let ask = Answer::Ask { reason: "who knows".into() };
        assert_eq!(
            rendered(&ask, Host::ClaudeCode, Form::PreToolUse)["hookSpecificOutput"]["permissionDecision"],
            "ask"
        );
        assert_eq!(rendered(&ask, Host::ClaudeCode, Form::PermissionRequest), Value::Null);
    }

    #[test]
    fn codex_never_hears_what_it_would_take_for_an_error() {
        let ask = Answer::Ask { reason: "who knows".into() };
        for form in [Form::PreToolUse, Form::PermissionRequest] {
            for answer in [&ask, &edited(), &Answer::deny("no")] {
                let text = rendered(answer, Host::Codex, form).to_string();
                assert!(!text.contains("updatedInput") && !text.contains("\"ask\""), "{text}");
                assert!(!text.contains("additionalContext"), "{text}");
                assert!(!text.contains("\"permissionDecision\":\"allow\""), "{text}");
            }
            assert!(rendered(&ask, Host::Codex, form).to_string().contains("deny"));
        }
        assert_eq!(rendered(&edited(), Host::Codex, Form::PreToolUse), Value::Null);
    }

    #[test]
    fn a_no_always_has_a_reason() {
        for reason in ["", "  \n", "no"] {
            let deny = rendered(&Answer::deny(reason), Host::Codex, Form::PreToolUse);
            let said = deny["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
            assert!(!said.trim().is_empty());
        }
        let hostile = rendered(&Answer::deny("one\r\ntwo\u{1b}[2J"), Host::Codex, Form::PreToolUse);
        assert_eq!(hostile["hookSpecificOutput"]["permissionDecisionReason"], "one\ntwo\\u{1b}[2J");
        let endless = rendered(&Answer::deny("x".repeat(1 << 20)), Host::Codex, Form::PreToolUse);
        assert!(endless.to_string().len() < 10_000);
    }

    #[test]
    fn nobody_is_asked_where_nobody_looks() {
        for mode in [None, Some("dontAsk"), Some("bypassPermissions"), Some("auto"), Some("new")] {
            assert!(!Host::ClaudeCode.can_ask(mode), "{mode:?}");
        }
        assert!(Host::ClaudeCode.can_ask(Some("default")));
        assert!(!Host::Codex.can_ask(Some("default")));
    }
}
