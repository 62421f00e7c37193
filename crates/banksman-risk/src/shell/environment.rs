//! Variables that make the programs that see them run others.

use super::run::{Invocation, Runner};
use super::syntax::{self, CommandKind};
use super::value::{Field, Text};
use super::{code, wrap};
use crate::origin::Origin;

/// Variables whose value is a command.
const COMMANDS: &[&str] = &[
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_PROXY_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "BROWSER",
    "PROMPT_COMMAND",
    "LESSOPEN",
    "LESSCLOSE",
    "FZF_DEFAULT_COMMAND",
    "BASH_ENV",
    "ENV",
    "RSYNC_RSH",
    "PYTHONSTARTUP",
];

/// Variables whose value is more options of one of these programs.
const OPTIONS: &[(&str, &[&str])] = &[
    ("TAR_OPTIONS", &["tar", "gtar"]),
    ("MAKEFLAGS", &["make", "gmake"]),
    ("GNUMAKEFLAGS", &["make", "gmake"]),
];

impl Runner<'_, '_> {
    /// What the variables that are set for a program run, and the options that they give it.
    pub(super) fn environment(&mut self, name: &str, invocation: &mut Invocation) {
        if invocation.env.is_empty() {
            return;
        }
        let env = invocation.env.clone();
        let origin = Origin::of_span(invocation.span);
        for (variable, value) in &env {
            if !value.text.is_empty() && value.is_known() {
                self.variable_runs(variable, value, origin);
            }
            let takes = |(known, programs): &(&str, &[&str])| known == variable && programs.contains(&name);
            if OPTIONS.iter().any(takes) {
                let options = self.words_in(&value.text, origin);
                invocation.fields.extend(options);
            }
            if matches!(name, "make" | "gmake") {
                wrap::make_variable(self, variable, &value.text, origin);
            }
        }
        if name == "git" {
            wrap::git_environment(self, &env, origin);
        }
    }

    fn variable_runs(&mut self, name: &str, value: &Text, origin: Origin) {
        if COMMANDS.contains(&name) {
            self.suspect_text(value.text.trim_start_matches('|'), origin);
        } else if name == "NODE_OPTIONS" {
            for option in value.text.split_whitespace() {
                code::module_in_url(self, option.split_once('=').map_or(option, |(_, value)| value), origin);
            }
        } else if name.starts_with("BASH_FUNC_") {
            // A function that a shell takes over.
            self.suspect_text(value.text.trim_start().trim_start_matches("()"), origin);
        } else if name == "PS4" {
            self.expand_again(&value.text);
        }
    }

    /// The words of a text, with quotes undone.
    pub(super) fn words_in(&mut self, text: &str, origin: Origin) -> Vec<Field> {
        let script = syntax::parse(text);
        let outer = std::mem::replace(&mut self.origin, origin);
        let fields =
            match script.items.first().and_then(|item| item.commands.first()).map(|command| &command.kind) {
                Some(CommandKind::Simple { words, .. }) => self.fields(words),
                _ => Vec::new(),
            };
        self.origin = outer;
        fields
    }
}
