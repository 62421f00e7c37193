//! Finds the clauses that are worth asking about a fact: those for this program, this function; the rest only where
//! a name does not tell.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use super::programs::{ByName, canonical};
use super::rule::{Clause, Rule};
use super::{RuleIndex, TextPattern};

/// A clause of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) rule: RuleIndex,
    pub(super) clause: u32,
}

impl Entry {
    fn unpack(text: &str) -> Option<Self> {
        let (rule, clause) = text.split_once('.')?;
        Some(Self { rule: RuleIndex(rule.parse().ok()?), clause: clause.parse().ok()? })
    }
}

/// Clauses that are about the same.
#[derive(Debug, Clone)]
pub(super) enum Clauses {
    Listed(Vec<Entry>),
    /// As the build wrote them down: `12.0 13.1`.
    Packed(&'static str),
}

impl Clauses {
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        let (listed, packed) = match self {
            Self::Listed(entries) => (entries.as_slice(), ""),
            Self::Packed(text) => (&[][..], *text),
        };
        listed.iter().copied().chain(packed.split(' ').filter_map(Entry::unpack))
    }

    fn add(&mut self, more: &Self) {
        *self = Self::Listed(self.entries().chain(more.entries()).collect());
    }
}

/// Clauses by a name that is known whole.
type ByExactName = ByName<Clauses>;

fn add_exact(names: &mut ByExactName, name: Cow<'static, str>, clauses: Clauses) {
    match names.entry(name) {
        Slot::Occupied(mut known) => known.get_mut().add(&clauses),
        Slot::Vacant(free) => {
            free.insert(clauses);
        }
    }
}

/// Where to look, by the sort of fact.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    pub(super) programs: Names,
    pub(super) functions: Names,
    pub(super) statements: Names,
    pub(super) paths: Vec<Entry>,
    pub(super) urls: Vec<Entry>,
    pub(super) tools: Vec<Entry>,
    pub(super) signals: ByExactName,
}

/// Clauses by the name that they are about.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    exact: ByExactName,
    /// `mkfs.*`, by its first byte, so that `ls` does not have to ask.
    prefixed: HashMap<u8, Vec<(TextPattern, Entry)>>,
    /// `*.execute`, by its last part.
    suffixed: ByName<Vec<(TextPattern, Entry)>>,
    /// Names that have neither a beginning nor an end.
    rest: Vec<(TextPattern, Entry)>,
}

impl Names {
    fn add(&mut self, pattern: &TextPattern, entry: Entry) {
        let beginning = match pattern {
            TextPattern::Exact(name) => {
                return add_exact(&mut self.exact, name.to_string().into(), Clauses::Listed(vec![entry]));
            }
            TextPattern::Glob(glob) => glob.bytes().next().filter(|byte| *byte != b'*'),
            TextPattern::Regex(_) => None,
        };
        match beginning {
            Some(byte) => self.prefixed.entry(byte).or_default().push((pattern.clone(), entry)),
            None if let Some(end) = last_part(pattern) => {
                self.suffixed.entry(end.to_owned().into()).or_default().push((pattern.clone(), entry));
            }
            None => self.rest.push((pattern.clone(), entry)),
        }
    }

    /// Adds what the build wrote down. Most names are known whole, and nothing has to be made for them.
    fn add_packed(&mut self, name: Cow<'static, str>, clauses: Clauses) {
        match TextPattern::packed(&name) {
            Some(pattern) => clauses.entries().for_each(|entry| self.add(&pattern, entry)),
            None => add_exact(&mut self.exact, name, clauses),
        }
    }

    /// Whether a clause is about this very name.
    pub(super) fn names(&self, name: &str) -> bool {
        self.exact.contains_key(name)
    }

    /// The clauses that are about this name.
    pub(super) fn find(&self, name: &str) -> impl Iterator<Item = Entry> {
        let prefixed = name.bytes().next().and_then(|byte| self.prefixed.get(&byte));
        let exact = self.exact.get(name).into_iter().flat_map(Clauses::entries);
        let suffixed = name.rsplit_once('.').and_then(|(_, end)| self.suffixed.get(end));
        let patterns = prefixed.into_iter().chain(suffixed).flatten().chain(&self.rest);
        let matching = patterns.filter(move |(pattern, _)| pattern.knows(name)).map(|(_, entry)| *entry);
        exact.chain(matching)
    }
}

/// What a name has to end with after its last dot, if that is all known.
fn last_part(pattern: &TextPattern) -> Option<&str> {
    match pattern {
        TextPattern::Glob(glob) => glob.rsplit_once('.').map(|(_, end)| end).filter(|end| !end.contains('*')),
        TextPattern::Exact(_) | TextPattern::Regex(_) => None,
    }
}

impl Index {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (at, rule) in (0..).zip(rules) {
            for (clause_at, clause) in (0..).zip(&rule.when) {
                index.add(Entry { rule: RuleIndex(at), clause: clause_at }, clause);
            }
        }
        index
    }

    fn add(&mut self, entry: Entry, clause: &Clause) {
        match clause {
            Clause::Command(pattern) => {
                for name in &pattern.program {
                    self.programs.add(&known_as(name), entry);
                }
            }
            Clause::Call(pattern) => {
                for name in &pattern.function {
                    self.functions.add(name, entry);
                }
            }
            Clause::Statement(pattern) => {
                for verb in &pattern.verb {
                    self.statements.add(verb, entry);
                }
            }
            Clause::Path(_) => self.paths.push(entry),
            Clause::Url(_) => self.urls.push(entry),
            Clause::Tool(_) => self.tools.push(entry),
            Clause::Signal(name) => {
                add_exact(&mut self.signals, name.clone().into(), Clauses::Listed(vec![entry]));
            }
        }
    }

    /// The same of what the build wrote down: a line for each sort and name. Nothing, if that is not what it is.
    pub(super) fn packed(lines: &'static str) -> Option<Self> {
        let mut index = Self::default();
        index.programs.exact.reserve(lines.len() / BYTES_A_NAME);
        for line in lines.lines() {
            let (sort, rest) = line.split_once('\t')?;
            let (name, places) = rest.split_once('\t')?;
            let clauses = Clauses::Packed(places);
            match sort {
                "command" => index.programs.add_packed(canonical(name), clauses),
                "call" => index.functions.add_packed(name.into(), clauses),
                "statement" => index.statements.add_packed(name.into(), clauses),
                "path" => index.paths.extend(clauses.entries()),
                "url" => index.urls.extend(clauses.entries()),
                "tool" => index.tools.extend(clauses.entries()),
                "signal" => add_exact(&mut index.signals, name.into(), clauses),
                _ => return None,
            }
        }
        Some(index)
    }
}

/// How long a line is, more or less: how many there are is known before they are read.
const BYTES_A_NAME: usize = 24;

/// Programs are looked up by the name that they are known by, so rules have to name them so.
fn known_as(name: &TextPattern) -> TextPattern {
    match name {
        TextPattern::Exact(name) => TextPattern::Exact(canonical(name).into()),
        TextPattern::Glob(name) => TextPattern::Glob(canonical(name).into()),
        TextPattern::Regex(_) => name.clone(),
    }
}
