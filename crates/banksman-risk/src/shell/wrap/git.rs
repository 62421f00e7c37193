//! git's settings and options that name programs.

use super::super::builtin::joined;
use super::super::run::Runner;
use super::super::value::{Field, Text};
use super::{option_value, options_end};
use crate::origin::Origin;

/// Options before the subcommand that take a value.
const GLOBAL: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--exec-path", "--namespace", "--config-env"];

/// Settings whose value is run.
const RUN: &[&str] = &[
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "sequence.editor",
    "diff.external",
    "interactive.difffilter",
    "gpg.program",
    "uploadpack.packobjectshook",
    "sendemail.sendmailcmd",
    "sendemail.tocmd",
    "sendemail.cccmd",
];

/// The ends of settings with a name of one's choice in them: `merge.x.driver`.
const RUN_ENDINGS: &[&str] =
    &[".textconv", ".cmd", ".command", ".clean", ".smudge", ".process", ".driver", ".helper", ".program"];

/// What git's own options and those of its subcommands run.
pub(super) fn run(runner: &mut Runner<'_, '_>, arguments: &[Field]) {
    let start = options_end(arguments, GLOBAL);
    let (global, rest) = arguments.split_at(start.min(arguments.len()));
    for (at, field) in global.iter().enumerate() {
        let given = match field.text.strip_prefix("-c") {
            Some("") => global.get(at + 1).cloned(),
            Some(attached) => Some(field.with_text(attached)),
            None => None,
        };
        if let Some(given) = given
            && let Some((key, value)) = given.text.split_once('=')
        {
            setting(runner, key, value, given.origin);
        }
    }
    let Some((subcommand, rest)) = rest.split_first() else { return };
    let values: &[&str] = match subcommand.text.as_str() {
        "rebase" => &["--exec", "-x"],
        "difftool" => &["--extcmd", "-x"],
        "filter-branch" => {
            &["--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--commit-filter"]
        }
        "send-email" => &["--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd"],
        "grep" => &["--open-files-in-pager"],
        _ => &[],
    };
    for name in values {
        if let Some(code) = option_value(rest, &[name]) {
            runner.suspect_text(&code.text, code.origin);
        }
    }
    match subcommand.text.as_str() {
        "grep" => {
            // Its value is attached or not there at all.
            for field in rest {
                if let Some(code) = field.text.strip_prefix("-O").filter(|code| !code.is_empty()) {
                    runner.suspect_text(code, field.origin);
                }
            }
        }
        "submodule" | "bisect"
            if rest.first().is_some_and(|word| matches!(word.text.as_str(), "foreach" | "run")) =>
        {
            let words = rest.get(1..).unwrap_or_default();
            if let Some((code, origin)) = joined(words.get(options_end(words, &[])..).unwrap_or_default()) {
                runner.suspect_text(&code.text, origin);
            }
        }
        "config" => {
            let operands: Vec<&Field> =
                rest.iter().filter(|field| !field.text.starts_with('-') && field.text != "set").collect();
            if let [key, value] = operands.as_slice() {
                setting(runner, &key.text, &value.text, value.origin);
            }
        }
        "clone" => {
            if let Some(given) = option_value(rest, &["-c", "--config"])
                && let Some((key, value)) = given.text.split_once('=')
            {
                setting(runner, key, value, given.origin);
            }
        }
        _ => {}
    }
}

/// Settings that come from the environment.
pub(in crate::shell) fn git_environment(runner: &mut Runner<'_, '_>, env: &[(String, Text)], origin: Origin) {
    for (name, value) in env {
        if let Some(number) = name.strip_prefix("GIT_CONFIG_KEY_") {
            let named = |(name, _): &&(String, Text)| name.strip_prefix("GIT_CONFIG_VALUE_") == Some(number);
            if let Some((_, code)) = env.iter().find(named) {
                setting(runner, &value.text, &code.text, origin);
            }
        } else if name == "GIT_CONFIG_PARAMETERS" {
            for given in runner.words_in(&value.text, origin) {
                if let Some((key, code)) = given.text.split_once('=') {
                    setting(runner, key, code, origin);
                }
            }
        } else if matches!(name.as_str(), "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" | "GIT_CONFIG") {
            file(runner, &value.text, origin);
        }
    }
}

/// One setting: what it runs, if it runs anything.
fn setting(runner: &mut Runner<'_, '_>, key: &str, value: &str, origin: Origin) {
    let key = key.to_ascii_lowercase();
    let is_alias = key.starts_with("alias.");
    if key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path")) {
        return file(runner, value, origin);
    }
    let runs = is_alias
        || RUN.contains(&key.as_str())
        || RUN_ENDINGS.iter().any(|ending| key.ends_with(ending))
        || key.starts_with("pager.");
    if !runs {
        return;
    }
    match value.trim_start().strip_prefix('!') {
        Some(code) => runner.suspect_text(code, origin),
        // An alias that is a git command.
        None if is_alias => runner.suspect_text(&format!("git {value}"), origin),
        None => runner.suspect_text(value, origin),
    }
}

/// A file of settings that was written before.
fn file(runner: &mut Runner<'_, '_>, path: &str, origin: Origin) {
    const LINES: usize = 256;
    let Some(content) = runner.scope.file(path).cloned() else { return };
    let mut section = String::new();
    for line in content.text.lines().take(LINES) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').replace(" \"", ".").replace('"', "");
        } else if let Some((key, value)) = line.split_once('=')
            // One that includes itself would never end.
            && !section.starts_with("include")
        {
            setting(runner, &format!("{section}.{}", key.trim()), value.trim().trim_matches('"'), origin);
        }
    }
}
