//! Commands on other machines and in containers: `ssh host`, `docker exec`, `kubectl exec --`.

use super::super::builtin::joined;
use super::super::program::How;
use super::super::run::{Invocation, Runner};
use super::super::value::{Field, HOLE, Taint, Text};
use super::{option_value, options_end, takes_next};
use crate::fact::{Direction, Fact, UrlUse};

const SSH: &[&str] = &[
    "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R",
    "-S", "-W", "-w", "-B", "-M",
];

const CONTAINER: &[&str] = &[
    "-a",
    "--attach",
    "--add-host",
    "--annotation",
    "--blkio-weight",
    "--cap-add",
    "--cap-drop",
    "--cgroup-parent",
    "--cgroupns",
    "--cidfile",
    "-c",
    "--cpu-shares",
    "--cpus",
    "--cpuset-cpus",
    "--cpuset-mems",
    "--device",
    "--dns",
    "--domainname",
    "--entrypoint",
    "-e",
    "--env",
    "--env-file",
    "--expose",
    "--gpus",
    "--group-add",
    "--health-cmd",
    "-h",
    "--hostname",
    "--ip",
    "--ipc",
    "-l",
    "--label",
    "--label-file",
    "--link",
    "--log-driver",
    "--log-opt",
    "--mac-address",
    "-m",
    "--memory",
    "--memory-swap",
    "--mount",
    "--name",
    "--network",
    "--net",
    "--network-alias",
    "--pid",
    "--pids-limit",
    "--platform",
    "-p",
    "--publish",
    "--pull",
    "--restart",
    "--runtime",
    "--security-opt",
    "--shm-size",
    "--stop-signal",
    "--stop-timeout",
    "--storage-opt",
    "--sysctl",
    "--tmpfs",
    "--ulimit",
    "-u",
    "--user",
    "--userns",
    "--uts",
    "-v",
    "--volume",
    "--volumes-from",
    "-w",
    "--workdir",
    "--detach-keys",
    "-f",
    "--file",
    "--index",
    "--profile",
    "--project-name",
    "--project-directory",
];

const GLOBAL: &[&str] = &[
    "-H",
    "--host",
    "-c",
    "--context",
    "--config",
    "-l",
    "--log-level",
    "--tlscacert",
    "--tlscert",
    "--tlskey",
    "-f",
    "--file",
    "-p",
    "--project-name",
    "--profile",
    "--env-file",
    "--project-directory",
    "--ansi",
    "-n",
    "--namespace",
    "--kubeconfig",
    "--cluster",
    "--user",
    "-s",
    "--server",
    "--token",
    "--as",
];

/// Runs what is run elsewhere; nothing if no command is.
pub(super) fn run(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    match name {
        "ssh" | "autossh" | "mosh" => ssh(runner, invocation),
        "docker" | "podman" | "nerdctl" => {
            let (words, at) = subcommands(arguments, 2);
            match words.as_slice() {
                ["exec", ..] | ["container", "exec"] => {
                    let at =
                        if words.first() == Some(&"exec") { first_index(arguments, "exec")? } else { at };
                    container(runner, invocation, arguments.get(at..)?, 1)
                }
                ["run" | "create", ..] => {
                    let at = first_index(arguments, words.first()?)?;
                    container(runner, invocation, arguments.get(at..)?, 1)
                }
                ["container", "run"] => container(runner, invocation, arguments.get(at..)?, 1),
                ["compose", "exec" | "run"] => container(runner, invocation, arguments.get(at..)?, 1),
                _ => None,
            }
        }
        "docker-compose" | "podman-compose" | "crictl" => {
            let (words, at) = subcommands(arguments, 1);
            matches!(words.as_slice(), ["exec" | "run"]).then_some(())?;
            container(runner, invocation, arguments.get(at..)?, 1)
        }
        "kubectl" | "oc" | "k" => {
            let (words, _) = subcommands(arguments, 1);
            matches!(words.as_slice(), ["exec" | "run" | "debug" | "rsh"]).then_some(())?;
            after_dashes(runner, invocation)
        }
        "lxc" | "incus" | "machinectl" | "distrobox" | "toolbox" | "multipass" | "ctr" => {
            let (words, _) = subcommands(arguments, 1);
            matches!(words.as_slice(), ["exec" | "run" | "shell" | "enter"]).then_some(())?;
            after_dashes(runner, invocation)
        }
        "vagrant" | "gcloud" | "fly" | "flyctl" | "aws" | "heroku" => {
            let code = option_value(arguments, &["--command", "-C", "-c"]).filter(|_| {
                arguments
                    .iter()
                    .any(|field| matches!(field.text.as_str(), "ssh" | "execute-command" | "console"))
            });
            if let Some(code) = code {
                runner.state_command(invocation);
                return Some(runner.shell(
                    &code.as_text(),
                    code.origin,
                    Vec::new(),
                    &Text::default(),
                    How::Argument,
                ));
            }
            if name == "heroku" && arguments.first().is_some_and(|field| field.text.starts_with("run")) {
                let start =
                    1 + options_end(arguments.get(1..)?, &["-a", "--app", "-s", "--size", "-r", "--remote"]);
                return inner(runner, invocation, arguments.get(start..)?);
            }
            None
        }
        "wsl" => {
            let start = options_end(arguments, &["-d", "--distribution", "-u", "--user", "--cd"]);
            inner(runner, invocation, arguments.get(start..)?)
        }
        "adb" => {
            let at = first_index(arguments, "shell")?;
            let (code, origin) = joined(arguments.get(at..)?)?;
            runner.state_command(invocation);
            Some(runner.shell(&code, origin, Vec::new(), &Text::default(), How::Argument))
        }
        _ => None,
    }
}

