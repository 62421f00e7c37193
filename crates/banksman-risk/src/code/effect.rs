//! What a library function does, as data.

use std::collections::HashMap;

use super::value::Taint;
use crate::fact::{Access, Direction};

/// Which argument of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arg {
    /// By position, or by name if it is given so.
    At(usize, &'static str),
    /// What the method is called on.
    Receiver,
}

/// Something that happens when a function is called.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect {
    /// Something is done with a path.
    Path(Access, Arg),
    /// A shell runs this.
    Shell(Arg),
    /// A program runs: a list of arguments, or its name alone.
    Program(Arg),
    /// A program runs whose arguments are those of the call, from this one on.
    ProgramFrom(usize),
    /// A program, and a list of its arguments (JavaScript's `spawn`).
    ProgramWith(Arg, Arg),
    /// Code in the same language runs.
    Code(Arg),
    /// SQL runs.
    Sql(Arg),
    /// A URL or host is talked to, by this HTTP method if there is one.
    Url(Direction, Option<&'static str>, Arg),
    /// All arguments leave this machine.
    Sends,
    /// All arguments are shown to whoever sees the output.
    Prints,
    /// The arguments are written to what the method is called on.
    Writes,
    Signal(&'static str),
}

/// A library function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) names: &'static [&'static str],
    pub(crate) effects: &'static [Effect],
    /// Where its result comes from.
    pub(crate) gives: Taint,
}

/// Library functions by name.
pub(crate) type Table = HashMap<&'static str, &'static Entry>;

/// The functions of several lists by name.
pub(crate) fn table(lists: &[&'static [Entry]]) -> Table {
    let entries = lists.iter().copied().flatten();
    entries.flat_map(|entry| entry.names.iter().map(move |name| (*name, entry))).collect()
}

/// An entry of a table.
pub(crate) const fn entry(names: &'static [&'static str], effects: &'static [Effect]) -> Entry {
    Entry { names, effects, gives: Taint::NONE }
}

impl Entry {
    /// The same, with a result that comes from there.
    pub(crate) const fn gives(mut self, taint: Taint) -> Self {
        self.gives = taint;
        self
    }
}
