//! `banksman exec`: one command, judged, and then run exactly as it was judged.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use banksman_core::json::Json;

use crate::context::Context;
use crate::environment::unjudged;
use crate::gate::Where;
use crate::run::{Program, action, gated, real_shell, text};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Hand this text to a shell (BANKSMAN_SHELL, else bash or sh) instead of running a program
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    shell: Option<String>,
    /// The program and its arguments, after `--`; no shell reads them
    #[arg(value_name = "CMD", required_unless_present = "shell", trailing_var_arg = true)]
    command: Vec<OsString>,
    /// Without a server: wait so many seconds for the person at the terminal
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    #[command(flatten)]
    place: Where,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let (action, program) = match &args.shell {
        Some(line) => {
            let shell = real_shell()?;
            let named = vec![("interpreter", Json::String(text(shell.as_os_str())?.to_owned()))];
            let argv = vec![shell.into_os_string(), "-c".into(), line.into()];
            (action(line, named)?, Program { argv })
        }
        None => (action(&quoted_line(&args.command)?, Vec::new())?, Program { argv: args.command.clone() }),
    };
    say_what_is_left_out(context)?;
    gated(&args.place, context, &action, &program, Duration::from_secs(args.timeout))
}

/// Whoever misses a variable should not have to wonder where it went.
fn say_what_is_left_out(context: &Context) -> anyhow::Result<()> {
    let mut names: Vec<String> = unjudged().iter().map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    context.complain(&format!("banksman: not passed on, because it would be run unjudged: {names}"))
}

/// The words as a shell would read them back: what is reviewed is what runs.
fn quoted_line(words: &[OsString]) -> anyhow::Result<String> {
    let words: anyhow::Result<Vec<String>> = words.iter().map(|word| Ok(quoted(text(word)?))).collect();
    Ok(words?.join(" "))
}

fn quoted(word: &str) -> String {
    let plain = !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:@+%,".contains(&byte));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_exactly_the_words_that_run() {
        let words = [
            "printf", "%s|", "", "a b", "it's", "$(id)", "`id`", "*", "-rf", "\n", "\\", "~", "é", "a=b", "#",
        ];
        let line = quoted_line(&words.map(OsString::from)).unwrap();
        let output = std::process::Command::new("/bin/sh").args(["-c", &line]).output().unwrap();
        let expected: String = words.iter().skip(2).map(|word| format!("{word}|")).collect();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{line}");
    }
}
