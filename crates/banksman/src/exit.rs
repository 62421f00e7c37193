//! How a command ends, for scripts to rely on.

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use banksman_client::ClientError;
use banksman_core::wire::Problem;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::display::Visible;

/// The codes again, for `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  something unexpected failed, or you answered no
  2  the command line or what it sends is not valid
  3  there is no such thing
  4  refused: stale, expired, already decided, too many
  5  not allowed: denied, blocked, no valid token, or not for you to decide
  6  the server cannot be reached";

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Something unexpected failed, or the user answered no.
    Failure = 1,
    /// The command line, or what it sends, is not valid. Clap uses the same code.
    Usage = 2,
    /// There is no such thing.
    NotFound = 3,
    /// The state of things does not allow it: stale, expired, already decided.
    Refused = 4,
    /// This credential may not.
    NotAllowed = 5,
    /// No server, or none that answers.
    Unreachable = 6,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A command's own reason to stop, with the code to stop with.
#[derive(Debug)]
struct Stop {
    exit: Exit,
    message: String,
    /// What programs get to know besides.
    more: Map<String, Value>,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Stop {}

/// An error that ends the command with this code.
pub(crate) fn stop(exit: Exit, message: impl Into<String>) -> anyhow::Error {
    Stop { exit, message: message.into(), more: Map::new() }.into()
}

/// The same, with more for programs than the words.
pub(crate) fn stop_telling(
    exit: Exit,
    message: impl Into<String>,
    more: Map<String, Value>,
) -> anyhow::Error {
    Stop { exit, message: message.into(), more }.into()
}

/// Says what went wrong and gives the code for it.
pub(crate) fn report(error: &anyhow::Error, context: &Context) -> ExitCode {
    let problem = error.downcast_ref::<ClientError>().and_then(ClientError::problem);
    if context.globals.json {
        // If even this fails there is nobody left to tell.
        let _ = match problem {
            Some(problem) => context.print_json(problem),
            None => context.print_json(&document(error)),
        };
    }
    let message = message(error);
    // Words for a host's person begin with our name; here it is there already.
    let mut text = format!("banksman: {}\n", message.strip_prefix("Banksman: ").unwrap_or(&message));
    if let Some(hint) = problem.and_then(hint) {
        text.push_str(&format!("{}\n", Visible(&hint)));
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
    exit_of(error).into()
}

/// What a program reads of a failure that is not the server's.
fn document(error: &anyhow::Error) -> Map<String, Value> {
    let mut document = Map::new();
    document.insert("error".into(), format!("{error:#}").into());
    document.insert("exit".into(), (exit_of(error) as u8).into());
    if let Some(stop) = error.downcast_ref::<Stop>() {
        document.extend(stop.more.clone());
    }
    document
}

/// Says what is wrong with a command line, or shows the help that it asks for.
pub(crate) fn misunderstood(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let ours = words.iter().take_while(|word| *word != "--");
    if error.use_stderr() && ours.into_iter().any(|word| word == "--json") {
        let text = error.render().to_string();
        // What follows the first blank line is how it is used.
        let problem = text.split("\n\n").next().unwrap_or_default();
        let problem = problem.strip_prefix("error: ").unwrap_or(problem);
        let document = serde_json::json!({ "error": problem, "exit": Exit::Usage as u8 });
        let _ = writeln!(std::io::stdout(), "{document}");
    }
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8))
}

/// The whole story. Only our own messages may have lines: what a server says may quote an agent.
fn message(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Stop>() {
        Some(stop) => {
            stop.message.lines().map(|line| Visible(line).to_string()).collect::<Vec<_>>().join("\n")
        }
        None => Visible(&format!("{error:#}")).to_string(),
    }
}

pub(crate) fn exit_of(error: &anyhow::Error) -> Exit {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stop.exit;
    }
    match error.downcast_ref::<ClientError>() {
        Some(ClientError::Unreachable { .. } | ClientError::NoAnswer { .. }) => Exit::Unreachable,
        Some(ClientError::Problem(problem)) => exit_of_status(problem.status),
        Some(ClientError::InvalidRequest { .. }) => Exit::Usage,
        Some(ClientError::Unexpected { .. }) | None => Exit::Failure,
    }
}

