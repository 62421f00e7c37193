//! The shell's grammar: text in, a tree of commands out.
//!
//! A parser of our own, because a gate needs to know exactly where it is unsure. It accepts what bash accepts, never
//! fails, and goes on after what it does not understand: an unclosed quote ends with the text, a stray keyword is
//! skipped. [`Script::broken`] then says so, and nothing after the trouble is lost.

mod compound;
mod heredoc;
mod parser;
mod quoting;
#[cfg(test)]
mod tests;
mod word;

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

pub(super) use parser::{is_name, parse};
pub(super) use quoting::ansi_c;

/// Commands in order.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) items: Vec<Item>,
    /// Where the text first stopped being shell.
    pub(super) broken: Option<usize>,
    /// Whether it is nested deeper than what is read.
    pub(super) too_deep: bool,
}

/// A pipeline, and how it hangs together with the one before.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) link: Link,
    pub(super) commands: Vec<Command>,
    pub(super) background: bool,
}

/// Whether a pipeline runs depends on the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// It runs anyway.
    Always,
    /// It runs if the one before succeeded (`&&`).
    And,
    /// It runs if the one before failed (`||`).
    Or,
}

/// A command with its redirections.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) kind: CommandKind,
    pub(super) redirections: Vec<Redirection>,
    pub(super) range: Range<usize>,
}

#[derive(Debug)]
pub(super) enum CommandKind {
    /// `X=1 program argument`.
    Simple { assignments: Vec<Assignment>, words: Vec<Word> },
    /// `{ ...; }`.
    Group(Script),
    /// `( ... )`.
    Subshell(Script),
    /// Each condition with what follows from it, and what happens otherwise.
    If { branches: Vec<(Script, Script)>, otherwise: Option<Script> },
    /// `while` and `until`.
    Loop { condition: Script, body: Script },
    /// `for x in ...`, `select`; without `in` the values are the positional parameters.
    For { name: String, values: Option<Vec<Word>>, body: Script },
    /// `for ((...))`.
    Count { header: Word, body: Script },
    /// `case`.
    Case { subject: Word, arms: Vec<(Vec<Word>, Script)> },
    /// `f() ...`.
    Function { name: String, body: Rc<Command> },
    /// `[[ ... ]]` and `(( ... ))`: only what is expanded in them matters.
    Test(Vec<Word>),
}

/// `NAME=value`, `NAME+=value`, `NAME=(...)`, `NAME[i]=value`.
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) append: bool,
    pub(super) indexed: bool,
    pub(super) value: Word,
}

/// A word, made of parts.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) parts: Vec<Part>,
    pub(super) range: Range<usize>,
}

impl Word {
    /// The text of a word that is one unquoted stretch: only such a word can be a keyword.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Part {
    /// Unquoted text: globs, braces and a tilde mean something here.
    Literal(String),
    /// Quoted text, with the quoting undone. The number is where it stands verbatim, if it does.
    Quoted(String, Option<usize>),
    /// `"..."`.
    Double(Vec<Part>),
    /// `$x`, `${x...}`.
    Parameter(Box<Parameter>),
    /// `$(...)`, `` `...` ``.
    Substitution(Script),
    /// `<(...)`, `>(...)`.
    Process(Script),
    /// `$((...))`: a number, but what is expanded in it runs.
    Arithmetic(Vec<Part>),
    /// `(a b c)` after `name=`.
    Array(Vec<Word>),
}

/// `${name op argument}`.
#[derive(Debug, Default)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// `${!name}`.
    pub(super) indirect: bool,
    /// `${#name}`.
    pub(super) length: bool,
    /// What stands in `[...]`.
    pub(super) index: Option<Vec<Part>>,
    /// `:-`, `#`, `//`, `^^` and so on; empty if there is none.
    pub(super) operator: String,
    pub(super) argument: Vec<Part>,
}

/// `2> file`.
#[derive(Debug)]
pub(super) struct Redirection {
    pub(super) descriptor: Option<u32>,
    pub(super) kind: RedirectionKind,
    pub(super) range: Range<usize>,
}

#[derive(Debug)]
pub(super) enum RedirectionKind {
    /// `< file`.
    Input(Word),
    /// `> file`, `>| file`, `&> file`.
    Truncate(Word),
    /// `>> file`, `&>> file`.
    Append(Word),
    /// `<> file`.
    ReadWrite(Word),
    /// `2>&1`, `<&3`, `>&-`.
    Duplicate(Word),
    /// `<<END`; filled when its body is reached.
    Document(Rc<OnceCell<Word>>),
    /// `<<< word`.
    Text(Word),
}
