//! Finds the program that really runs, and states it.

use super::run::{Invocation, Runner};
use super::value::{Taint, Text};
use crate::fact::{Command, Fact};

/// The name of a program without its folder.
pub(super) fn name_of(text: &str) -> &str {
    text.rsplit(['/', '\\']).next().unwrap_or(text)
}

/// Whether a program is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "mksh" | "rbash" | "csh" | "tcsh"
    )
}

impl Runner<'_, '_> {
    /// Runs a program: its output, as far as it is known.
    pub(super) fn invoke(&mut self, invocation: Invocation) -> Text {
        self.state_command(&invocation);
        Text::unknown(Taint::OUTPUT | invocation.stdin.taint)
    }

    /// States that a program runs.
    pub(super) fn state_command(&mut self, invocation: &Invocation) {
        let Some((program, arguments)) = invocation.fields.split_first() else { return };
        let mut name = program.word();
        name.text = name_of(&program.text).to_owned().into();
        let command = Command {
            program: name,
            args: arguments.iter().map(super::value::Field::word).collect(),
            env: invocation
                .env
                .iter()
                .map(|(name, value)| {
                    let word = crate::fact::Word::known(value.text.as_str(), invocation.span);
                    (name.as_str().into(), word)
                })
                .collect(),
            span: invocation.span,
        };
        self.inspection.state(&Fact::Command(command), invocation.span);
    }
}
