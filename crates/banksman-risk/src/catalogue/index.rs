//! Finds the clauses that are worth asking about a fact: those for this program, this function; the rest only where
//! a name does not tell.

use std::collections::HashMap;

use super::programs::{ByName, canonical};
use super::rule::{Clause, Rule};
use super::{RuleIndex, TextPattern};

/// A clause of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) rule: RuleIndex,
    pub(super) clause: u32,
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
    pub(super) signals: ByName<Vec<Entry>>,
}

/// Clauses by the name that they are about.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    exact: ByName<Vec<Entry>>,
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
                self.exact.entry(name.clone()).or_default().push(entry);
                return;
            }
            TextPattern::Glob(glob) => glob.bytes().next().filter(|byte| *byte != b'*'),
            TextPattern::Regex(_) => None,
        };
        match beginning {
            Some(byte) => self.prefixed.entry(byte).or_default().push((pattern.clone(), entry)),
            None if let Some(end) = last_part(pattern) => {
                self.suffixed.entry(end.into()).or_default().push((pattern.clone(), entry));
            }
            None => self.rest.push((pattern.clone(), entry)),
        }
    }

    /// The clauses that are about this name.
    pub(super) fn find(&self, name: &str) -> impl Iterator<Item = &Entry> {
        let prefixed = name.bytes().next().and_then(|byte| self.prefixed.get(&byte));
        let exact = self.exact.get(name).map_or(&[][..], Vec::as_slice);
        let suffixed = name.rsplit_once('.').and_then(|(_, end)| self.suffixed.get(end));
        let patterns = prefixed.into_iter().chain(suffixed).flatten().chain(&self.rest);
        let matching = patterns.filter(move |(pattern, _)| pattern.knows(name)).map(|(_, entry)| entry);
        exact.iter().chain(matching)
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
            Clause::Signal(name) => self.signals.entry(name.as_str().into()).or_default().push(entry),
        }
    }
}

/// Programs are looked up by the name that they are known by, so rules have to name them so.
fn known_as(name: &TextPattern) -> TextPattern {
    match name {
        TextPattern::Exact(name) => TextPattern::Exact(canonical(name).into()),
        TextPattern::Glob(name) => TextPattern::Glob(canonical(name).into()),
        TextPattern::Regex(_) => name.clone(),
    }
}