/// The first operands, with options of the program passed over, and where the next argument is.
fn subcommands(arguments: &[Field], count: usize) -> (Vec<&str>, usize) {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(field) = arguments.get(at) {
        if words.len() == count {
            break;
        }
        let text = field.text.as_str();
        if text.starts_with('-') {
            at += usize::from(takes_next(text, GLOBAL));
        } else {
            words.push(text);
        }
        at += 1;
    }
    (words, at)
}

/// The index after a word.
fn first_index(arguments: &[Field], word: &str) -> Option<usize> {
    arguments.iter().position(|field| field.text == word).map(|at| at + 1)
}

/// Options, then operands (the container or image), then the command.
fn container(
    runner: &mut Runner<'_, '_>,
    invocation: &Invocation,
    rest: &[Field],
    operands: usize,
) -> Option<Text> {
    runner.state_command(invocation);
    let start = options_end(rest, CONTAINER);
    let command = rest.get(start + operands..).unwrap_or_default();
    let entry = option_value(rest.get(..start).unwrap_or_default(), &["--entrypoint"]);
    let mut fields: Vec<Field> = entry.into_iter().filter(|field| !field.text.is_empty()).collect();
    fields.extend(command.iter().cloned());
    run_inside(runner, invocation, fields)
}

fn after_dashes(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    runner.state_command(invocation);
    let at = arguments.iter().position(|field| field.text == "--")?;
    let fields = arguments.get(at + 1..).unwrap_or_default().to_vec();
    run_inside(runner, invocation, fields)
}

fn inner(runner: &mut Runner<'_, '_>, invocation: &Invocation, fields: &[Field]) -> Option<Text> {
    runner.state_command(invocation);
    run_inside(runner, invocation, fields.to_vec())
}

fn run_inside(runner: &mut Runner<'_, '_>, invocation: &Invocation, fields: Vec<Field>) -> Option<Text> {
    if fields.first().is_none_or(|field| field.text.starts_with('-')) {
        return Some(Text::unknown(Taint::OUTPUT));
    }
    let outer = runner.scope.directory.take();
    let output = runner.program(invocation.instead(fields));
    runner.scope.directory = outer;
    Some(output)
}

fn ssh(runner: &mut Runner<'_, '_>, invocation: &Invocation) -> Option<Text> {
    let arguments = invocation.arguments();
    runner.state_command(invocation);
    for (at, field) in arguments.iter().enumerate() {
        let value = match field.text.strip_prefix("-o") {
            Some("") => arguments.get(at + 1).cloned(),
            Some(value) => Some(field.with_text(value)),
            None => None,
        };
        let Some(value) = value else { continue };
        for key in ["proxycommand", "localcommand", "knownhostscommand"] {
            let Some((name, code)) = value.text.split_once(['=', ' ']) else { continue };
            if name.trim().eq_ignore_ascii_case(key) && !code.trim().eq_ignore_ascii_case("none") {
                runner.suspect_text(code, value.origin);
            }
        }
    }
    let start = options_end(arguments, SSH);
    let Some(host) = arguments.get(start) else { return Some(Text::unknown(Taint::OUTPUT)) };
    let span = host.span();
    let name = host.text.rsplit('@').next().unwrap_or_default();
    if !name.contains(HOLE) {
        runner.inspection.touch("host", name);
    }
    let word = crate::fact::Word::known(format!("ssh://{}", host.text), span);
    runner
        .inspection
        .state(&Fact::Url(UrlUse { direction: Direction::Connect, method: None, url: word }, span), span);
    let command_at = start + 1 + options_end(arguments.get(start + 1..).unwrap_or_default(), SSH);
    let stdin = &invocation.stdin;
    runner.sent(stdin, span);
    match joined(arguments.get(command_at..).unwrap_or_default()) {
        Some((code, origin)) => {
            let output = runner.shell(&code, origin, Vec::new(), stdin, How::Argument);
            Some(Text { text: HOLE.to_string(), taint: output.taint })
        }
        None if !stdin.text.is_empty() && stdin.text != "\0" => {
            // What comes in runs on the other side.
            let origin = host.origin;
            Some(runner.shell(&stdin.clone(), origin, Vec::new(), &Text::default(), How::Input))
        }
        None => Some(Text::unknown(Taint::OUTPUT)),
    }
}
