//! Options and arguments that are commands themselves.

use super::super::builtin::joined;
use super::super::program::How;
use super::super::run::{Invocation, Runner};
use super::super::value::{Field, Taint, Text};
use super::{option_value, options_end};

/// Programs that run a text, or the words after their own; nothing if this one does not here.
pub(super) fn run_text(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    let as_code = |runner: &mut Runner<'_, '_>, code: Field| {
        runner.state_command(invocation);
        Some(runner.shell(&code.as_text(), code.origin, Vec::new(), &Text::default(), How::Argument))
    };
    let rest_as_code = |runner: &mut Runner<'_, '_>, values: &[&str], skip: usize| {
        let start = options_end(arguments, values) + skip;
        let (code, origin) = joined(arguments.get(start..).unwrap_or_default())?;
        runner.state_part(invocation, 1 + start);
        Some(runner.shell(&code, origin, Vec::new(), &Text::default(), How::Argument))
    };
    let rest_as_command = |runner: &mut Runner<'_, '_>, start: usize| {
        let fields = arguments.get(start..)?.to_vec();
        fields.first()?;
        runner.state_part(invocation, 1 + start);
        Some(runner.program(invocation.instead(fields)))
    };
    match name {
        "watch" => {
            let start = options_end(arguments, &["-n", "--interval", "-q", "--equexit"]);
            // With `-x` the words are taken as they are; and people think that they always are.
            if arguments.len() > start + 1 {
                runner.program(invocation.instead(arguments.get(start..)?.to_vec()));
            }
            rest_as_code(runner, &["-n", "--interval", "-q", "--equexit"], 0)
        }
        "nodemon" => as_code(runner, option_value(arguments, &["--exec", "-x"])?),
        "hyperfine" | "concurrently" => {
            runner.state_part(invocation, 1);
            for field in
                arguments.iter().filter(|field| field.text.contains(' ') && !field.text.starts_with('-'))
            {
                runner.shell(&field.as_text(), field.origin, Vec::new(), &Text::default(), How::Argument);
            }
            Some(Text::unknown(Taint::OUTPUT))
        }
        "entr" => rest_as_command(runner, options_end(arguments, &[])),
        "watchexec" => rest_as_command(
            runner,
            options_end(arguments, &["-w", "--watch", "-e", "--exts", "-f", "-i", "-d", "-s", "--signal"]),
        ),
        "su" | "runuser" => {
            if let Some(code) = option_value(arguments, &["-c", "--command", "--session-command"])
                .or_else(|| cluster_value(arguments, 'c'))
            {
                return as_code(runner, code);
            }
            if name == "runuser" && arguments.iter().any(|field| field.text == "-u") {
                let start = options_end(arguments, &["-u", "--user", "-g", "-G"]);
                return rest_as_command(runner, start);
            }
            if invocation.stdin.text.len() > 1 {
                let stdin = invocation.stdin.clone();
                let origin = invocation.fields.first()?.origin;
                runner.state_command(invocation);
                return Some(runner.shell(&stdin, origin, Vec::new(), &Text::default(), How::Input));
            }
            None
        }
        "script" => as_code(
            runner,
            option_value(arguments, &["-c", "--command"]).or_else(|| cluster_value(arguments, 'c'))?,
        ),
        "flock" => {
            if let Some(code) = option_value(arguments, &["-c", "--command"]) {
                return as_code(runner, code);
            }
            let start = options_end(arguments, &["-w", "--timeout", "-E"]) + 1;
            rest_as_command(runner, start)
        }
        "at" | "batch" => {
            runner.state_command(invocation);
            let stdin = invocation.stdin.clone();
            let origin = invocation.fields.first()?.origin;
            (stdin.text.len() > 1)
                .then(|| runner.shell(&stdin, origin, Vec::new(), &Text::default(), How::Input))
        }
        "crontab" => {
            let from_input = arguments.iter().any(|field| field.text == "-") || arguments.is_empty();
            if from_input && invocation.stdin.text.len() > 1 {
                runner.state_command(invocation);
                let origin = invocation.fields.first()?.origin;
                for line in invocation.stdin.text.lines().take(64) {
                    if let Some(command) = cron_command(line) {
                        runner.suspect_text(command, origin);
                    }
                }
                return Some(Text::default());
            }
            None
        }
        "nix-shell" => as_code(runner, option_value(arguments, &["--run", "--command"])?),
        "tmux" | "screen" => {
            runner.state_command(invocation);
            for field in arguments.iter().filter(|field| field.text.contains(' ')) {
                runner.suspect_text(&field.text, field.origin);
            }
            Some(Text::unknown(Taint::OUTPUT))
        }
        "start-stop-daemon" => {
            let at = arguments.iter().position(|field| field.text == "--")?;
            let program = option_value(arguments, &["--exec", "-x", "--startas", "-a"])?;
            let mut fields = vec![program];
            fields.extend(arguments.get(at + 1..)?.iter().cloned());
            runner.state_command(invocation);
            Some(runner.program(invocation.instead(fields)))
        }
        "fzf" => {
            for name in ["--bind", "--preview"] {
                if let Some(value) = option_value(arguments, &[name]) {
                    let code = value
                        .text
                        .rsplit_once("execute(")
                        .map_or(value.text.as_str(), |(_, code)| code.trim_end_matches(')'));
                    if name == "--preview" || value.text.contains("execute(") {
                        runner.suspect_text(code, value.origin);
                    }
                }
            }
            None
        }
        "ssh-agent" => {
            let start = options_end(arguments, &["-a", "-t", "-E", "-P"]);
            rest_as_command(runner, start)
        }
        "gdb" => {
            let at = arguments.iter().position(|field| field.text == "--args");
            for value in arguments
                .iter()
                .filter(|field| field.text.starts_with("shell ") || field.text.starts_with('!'))
            {
                let code = value.text.trim_start_matches("shell ").trim_start_matches('!');
                runner.suspect_text(code, value.origin);
            }
            rest_as_command(runner, at? + 1)
        }
        "expect" => {
            let code = option_value(arguments, &["-c"])?;
            runner.state_command(invocation);
            for line in code.text.split([';', '\n']) {
                if let Some(command) =
                    line.trim().strip_prefix("spawn ").or_else(|| line.trim().strip_prefix("exec "))
                {
                    runner.suspect_text(command, code.origin);
                }
            }
            Some(Text::unknown(Taint::OUTPUT))
        }
        "make" | "gmake" => {
            for field in arguments {
                if let Some(code) = field.text.strip_prefix("SHELL=") {
                    runner.suspect_text(code, field.origin);
                }
                if let Some(code) = field.text.strip_prefix("--eval=") {
                    let code =
                        code.split_once("$(shell ").map_or(code, |(_, code)| code.trim_end_matches(')'));
                    runner.suspect_text(code, field.origin);
                }
            }
            None
        }
        "vim" | "vi" | "nvim" | "ex" | "ed" => {
            let mut codes: Vec<Field> = Vec::new();
            for (at, field) in arguments.iter().enumerate() {
                match field.text.as_str() {
                    "-c" | "--cmd" => codes.extend(arguments.get(at + 1).cloned()),
                    text if text.starts_with("+") => {
                        codes.push(field.with_text(text.get(1..).unwrap_or_default()))
                    }
                    _ => {}
                }
            }
            for code in codes {
                let text = code.text.trim_start_matches(':').trim_start_matches("silent").trim_start();
                if let Some(command) = text.strip_prefix('!').or_else(|| {
                    text.split_once("system(").map(|(_, code)| code.trim_matches(['\'', '"', ')']))
                }) {
                    runner.suspect_text(command, code.origin);
                }
            }
            None
        }
        "busybox" | "toybox" => {
            let first = arguments.first()?;
            if first.text.starts_with('-') {
                return None;
            }
            rest_as_command(runner, 0)
        }
        _ => None,
    }
}

