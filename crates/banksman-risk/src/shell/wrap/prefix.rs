//! Wrappers that stand before the command that they run: `sudo -u x`, `timeout 5`, `nice -n 3`.

use super::super::builtin::joined;
use super::super::program::quote;
use super::super::run::{Invocation, Runner};
use super::super::syntax::is_name;
use super::super::value::{Field, Taint, Text};
use super::{option_value, options_end};

/// A wrapper that stands before a command.
struct Prefix {
    name: &'static str,
    /// Words after the name without which it is no wrapper: `poetry run`.
    subcommand: &'static [&'static str],
    /// Options that take a value.
    values: &'static [&'static str],
    /// Operands before the command: the duration of `timeout`.
    operands: usize,
}

const fn prefix(name: &'static str, values: &'static [&'static str], operands: usize) -> Prefix {
    Prefix { name, subcommand: &[], values, operands }
}

const fn sub(
    name: &'static str,
    subcommand: &'static [&'static str],
    values: &'static [&'static str],
    operands: usize,
) -> Prefix {
    Prefix { name, subcommand, values, operands }
}

const SUDO: &[&str] = &[
    "-u",
    "--user",
    "-g",
    "--group",
    "-p",
    "--prompt",
    "-C",
    "--close-from",
    "-h",
    "--host",
    "-r",
    "--role",
    "-t",
    "--type",
    "-T",
    "--command-timeout",
    "-U",
    "--other-user",
    "-D",
    "--chdir",
    "-R",
    "--chroot",
];

