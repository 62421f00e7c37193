//! `banksman shell-guard`: in place of `$SHELL`. What it is given to run is judged, and handed to the real shell.

use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use banksman_core::json::Json;

use crate::context::Context;
use crate::exit::{Exit, stop};
use crate::gate::Where;
use crate::run::{Program, action, gated, real_shell, text};

/// Longest script that can be handed over as it was judged: systems limit an argument to 128 KiB.
const MAX_SCRIPT_BYTES: u64 = 120 * 1024;
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What a shell takes: `-c TEXT`, or a script and its arguments
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
    #[command(flatten)]
    place: Where,
}

/// What a shell is told to do.
#[derive(Debug, PartialEq, Eq)]
struct Invocation {
    /// Its own options, without `-c`.
    options: Vec<String>,
    source: Source,
    /// `$0`, `$1` and so on.
    positional: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Source {
    /// `-c TEXT`
    Text(String),
    /// A script.
    File(String),
    /// Whatever comes in, or whoever types.
    Input,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let words: anyhow::Result<Vec<String>> =
        args.args.iter().map(|word| text(word).map(str::to_owned)).collect();
    let Invocation { options, source, mut positional } = understand(&words?)?;
    // A script is handed over as a text, too: a file could change between the judging and the running.
    let line = match source {
        Source::Text(line) => line,
        Source::File(path) => {
            let script = File::open(&path)
                .map_err(|error| stop(Exit::NotFound, format!("cannot read {path}: {error}")))?;
            positional.insert(0, path);
            bounded(script)?
        }
        Source::Input if std::io::stdin().is_terminal() => {
            return Err(stop(
                Exit::NotAllowed,
                "an interactive shell cannot be judged before it runs: use -c TEXT, a script, or your own shell",
            ));
        }
        Source::Input => bounded(std::io::stdin())?,
    };
    let shell = real_shell()?;
    let list = |words: &[String]| Json::Array(words.iter().cloned().map(Json::String).collect());
    let action = action(
        &line,
        vec![
            ("interpreter", Json::String(text(shell.as_os_str())?.to_owned())),
            ("options", list(&options)),
            ("positional", list(&positional)),
        ],
    )?;
    let mut argv = vec![shell.into_os_string()];
    argv.extend(command_line(options, line, positional)?.into_iter().map(OsString::from));
    gated(&args.place, context, &action, &Program { argv }, PATIENCE)
}

/// What the shell is started with. A text that looks like an option would be taken for one, and what follows it for the
/// text; not every shell knows `--` here.
fn command_line(options: Vec<String>, text: String, positional: Vec<String>) -> anyhow::Result<Vec<String>> {
    if text.starts_with(['-', '+']) {
        return Err(not_understood("a text that begins like an option"));
    }
    Ok(options.into_iter().chain(["-c".to_owned(), text]).chain(positional).collect())
}

fn bounded(source: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    source.take(MAX_SCRIPT_BYTES + 1).read_to_end(&mut bytes).context("cannot read what to run")?;
    if bytes.len() as u64 > MAX_SCRIPT_BYTES {
        return Err(stop(
            Exit::Usage,
            format!("a script of more than {MAX_SCRIPT_BYTES} bytes cannot be judged"),
        ));
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|script| !script.contains('\0'))
        .ok_or_else(|| stop(Exit::Usage, "a script that is not UTF-8 cannot be judged"))
}

/// Reads a shell's command line as the shell does. What is not understood is not run.
fn understand(words: &[String]) -> anyhow::Result<Invocation> {
    let mut options = Vec::new();
    let mut is_text = false;
    let mut rest = words.iter();
    let mut operands: Vec<String> = Vec::new();
    while let Some(word) = rest.next() {
        if word == "--" || word == "-" {
            operands.extend(rest.by_ref().cloned());
        } else if let Some(long) = word.strip_prefix("--") {
            // Others run files of their own, or take an argument that would have to be told from ours.
            if !matches!(long, "login" | "norc" | "noprofile" | "posix") {
                return Err(not_understood(word));
            }
            options.push(word.clone());
        } else if let Some(letters) = word.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) {
            let known = letters.chars().all(|letter| "abcefhlmnuvxBCEHPT".contains(letter) || letter == 'o');
            let named = letters.matches('o').count();
            if !known || named > 1 || (word.starts_with('+') && letters.contains('c')) {
                return Err(not_understood(word));
            }
            is_text |= letters.contains('c');
            let others: String = word.chars().filter(|letter| *letter != 'c').collect();
            if others.len() > 1 {
                options.push(others);
            }
            if named == 1 {
                options.push(rest.next().ok_or_else(|| not_understood(word))?.clone());
            }
        } else {
            operands.push(word.clone());
            operands.extend(rest.by_ref().cloned());
        }
    }
    let mut operands = operands.into_iter();
    let source = match (is_text, operands.next()) {
        (true, Some(text)) => Source::Text(text),
        (true, None) => return Err(stop(Exit::Usage, "-c needs a text to run")),
        (false, Some(path)) => Source::File(as_path(path)),
        (false, None) => Source::Input,
    };
    Ok(Invocation { options, source, positional: operands.collect() })
}

/// A script is looked for where it is named, and not along the PATH as some shells would.
fn as_path(name: String) -> String {
    if Path::new(&name).is_absolute() || name.contains('/') { name } else { format!("./{name}") }
}

fn not_understood(word: &str) -> anyhow::Error {
    stop(Exit::Usage, format!("shell-guard does not know what a shell would do with {word}: nothing was run"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Invocation> {
        understand(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).ok()
    }

    #[test]
    fn command_lines_are_read_as_shells_read_them() {
        let text = |line: &str| Source::Text(line.to_owned());
        for (line, options, source, positional) in [
            ("-c ls", &[][..], text("ls"), &[][..]),
            ("-lc ls a b", &["-l"], text("ls"), &["a", "b"]),
            ("-l -e -c ls", &["-l", "-e"], text("ls"), &[]),
            ("-c -e ls", &["-e"], text("ls"), &[]),
            ("-eo pipefail -c ls", &["-eo", "pipefail"], text("ls"), &[]),
            ("--login -c -- ls", &["--login"], text("ls"), &[]),
            ("+e -c ls", &["+e"], text("ls"), &[]),
            ("/x/y.sh -c z", &[], Source::File("/x/y.sh".into()), &["-c", "z"]),
            ("-e y.sh", &["-e"], Source::File("./y.sh".into()), &[]),
            ("-l", &["-l"], Source::Input, &[]),
        ] {
            let read = read(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(read.options, options, "{line}");
            assert_eq!(read.source, source, "{line}");
            assert_eq!(read.positional, positional, "{line}");
        }
        assert_eq!(read("").unwrap().source, Source::Input);
    }

    #[test]
    fn what_was_judged_is_what_the_shell_takes_for_its_text() {
        let line = |text: &str| command_line(vec!["-l".into()], text.into(), vec!["x".into()]).ok();
        assert_eq!(line("ls -l").unwrap(), ["-l", "-c", "ls -l", "x"]);
        // With `-c -- -e 'touch y'`, `-e` would be judged and `touch y` run.
        for text in ["-e", "+e", "--", "-"] {
            assert_eq!(line(text), None, "{text}");
        }
    }

    #[test]
    fn what_would_run_something_else_is_refused() {
        for line in [
            "--rcfile evil -c ls",
            "--init-file evil",
            "-i -c ls",
            "-s",
            "-c",
            "-Z -c ls",
            "-oo a b -c ls",
            "+c ls",
        ] {
            assert!(read(line).is_none(), "{line}");
        }
    }
}
