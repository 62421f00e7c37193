//! Banksman as a program that runs others: `banksman exec -- CMD`, `banksman mcp -- CMD`, `banksman shell-guard -c TEXT`.
//!
//! It judges them itself, but by the policy or the server that its own options and environment name, and those are the
//! agent's words here.

use super::super::run::{Invocation, Runner};
use super::super::value::{Field, Taint, Text};
use super::{option_value, options_end};

/// Options that take a value, of the program and of these commands.
const VALUES: &[&str] =
    &["--url", "--token", "--data", "--policy", "--installed", "--timeout", "--name", "--window", "--shell"];

/// Runs what Banksman is given to run; nothing if it is given nothing.
pub(super) fn run(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Option<Text> {
    let program = invocation.fields.first()?;
    let arguments = invocation.arguments();
    if name == "banksman-shell" {
        return Some(as_shell(runner, invocation, program, 0));
    }
    let command = options_end(arguments, VALUES);
    let behind = command + 1;
    let rest = arguments.get(behind..).unwrap_or_default();
    let start = match arguments.get(command)?.text.as_str() {
        "shell-guard" => {
            return Some(as_shell(runner, invocation, program, behind + options_end(rest, VALUES)));
        }
        "exec" => {
            let options = rest.get(..options_end(rest, VALUES)).unwrap_or_default();
            if let Some(code) = option_value(options, &["--shell"]) {
                runner.state_command(invocation);
                return Some(runner.evaluate(&code.as_text(), code.origin, &invocation.stdin));
            }
            behind + options.len()
        }
        // What `--` does not stand before is no program: `mcp accept NAME`.
        "mcp" => behind + rest.iter().position(|field| field.text == "--")? + 1,
        _ => return None,
    };
    let inner = arguments.get(start..).unwrap_or_default().to_vec();
    runner.state_part(invocation, 1 + start);
    if inner.is_empty() {
        return Some(Text::unknown(Taint::OUTPUT));
    }
    Some(runner.program(invocation.instead(inner)))
}

/// In place of a shell: what stands behind so many words is what a shell would be given.
fn as_shell(runner: &mut Runner<'_, '_>, invocation: &Invocation, program: &Field, own: usize) -> Text {
    let given = invocation.arguments().get(own..).unwrap_or_default();
    runner.state_part(invocation, 1 + own);
    let fields = std::iter::once(program.with_text("sh")).chain(given.iter().cloned()).collect();
    runner.program(invocation.instead(fields))
}

/// `cargo run -p banksman -- WORDS` is `banksman WORDS`; so is a plain `cargo run` in Banksman's own sources.
pub(super) fn from_source(runner: &mut Runner<'_, '_>, invocation: &Invocation) {
    let arguments = invocation.arguments();
    if !arguments.iter().take(4).any(|field| matches!(field.text.as_str(), "run" | "r")) {
        return;
    }
    let Some(end) = arguments.iter().position(|field| field.text == "--") else { return };
    let options = arguments.get(..end).unwrap_or_default();
    let named = option_value(options, &["-p", "--package", "--bin"]).map(|value| value.text);
    let place = option_value(options, &["--manifest-path"])
        .map(|value| value.text)
        .or_else(|| runner.scope.directory.clone())
        .unwrap_or_default();
    let is_ours = match named {
        Some(name) => name == "banksman",
        None => place.split(['/', '\\']).any(|part| part.starts_with("banksman")),
    };
    if let (true, Some(program)) = (is_ours, invocation.fields.first()) {
        let words = arguments.get(end + 1..).unwrap_or_default();
        let fields = std::iter::once(program.with_text("banksman")).chain(words.iter().cloned()).collect();
        runner.program(invocation.instead(fields));
    }
}