const PREFIXES: &[Prefix] = &[
    prefix("sudo", SUDO, 0),
    prefix("doas", &["-u", "-C", "-a"], 0),
    prefix("run0", &["-u", "--user", "-g", "--group", "--nice", "-D", "--chdir", "--setenv"], 0),
    prefix("pkexec", &["--user"], 0),
    prefix("gosu", &[], 1),
    prefix("su-exec", &[], 1),
    prefix("setpriv", &["--reuid", "--regid", "--groups", "--inh-caps", "--bounding-set"], 0),
    prefix("nohup", &[], 0),
    prefix("timeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    prefix("gtimeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    prefix("nice", &["-n", "--adjustment"], 0),
    prefix("ionice", &["-c", "--class", "-n", "--classdata", "-p", "-P", "-u"], 0),
    prefix("chrt", &["-T", "-P", "-D"], 1),
    prefix("taskset", &["-c", "--cpu-list"], 1),
    prefix("stdbuf", &["-i", "--input", "-o", "--output", "-e", "--error"], 0),
    prefix("unbuffer", &[], 0),
    prefix("setsid", &[], 0),
    prefix("time", &["-f", "--format", "-o", "--output"], 0),
    prefix("gtime", &["-f", "--format", "-o", "--output"], 0),
    prefix("nsenter", &["-t", "--target", "-S", "--setuid", "-G", "--setgid"], 0),
    prefix(
        "unshare",
        &["-S", "--setuid", "-G", "--setgid", "-R", "--root", "-w", "--wd", "--map-user", "--map-group"],
        0,
    ),
    prefix("chroot", &["--userspec", "--groups"], 1),
    prefix("fakeroot", &["-l", "--lib", "-s", "-i", "-b"], 0),
    prefix("fakechroot", &[], 0),
    prefix("proot", &["-r", "-b", "-w", "-q"], 0),
    prefix("bwrap", &["--bind", "--ro-bind", "--dev", "--proc", "--tmpfs", "--chdir", "--setenv"], 0),
    prefix("firejail", &[], 0),
    prefix("strace", &["-e", "-o", "-p", "-s", "-u", "-E", "-P", "-a", "-b", "-I", "-O", "-S", "-X"], 0),
    prefix("ltrace", &["-e", "-o", "-p", "-s", "-u", "-l", "-x", "-a", "-n"], 0),
    prefix("valgrind", &[], 0),
    prefix("catchsegv", &[], 0),
    prefix("caffeinate", &["-t", "-w"], 0),
    prefix(
        "systemd-run",
        &[
            "-p",
            "--property",
            "-u",
            "--unit",
            "--uid",
            "--gid",
            "-E",
            "--setenv",
            "-M",
            "--machine",
            "--description",
            "--slice",
            "--on-calendar",
            "--on-active",
            "--on-boot",
            "--working-directory",
            "-H",
            "--host",
        ],
        0,
    ),
    prefix("systemd-inhibit", &["--what", "--who", "--why", "--mode"], 0),
    prefix("dbus-run-session", &["--config-file", "--dbus-daemon"], 0),
    prefix("dbus-launch", &[], 0),
    prefix(
        "xvfb-run",
        &["-e", "-f", "-n", "-p", "-s", "-w", "--server-args", "--server-num", "--error-file"],
        0,
    ),
    prefix("setarch", &[], 1),
    prefix("linux32", &[], 0),
    prefix("linux64", &[], 0),
    prefix("prlimit", &["-p", "--pid"], 0),
    prefix(
        "numactl",
        &["-N", "-m", "-C", "-i", "-p", "--cpunodebind", "--membind", "--physcpubind", "--interleave"],
        0,
    ),
    prefix("cgexec", &["-g"], 0),
    prefix("chpst", &["-u", "-U", "-b", "-e", "-n", "-l", "-m", "-d", "-o", "-p", "-f", "-c"], 0),
    prefix("softlimit", &["-m", "-d", "-s", "-l", "-a", "-o", "-p", "-f", "-c", "-r", "-t"], 0),
    prefix("setuidgid", &[], 1),
    prefix("envdir", &[], 1),
    prefix("tini", &["-p", "-e"], 0),
    prefix("dumb-init", &["-r", "--rewrite"], 0),
    prefix("catatonit", &[], 0),
    prefix("torsocks", &["-a", "-P", "-u", "-p"], 0),
    prefix("torify", &[], 0),
    prefix("proxychains", &["-f"], 0),
    prefix("proxychains4", &["-f"], 0),
    prefix("tsocks", &[], 0),
    prefix("eatmydata", &[], 0),
    prefix("faketime", &["-f"], 1),
    prefix("retry", &["-t", "-d", "-m", "--times", "--delay"], 0),
    prefix("timelimit", &["-t", "-T", "-s", "-S"], 0),
    prefix("sg", &[], 1),
    prefix("rlwrap", &["-f", "-H", "-b", "-p", "-S", "-D", "-s", "-t"], 0),
    prefix("winpty", &[], 0),
    prefix("arch", &["-e", "-d"], 0),
    prefix("nocorrect", &[], 0),
    prefix("noglob", &[], 0),
    prefix("dotenv", &["-f", "--file", "-e", "-c"], 0),
    prefix("dotenvx", &["-f"], 0),
    prefix("envchain", &[], 1),
    prefix("cross-env", &[], 0),
    prefix("cross-env-shell", &[], 0),
    prefix("npx", &["-p", "--package", "-w", "--workspace"], 0),
    prefix("bunx", &["-p", "--package"], 0),
    prefix("pnpx", &[], 0),
    prefix("uvx", &["--from", "--with", "--python", "-p", "--index-url"], 0),
    prefix("rtk", &[], 0),
    prefix("sshpass", &["-p", "-f", "-d", "-P"], 0),
    sub("poetry", &["run"], &[], 0),
    sub("pipenv", &["run"], &[], 0),
    sub("pdm", &["run"], &[], 0),
    sub("hatch", &["run"], &[], 0),
    sub("rye", &["run"], &[], 0),
    sub(
        "uv",
        &["run"],
        &[
            "--with",
            "--python",
            "-p",
            "--extra",
            "--group",
            "--project",
            "--directory",
            "--env-file",
            "--index-url",
        ],
        0,
    ),
    sub("pipx", &["run"], &["--spec", "--python"], 0),
    sub("bundle", &["exec"], &[], 0),
    sub("npm", &["exec"], &["-p", "--package", "-w", "--workspace"], 0),
    sub("npm", &["x"], &["-p", "--package", "-w", "--workspace"], 0),
    sub("lerna", &["exec"], &["--scope", "--ignore", "--concurrency"], 0),
    sub("nx", &["exec"], &[], 0),
    sub("pnpm", &["exec"], &["-C", "--dir", "--filter"], 0),
    sub("pnpm", &["dlx"], &["--package"], 0),
    sub("yarn", &["exec"], &[], 0),
    sub("yarn", &["dlx"], &["-p"], 0),
    sub("bun", &["x"], &[], 0),
    sub("rustup", &["run"], &[], 1),
    sub("mise", &["exec"], &["-C", "-j"], 0),
    sub("mise", &["x"], &["-C", "-j"], 0),
    sub("asdf", &["exec"], &[], 0),
    sub("direnv", &["exec"], &[], 1),
    sub("conda", &["run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0),
    sub("mamba", &["run"], &["-n", "--name", "-p", "--prefix", "--cwd"], 0),
    sub("op", &["run"], &["--env-file", "--account"], 0),
    sub("doppler", &["run"], &["-p", "-c", "--project", "--config", "-t", "--token"], 0),
    sub("infisical", &["run"], &["--env", "--path", "--projectId"], 0),
    sub("aws-vault", &["exec"], &["-d", "--duration"], 1),
    sub("chamber", &["exec"], &[], 1),
    sub("teller", &["run"], &["-c"], 0),
    sub("sops", &["exec-env"], &[], 1),
    sub("devbox", &["run"], &["-c", "--config", "-e", "--env"], 0),
    sub("nix", &["run"], &["-I", "--argstr"], 1),
    sub("perf", &["stat"], &["-e", "-p", "-o", "-r", "-I", "-C"], 0),
    sub("perf", &["record"], &["-e", "-p", "-o", "-F", "-c", "-C"], 0),
    sub("ip", &["netns", "exec"], &[], 1),
    sub("snap", &["run"], &[], 0),
    sub("opam", &["exec"], &["--switch"], 0),
    sub("stack", &["exec"], &[], 0),
    sub("cabal", &["exec"], &[], 0),
    sub("rbenv", &["exec"], &[], 0),
    sub("pyenv", &["exec"], &[], 0),
    sub("nvm", &["exec"], &[], 1),
    sub("fnm", &["exec"], &["--using"], 0),
    sub("volta", &["run"], &["--node", "--npm", "--yarn"], 0),
    sub("rvm", &["do"], &[], 0),
];

/// Whether a program stands before the command that it runs.
pub(in crate::shell) fn is_prefix(name: &str) -> bool {
    name == "env" || PREFIXES.iter().any(|prefix| prefix.name == name && prefix.subcommand.is_empty())
}

/// Runs the command after a prefix; nothing if the program is none.
pub(super) fn run(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    let (prefix, skip) = PREFIXES.iter().filter(|prefix| prefix.name == name).find_map(|prefix| {
        let words = prefix.subcommand;
        // Options may stand before the subcommand as well.
        let start = if words.is_empty() { 0 } else { options_end(arguments, prefix.values) };
        let given = arguments.get(start..start + words.len())?;
        words
            .iter()
            .zip(given)
            .all(|(wanted, given)| given.text == *wanted)
            .then_some((prefix, start + words.len()))
    })?;
    let rest = arguments.get(skip..).unwrap_or_default();
    let mut start = options_end(rest, prefix.values);
    let shell_mode = |field: &Field| matches!(field.text.as_str(), "-c" | "--shell-mode");
    if name == "pnpm" && arguments.get(..skip + start).unwrap_or_default().iter().any(shell_mode) {
        let (code, origin) = joined(rest.get(start..)?)?;
        runner.state_command(invocation);
        return Some(runner.evaluate(&code, origin, &invocation.stdin));
    }
    if matches!(name, "npm" | "npx" | "yarn" | "bunx")
        && let Some(code) = option_value(arguments, &["-c", "--call"])
    {
        runner.state_command(invocation);
        return Some(runner.evaluate(&code.as_text(), code.origin, &invocation.stdin));
    }
    if name == "sudo" && asks_only(rest.get(..start).unwrap_or_default()) {
        runner.state_command(invocation);
        return Some(Text::unknown(Taint::OUTPUT));
    }
    start += prefix.operands;
    if rest.get(start).is_some_and(|field| field.text == "--") {
        start += 1;
    }
    // `sudo X=1 command`.
    let mut env = invocation.env.clone();
    while let Some((set, value)) = rest.get(start).and_then(|field| assignment(&field.text)) {
        env.push((set.to_owned(), Text::known(value)));
        start += 1;
    }
    let inner = rest.get(start..).unwrap_or_default().to_vec();
    let own = 1 + skip + start.min(rest.len());
    runner.state_part(invocation, own);
    if inner.is_empty() {
        // `sudo -i` and `sudo -s` start a shell that reads from the input.
        let starts_shell = name == "sudo"
            && arguments
                .iter()
                .any(|field| matches!(field.text.as_str(), "-i" | "-s" | "--login" | "--shell"));
        if starts_shell {
            let shell = invocation.fields.first()?.with_text("sh");
            return Some(runner.program(invocation.instead(vec![shell])));
        }
        return Some(Text::unknown(Taint::OUTPUT));
    }
    let mut inner = invocation.instead(inner);
    inner.env = env;
    // Nothing that a shell defined is known to a program that starts another.
    Some(runner.program(inner))
}

fn asks_only(options: &[Field]) -> bool {
    options.iter().any(|field| {
        matches!(
            field.text.as_str(),
            "-l" | "--list" | "-v" | "--validate" | "-k" | "-K" | "-V" | "--version" | "--help"
        )
    }) && !options.iter().any(|field| field.text == "-k" && options.len() > 1)
}

fn assignment(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(name, _)| is_name(name))
}

/// `env -i -u X -C DIR -S STRING X=1 command`.
pub(super) fn env(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
    let values = ["-u", "--unset", "-C", "--chdir", "-a", "--argv0", "-P"];
    // `-S` puts the words of its value in the place where it stands.
    for (at, field) in arguments.iter().enumerate() {
        let text = field.text.as_str();
        if !text.starts_with('-') {
            break;
        }
        let cluster = !text.starts_with("--") && text.contains('S');
        let (string, used) = if let Some(value) = text.strip_prefix("--split-string=") {
            (field.with_text(value), 1)
        } else if cluster && !text.ends_with('S') {
            let value = text.split_once('S').map_or("", |(_, value)| value);
            (field.with_text(value), 1)
        } else if cluster || text == "--split-string" {
            match arguments.get(at + 1) {
                Some(next) => (next.clone(), 2),
                None => break,
            }
        } else {
            continue;
        };
        let rest = arguments.get(at + used..).unwrap_or_default();
        let mut line = format!("env {}", string.text);
        for field in rest {
            line.push(' ');
            line.push_str(&quote(&field.text));
        }
        return runner.evaluate(&Text::known(line), string.origin, &invocation.stdin);
    }
    let mut start = options_end(arguments, &values);
    let directory = option_value(arguments.get(..start).unwrap_or_default(), &["-C", "--chdir"]);
    let mut env = invocation.env.clone();
    if arguments.get(start).is_some_and(|field| field.text == "-") {
        start += 1;
    }
    while let Some(field) = arguments.get(start) {
        // Any name will do, also one that no shell could set: `BASH_FUNC_ls%%`.
        let Some((name, value)) = field.text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            break;
        };
        env.push((name.to_owned(), Text { text: value.to_owned(), taint: field.taint }));
        start += 1;
    }
    let inner = arguments.get(start..).unwrap_or_default().to_vec();
    if inner.is_empty() {
        runner.state_command(invocation);
        return Text::unknown(Taint::ENVIRONMENT | Taint::OUTPUT);
    }
    runner.state_part(invocation, 1 + start);
    let outer = runner.scope.directory.clone();
    if let Some(directory) = directory {
        runner.scope.directory = Some(directory.text);
    }
    let mut inner = invocation.instead(inner);
    inner.env = env;
    let output = runner.program(inner);
    runner.scope.directory = outer;
    output
}