fn exit_of_status(status: u16) -> Exit {
    match status {
        400 | 413 | 422 => Exit::Usage,
        401 | 403 => Exit::NotAllowed,
        404 => Exit::NotFound,
        409 | 410 | 412 | 423 | 429 => Exit::Refused,
        _ => Exit::Failure,
    }
}

/// What to do about it, where that is not obvious.
fn hint(problem: &Problem) -> Option<String> {
    let look = |id| format!("Look again with: banksman show {id}");
    match problem.code.as_str() {
        "stale_version" | "digest_mismatch" => {
            let look = problem.action.map(look).unwrap_or_default();
            Some(format!("It changed after it was shown, so nothing was decided. {look}"))
        }
        "reason_required" => Some("Say why with --reason TEXT.".into()),
        "already_decided" | "expired" => problem.action.map(look),
        _ if problem.status == 401 => Some(
            "The token is not valid. Get one with: banksman token new --kind reviewer --name you --data DIR"
                .into(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(status: u16, code: &str) -> Problem {
        Problem {
            kind: format!("urn:banksman:error:{code}"),
            title: code.into(),
            status,
            detail: "detail".into(),
            code: code.into(),
            action: None,
            action_status: None,
            current_version: None,
            current_digest: None,
            decided_by: None,
            message: None,
        }
    }

    #[test]
    fn each_kind_of_failure_has_its_code() {
        for (status, code, exit) in [
            (401, "unauthenticated", Exit::NotAllowed),
            (403, "self_approval", Exit::NotAllowed),
            (404, "not_found", Exit::NotFound),
            (409, "stale_version", Exit::Refused),
            (409, "expired", Exit::Refused),
            (422, "reason_required", Exit::Usage),
            (429, "too_many_pending", Exit::Refused),
            (500, "internal", Exit::Failure),
        ] {
            let error = ClientError::Problem(Box::new(problem(status, code)));
            assert_eq!(exit_of(&error.into()), exit, "{code}");
        }
        assert_eq!(exit_of(&stop(Exit::NotFound, "no")), Exit::NotFound);
        assert_eq!(exit_of(&anyhow::anyhow!("else")), Exit::Failure);
        // Nobody listens on port 1.
        let unreachable =
            banksman_client::Client::new("http://127.0.0.1:1", "t").unwrap().ready().unwrap_err();
        assert_eq!(exit_of(&unreachable.into()), Exit::Unreachable);
    }

    #[test]
    fn what_a_server_says_is_one_harmless_line() {
        let mut hostile = problem(409, "expired");
        hostile.detail = "late\r\nbanksman: approved\u{1b}[2J".into();
        let text = message(&ClientError::Problem(Box::new(hostile)).into());
        assert_eq!(text, r"late\r\nbanksman: approved\u{1b}[2J (expired)");
        assert_eq!(message(&stop(Exit::Usage, "one\ntwo\u{7}")), "one\ntwo\\u{7}");
    }

    #[test]
    fn context_on_the_way_up_does_not_lose_the_code() {
        let error = anyhow::Error::from(ClientError::Problem(Box::new(problem(404, "not_found"))));
        assert_eq!(exit_of(&error.context("while showing")), Exit::NotFound);
    }

    #[test]
    fn the_help_names_every_code() {
        for exit in [
            Exit::Done,
            Exit::Failure,
            Exit::Usage,
            Exit::NotFound,
            Exit::Refused,
            Exit::NotAllowed,
            Exit::Unreachable,
        ] {
            assert!(HELP.contains(&format!("\n  {}  ", exit as u8)), "{exit:?}");
        }
    }

    #[test]
    fn a_stale_decision_says_where_to_look() {
        let mut stale = problem(409, "stale_version");
        stale.action = Some("act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap());
        assert!(hint(&stale).unwrap().ends_with("banksman show act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"));
        assert!(hint(&problem(403, "self_approval")).is_none());
    }
}
