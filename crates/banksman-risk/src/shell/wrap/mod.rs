//! Programs that run other programs.

mod banksman;
mod find;
mod git;
mod options;
mod prefix;
mod recipes;
mod remote;
mod xargs;

use super::run::{Invocation, Runner};
use super::value::{Field, Text};

pub(super) use git::git_environment;
pub(super) use prefix::is_prefix;
pub(super) use recipes::make_variable;

/// Runs what a wrapper runs; nothing if the program is no wrapper.
pub(super) fn run(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Option<Text> {
    match name {
        "find" | "gfind" | "bfs" => return Some(find::run(runner, invocation)),
        "fd" | "fdfind" => return find::run_fd(runner, invocation),
        "xargs" | "gxargs" => return Some(xargs::run(runner, invocation)),
        "parallel" | "rush" => return Some(xargs::run_parallel(runner, invocation)),
        "env" | "genv" => return Some(prefix::env(runner, invocation)),
        "watch" | "entr" | "hyperfine" | "concurrently" | "nodemon" | "watchexec" | "su" | "runuser"
        | "script" | "at" | "batch" | "crontab" | "nix-shell" | "tmux" | "screen" | "flock"
        | "start-stop-daemon" | "fzf" | "ssh-agent" | "gdb" | "expect" | "make" | "gmake" | "vim" | "vi"
        | "nvim" | "ex" | "ed" | "busybox" | "toybox" => {
            if let Some(output) = options::run_text(runner, name, invocation) {
                return Some(output);
            }
        }
        "ssh" | "autossh" | "mosh" | "docker" | "podman" | "nerdctl" | "docker-compose"
        | "podman-compose" | "kubectl" | "oc" | "k" | "lxc" | "incus" | "crictl" | "ctr" | "vagrant"
        | "gcloud" | "heroku" | "fly" | "flyctl" | "aws" | "machinectl" | "distrobox" | "toolbox"
        | "multipass" | "wsl" | "adb" => {
            if let Some(output) = remote::run(runner, name, invocation) {
                return Some(output);
            }
        }
        "banksman" | "banksman-shell" => return banksman::run(runner, name, invocation),
        "cargo" => {
            banksman::from_source(runner, invocation);
            options::run_options(runner, name, invocation);
        }
        "npm" | "pnpm" | "yarn" | "bun" => recipes::package_scripts(runner, invocation),
        _ => options::run_options(runner, name, invocation),
    }
    prefix::run(runner, name, invocation)
}

/// How many of these are options with their values: where the operands start.
pub(super) fn options_end(arguments: &[Field], with_value: &[&str]) -> usize {
    let mut at = 0;
    while let Some(field) = arguments.get(at) {
        let text = field.text.as_str();
        if text == "--" {
            return at + 1;
        }
        if !text.starts_with('-') || text == "-" {
            return at;
        }
        at += 1 + usize::from(takes_next(text, with_value));
    }
    at.min(arguments.len())
}

/// Whether the value of an option is the next argument.
pub(super) fn takes_next(option: &str, with_value: &[&str]) -> bool {
    if option.starts_with("--") || with_value.contains(&option) {
        return with_value.contains(&option);
    }
    // A cluster: the value follows it if the last letter takes one, and is in it if an earlier one does.
    let letters = option.get(1..).unwrap_or_default();
    for (at, letter) in letters.char_indices() {
        let takes = with_value.iter().any(|known| known.len() == 2 && known.ends_with(letter));
        if takes {
            return at + letter.len_utf8() == letters.len();
        }
    }
    false
}

/// The value of an option, by any of its spellings: `-c x`, `-cx`, `--command x`, `--command=x`, `-lc x`.
pub(super) fn option_value(arguments: &[Field], names: &[&str]) -> Option<Field> {
    for (at, field) in arguments.iter().enumerate() {
        let text = field.text.as_str();
        if text == "--" {
            return None;
        }
        for name in names {
            if text == *name {
                return arguments.get(at + 1).cloned();
            }
            if name.starts_with("--") {
                if let Some(value) = text.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
                    return Some(field.with_text(value));
                }
            } else if name.len() == 2
                && let Some(value) = text.strip_prefix(name)
            {
                return Some(field.with_text(value.strip_prefix('=').unwrap_or(value)));
            }
        }
    }
    None
}

/// The value after a cluster of letters that holds one: `su -lc 'x'`.
pub(super) fn cluster_value(arguments: &[Field], letter: char) -> Option<Field> {
    let at = arguments.iter().position(|field| {
        field.text.len() > 2
            && field.text.starts_with('-')
            && !field.text.starts_with("--")
            && field.text.ends_with(letter)
    })?;
    arguments.get(at + 1).cloned()
}