/// The value after a cluster of letters that holds one: `su -lc 'x'`.
fn cluster_value(arguments: &[Field], letter: char) -> Option<Field> {
    let at = arguments.iter().position(|field| {
        field.text.len() > 2
            && field.text.starts_with('-')
            && !field.text.starts_with("--")
            && field.text.ends_with(letter)
    })?;
    arguments.get(at + 1).cloned()
}

/// The command of a line in a crontab.
fn cron_command(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let mut rest = line;
    for _ in 0..fields {
        rest = rest.split_once([' ', '\t']).map(|(_, rest)| rest.trim_start())?;
    }
    Some(rest)
}

/// Options of ordinary programs that make them run something else. The programs themselves are stated by the caller.
pub(super) fn run_options(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) {
    let arguments = invocation.arguments();
    let value = |names: &[&str]| option_value(arguments, names);
    match name {
        "patch" => apply_patch(runner, invocation),
        "git" => {
            git(runner, arguments);
            if arguments.iter().any(|field| matches!(field.text.as_str(), "apply" | "am")) {
                apply_patch(runner, invocation);
            }
        }
        "tar" | "gtar" | "bsdtar" => {
            for field in arguments {
                if let Some(action) = field
                    .text
                    .strip_prefix("--checkpoint-action=")
                    .and_then(|action| action.strip_prefix("exec="))
                {
                    runner.suspect_text(action, field.origin);
                }
            }
            for names in [
                ["--to-command", "--to-command"],
                ["--use-compress-program", "-I"],
                ["--rsh-command", "--rsh-command"],
                ["--info-script", "-F"],
            ] {
                if let Some(code) =
                    value(&names).filter(|code| code.text.contains(' ') || code.text.contains('/'))
                {
                    runner.suspect_text(&code.text, code.origin);
                }
            }
            if let Some(action) = value(&["--checkpoint-action"])
                .and_then(|field| field.text.strip_prefix("exec=").map(str::to_owned))
            {
                let origin = crate::origin::Origin::of_span(invocation.span);
                runner.suspect_text(&action, origin);
            }
        }
        "rsync" | "scp" | "sftp" => {
            let names: &[&str] = if name == "rsync" { &["-e", "--rsh", "--rsync-path"] } else { &["-S"] };
            if let Some(code) = value(names) {
                runner.suspect_text(&code.text, code.origin);
            }
            if let Some(option) =
                value(&["-o"]).and_then(|field| field.text.strip_prefix("ProxyCommand=").map(str::to_owned))
            {
                let origin = crate::origin::Origin::of_span(invocation.span);
                runner.suspect_text(&option, origin);
            }
        }
        "rg" => run_value(runner, value(&["--pre", "--hostname-bin"])),
        "sort" => run_value(runner, value(&["--compress-program"])),
        "split" => run_value(runner, value(&["--filter"])),
        "man" => run_value(runner, value(&["-P", "--pager", "--html"])),
        "tcpdump" => run_value(runner, value(&["-z"])),
        "zip" => run_value(runner, value(&["-TT", "--unzip-command"])),
        "ansible" => run_value(
            runner,
            value(&["-a", "--args"]).filter(|_| {
                value(&["-m"]).is_none_or(|module| module.text == "shell" || module.text == "command")
            }),
        ),
        _ => {}
    }
}

