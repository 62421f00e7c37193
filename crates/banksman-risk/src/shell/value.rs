//! What is known of a text before it runs: its letters, and where they came from.

use std::ops::{BitOr, BitOrAssign};

use banksman_core::Span;

use crate::fact;
use crate::origin::Origin;

/// Stands for letters that are not known.
pub(super) const HOLE: char = fact::Word::HOLE;

/// Texts longer than this are not carried along: they count as not known.
pub(super) const CARRIED: usize = 64 * 1024;

/// Bytes that are carried along for one step of work.
pub(super) const CARRIED_PER_STEP: usize = 128;

/// Bytes that are expanded, split and looked through in one step.
pub(super) const EXPANDED_PER_STEP: usize = 8;

/// Where a text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Taint(u16);

impl Taint {
    pub(super) const NONE: Self = Self(0);
    /// From the network.
    pub(super) const DOWNLOAD: Self = Self(1);
    /// Decoded or decrypted.
    pub(super) const DECODED: Self = Self(2);
    /// From a file that holds secrets.
    pub(super) const SECRET: Self = Self(4);
    /// From some other file.
    pub(super) const FILE: Self = Self(8);
    /// From the environment as a whole.
    pub(super) const ENVIRONMENT: Self = Self(16);
    /// The output of a program.
    pub(super) const OUTPUT: Self = Self(32);
    /// What a shell prints that takes its commands from its input.
    pub(super) const SHELL: Self = Self(64);
    /// From what a wrapper such as `xargs` reads: anyone's text.
    pub(super) const INPUT: Self = Self(128);
    /// An argument of a function.
    pub(super) const PARAMETER: Self = Self(256);
    /// From a file outside of the project: the system's, or in a home.
    pub(super) const FOREIGN: Self = Self(512);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Taint {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Taint {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// A text with where it came from: a variable, what goes through a pipe, what is in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) taint: Taint,
}

impl Text {
    pub(super) fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), taint: Taint::NONE }
    }

    pub(super) fn unknown(taint: Taint) -> Self {
        Self { text: HOLE.to_string(), taint }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.taint == Taint::NONE
    }

    pub(super) fn is_known(&self) -> bool {
        !self.text.contains(HOLE)
    }

    /// Adds what comes after it.
    pub(super) fn append(&mut self, other: &Self) {
        self.taint |= other.taint;
        if self.text.len() + other.text.len() > CARRIED {
            self.text = HOLE.to_string();
        } else {
            self.text.push_str(&other.text);
        }
    }
}

/// One argument after expansion.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) text: String,
    pub(super) taint: Taint,
    pub(super) glob: bool,
    pub(super) origin: Origin,
}

impl Field {
    pub(super) fn span(&self) -> Span {
        self.origin.span(0..self.text.len())
    }

    pub(super) fn is_known(&self) -> bool {
        !self.text.contains(HOLE)
    }

    pub(super) fn word(&self) -> fact::Word<'_> {
        fact::Word { text: (&*self.text).into(), span: self.span(), glob: self.glob }
    }

    /// The same argument with another text: a part of it, or what it leads to.
    pub(super) fn with_text(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), taint: self.taint, glob: self.glob, origin: Origin::of_span(self.span()) }
    }

    pub(super) fn as_text(&self) -> Text {
        Text { text: self.text.clone(), taint: self.taint }
    }
}
