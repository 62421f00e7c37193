//! Options and arguments that are commands themselves.

use super::super::builtin::joined;
use super::super::program::How;
use super::super::run::{Invocation, Runner};
use super::super::value::{Field, Taint, Text};
use super::{cluster_value, option_value, options_end};

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
            runner.suspect_wrapper(invocation);
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
            super::recipes::make(runner, invocation);
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
            let origin = crate::origin::Origin::of_span(invocation.span);
            for line in invocation.stdin.text.lines() {
                if let Some(command) = line_command(line) {
                    runner.suspect_text(command, origin);
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

/// The command that a line for an editor runs: `!x`, `:%!x`, `w !x`.
fn line_command(line: &str) -> Option<&str> {
    let (before, command) = line.split_once('!')?;
    before.chars().all(|letter| letter.is_ascii_digit() || " :%,.$rwe".contains(letter)).then_some(command)
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
        "patch" | "apply_patch" | "applypatch" => apply_patch(runner, invocation),
        "git" => {
            super::git::run(runner, arguments);
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
        "less" | "more" => {
            for field in arguments {
                if let Some(code) = field.text.strip_prefix("+!").or_else(|| field.text.strip_prefix("++!")) {
                    runner.suspect_text(code, field.origin);
                }
            }
        }
        "apt" | "apt-get" | "aptitude" => {
            for (at, field) in arguments.iter().enumerate() {
                let setting = match field.text.strip_prefix("-o") {
                    Some("") => arguments.get(at + 1).map(|next| next.text.clone()),
                    Some(attached) => Some(attached.to_owned()),
                    None => field.text.strip_prefix("--option=").map(str::to_owned),
                };
                if let Some((key, code)) = setting.as_deref().and_then(|setting| setting.split_once('=')) {
                    let key = key.to_ascii_lowercase();
                    if ["invoke", "pre-install-pkgs", "dir::bin", "auto-detect"]
                        .iter()
                        .any(|part| key.contains(part))
                    {
                        runner.suspect_text(code, field.origin);
                    }
                }
            }
        }
        "just" => {
            let at = arguments.iter().position(|field| matches!(field.text.as_str(), "-c" | "--command"));
            if let Some(command) = at.and_then(|at| arguments.get(at + 1..)) {
                runner.program(invocation.instead(command.to_vec()));
            }
        }
        "cargo" if arguments.first().is_some_and(|field| field.text == "watch") => {
            run_value(runner, value(&["-s", "--shell"]));
            if let Some(code) = value(&["-x", "--exec"]) {
                runner.suspect_text(&format!("cargo {}", code.text), code.origin);
            }
        }
        "ansible" => run_value(
            runner,
            value(&["-a", "--args"]).filter(|_| {
                value(&["-m"]).is_none_or(|module| module.text == "shell" || module.text == "command")
            }),
        ),
        _ => {
            for (program, options, given) in RUN_VALUES {
                if *program != name {
                    continue;
                }
                let Some(code) = value(options) else { continue };
                match given {
                    Given::Nothing => runner.suspect_text(&code.text, code.origin),
                    Given::Files => {
                        let files = arguments
                            .iter()
                            .filter(|field| !field.text.starts_with('-') && field.text != code.text);
                        let mut fields = runner.words_in(&code.text, code.origin);
                        fields.extend(files.map(|file| file.with_text(format!("{}/\0", file.text))));
                        runner.program(invocation.instead(fields));
                    }
                }
            }
        }
    }
}

/// What a program is given that is named by an option.
#[derive(Clone, Copy)]
enum Given {
    /// Nothing that matters: the value is all of the command.
    Nothing,
    /// The files that are worked on.
    Files,
}

/// Options of ordinary programs whose value is run.
const RUN_VALUES: &[(&str, &[&str], Given)] = &[
    ("rg", &["--pre"], Given::Files),
    ("rg", &["--hostname-bin"], Given::Nothing),
    ("sort", &["--compress-program"], Given::Nothing),
    ("split", &["--filter"], Given::Nothing),
    ("man", &["-P", "--pager"], Given::Nothing),
    ("man", &["-H", "--html"], Given::Nothing),
    ("tcpdump", &["-z"], Given::Nothing),
    ("zip", &["-TT", "--unzip-command"], Given::Nothing),
    ("tsc-watch", &["--onSuccess"], Given::Nothing),
    ("tsup", &["--onSuccess"], Given::Nothing),
    ("logrotate", &["-m", "--mail"], Given::Nothing),
];

/// A patch in the input says which files it changes.
fn apply_patch(runner: &mut Runner<'_, '_>, invocation: &Invocation) {
    let mut uses = Vec::new();
    // Some hand it over as an argument.
    for text in invocation.arguments().iter().map(|field| &field.text).chain([&invocation.stdin.text]) {
        if text.contains('\n') {
            crate::tool::patch::files(text, |path, access| uses.push((path.to_owned(), access)));
        }
    }
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