/// A patch in the input says which files it changes.
fn apply_patch(runner: &mut Runner<'_, '_>, invocation: &Invocation) {
    let mut uses = Vec::new();
    crate::tool::patch::files(&invocation.stdin.text, |path, access| uses.push((path.to_owned(), access)));
    let Some(first) = invocation.fields.first() else { return };
    for (path, access) in uses {
        runner.path(access, &first.with_text(path), invocation.span);
    }
}

fn run_value(runner: &mut Runner<'_, '_>, value: Option<Field>) {
    if let Some(code) = value {
        runner.suspect_text(&code.text, code.origin);
    }
}

/// `git -c key=value`, where some keys name programs.
fn git(runner: &mut Runner<'_, '_>, arguments: &[Field]) {
    for (at, field) in arguments.iter().enumerate() {
        let setting = match field.text.strip_prefix("-c") {
            Some("") => arguments.get(at + 1).cloned(),
            Some(setting) if !field.text.starts_with("--") => Some(field.with_text(setting)),
            _ if !field.text.starts_with('-')
                && at > 0
                && arguments.get(at - 1).is_some_and(|before| before.text != "-c" && before.text != "-C") =>
            {
                break;
            }
            _ => None,
        };
        let Some(setting) = setting else { continue };
        let Some((key, code)) = setting.text.split_once('=') else { continue };
        let key = key.to_ascii_lowercase();
        let is_alias = key.starts_with("alias.");
        let runs = is_alias
            || matches!(
                key.as_str(),
                "core.pager"
                    | "core.editor"
                    | "core.sshcommand"
                    | "core.fsmonitor"
                    | "sequence.editor"
                    | "diff.external"
                    | "core.askpass"
                    | "credential.helper"
                    | "core.gitproxy"
                    | "gpg.program"
            )
            || key.ends_with(".textconv")
            || key.ends_with(".cmd")
            || key.ends_with(".clean")
            || key.ends_with(".smudge")
            || key.starts_with("pager.");
        if !runs {
            continue;
        }
        match (code.strip_prefix('!'), is_alias) {
            (Some(code), _) => runner.suspect_text(code, setting.origin),
            // An alias that is a git command.
            (None, true) => runner.suspect_text(&format!("git {code}"), setting.origin),
            (None, false) => runner.suspect_text(code, setting.origin),
        }
    }
    // What other subcommands run.
    let texts: Vec<&str> = arguments.iter().map(|field| field.text.as_str()).collect();
    let code = match texts.as_slice() {
        [.., "bisect", "run"] => None,
        ["submodule", "foreach", ..] | ["bisect", "run", ..] => {
            joined(arguments.get(2..).unwrap_or_default())
        }
        ["rebase" | "filter-branch" | "difftool" | "mergetool", ..] => {
            let value = option_value(
                arguments,
                &[
                    "--exec",
                    "-x",
                    "--tree-filter",
                    "--index-filter",
                    "--msg-filter",
                    "--env-filter",
                    "--extcmd",
                ],
            );
            value.map(|field| (field.as_text(), field.origin))
        }
        _ => None,
    };
    if let Some((code, origin)) = code {
        runner.suspect_text(code.text.trim_start_matches("--recursive "), origin);
    }
}
