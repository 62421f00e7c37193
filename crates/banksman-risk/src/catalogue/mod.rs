//! The rules: loaded from data, proved by their examples, indexed by what they are about.

mod load;
mod matching;
mod options;
mod pattern;
mod rule;

use std::collections::HashMap;

use crate::address::Target;
use crate::fact::Fact;
use crate::path::{Places, normalise};

pub use load::CatalogueError;
pub(crate) use options::{Arguments, FlagName, Value};
pub use pattern::TextPattern;
pub use rule::{
    CallPattern, Clause, CommandPattern, Example, Examples, Operands, OptionStyle, PathPattern, ProgramSpec,
    Rule, RuleSet, StatementPattern, ToolPattern, UrlPattern,
};

/// The place of a rule in its catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RuleIndex(u32);

/// A set of rules, ready to judge.
#[derive(Debug, Clone)]
pub struct Catalogue {
    programs: HashMap<String, ProgramSpec>,
    rules: Vec<Rule>,
    index: Index,
}

/// Which clauses are worth asking: those for this program, this function; the rest for every fact of their sort.
#[derive(Debug, Clone, Default)]
struct Index {
    programs: HashMap<Box<str>, Vec<Entry>>,
    any_program: Vec<Entry>,
    functions: HashMap<Box<str>, Vec<Entry>>,
    any_function: Vec<Entry>,
    statements: Vec<Entry>,
    paths: Vec<Entry>,
    urls: Vec<Entry>,
    tools: Vec<Entry>,
    signals: HashMap<Box<str>, Vec<Entry>>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    rule: RuleIndex,
    clause: u32,
}

static NO_SPEC: ProgramSpec = ProgramSpec {
    values: Vec::new(),
    subcommands: 0,
    style: OptionStyle::Gnu,
    operands: None,
    skip: 0,
    reads: Vec::new(),
    writes: Vec::new(),
    like: None,
};

impl Catalogue {
    /// The rules, in the order of the catalogue.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub(crate) fn rule(&self, index: RuleIndex) -> &Rule {
        #[expect(
            clippy::indexing_slicing,
            reason = "an index is only made by the catalogue that holds the rule"
        )]
        &self.rules[index.0 as usize]
    }

    /// How the arguments of a program are to be read.
    pub(crate) fn program(&self, name: &str) -> Option<&ProgramSpec> {
        let spec = self.programs.get(name)?;
        match &spec.like {
            Some(other) => self.programs.get(other.as_str()),
            None => Some(spec),
        }
    }

    /// The arguments of a program, taken apart by what is known of it.
    pub(crate) fn arguments<'w, 's>(
        &self,
        program: &str,
        args: &'w [crate::fact::Word<'s>],
    ) -> (&ProgramSpec, Arguments<'w, 's>) {
        let spec = self.program(program).unwrap_or(&NO_SPEC);
        let parsed = Arguments::parse(spec, args, |path| {
            let name = format!("{program} {}", path.join(" "));
            self.program(&name)
        });
        (spec, parsed)
    }

    /// Tells which rules a fact meets.
    pub(crate) fn judge(&self, fact: &Fact<'_>, hit: &mut dyn FnMut(RuleIndex)) {
        match fact {
            Fact::Command(command) => {
                let exact = self.index.programs.get(&*command.program.text).map_or(&[][..], Vec::as_slice);
                if exact.is_empty() && self.index.any_program.is_empty() {
                    return;
                }
                let (spec, arguments) = self.arguments(&command.program.text, &command.args);
                self.ask(exact.iter().chain(&self.index.any_program), hit, |clause| {
                    matches!(clause, Clause::Command(pattern) if pattern.knows(command, &arguments, spec))
                });
            }
            Fact::Call(call) => {
                let exact = self.index.functions.get(&*call.function).map_or(&[][..], Vec::as_slice);
                self.ask(
                    exact.iter().chain(&self.index.any_function),
                    hit,
                    |clause| matches!(clause, Clause::Call(pattern) if pattern.knows(call)),
                );
            }
            Fact::Statement(statement) => self.ask(
                self.index.statements.iter(),
                hit,
                |clause| matches!(clause, Clause::Statement(pattern) if pattern.knows(statement)),
            ),
            Fact::Path(path) => {
                let base = path.base.as_deref();
                let places = Places::of(&path.path.text, base);
                let normal = normalise(&path.path.text, base);
                self.ask(
                    self.index.paths.iter(),
                    hit,
                    |clause| matches!(clause, Clause::Path(pattern) if pattern.knows(path, &places, &normal)),
                );
            }
            Fact::Url(url, _) => {
                let target = Target::of(&url.url.text);
                self.ask(
                    self.index.urls.iter(),
                    hit,
                    |clause| matches!(clause, Clause::Url(pattern) if pattern.knows(url, &target)),
                );
            }
            Fact::Tool(tool) => self.ask(
                self.index.tools.iter(),
                hit,
                |clause| matches!(clause, Clause::Tool(pattern) if pattern.knows(tool)),
            ),
            Fact::Signal(name, _) => {
                let entries = self.index.signals.get(*name).map_or(&[][..], Vec::as_slice);
                self.ask(entries.iter(), hit, |_| true);
            }
        }
    }

    fn ask<'i>(
        &self,
        entries: impl Iterator<Item = &'i Entry>,
        hit: &mut dyn FnMut(RuleIndex),
        meets: impl Fn(&Clause) -> bool,
    ) {
        for entry in entries {
            if self.rule(entry.rule).when.get(entry.clause as usize).is_some_and(&meets) {
                hit(entry.rule);
            }
        }
    }
}

impl Index {
    fn of(rules: &[Rule]) -> Self {
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
                by_name(&pattern.program, entry, &mut self.programs, &mut self.any_program);
            }
            Clause::Call(pattern) => {
                by_name(&pattern.function, entry, &mut self.functions, &mut self.any_function);
            }
            Clause::Statement(_) => self.statements.push(entry),
            Clause::Path(_) => self.paths.push(entry),
            Clause::Url(_) => self.urls.push(entry),
            Clause::Tool(_) => self.tools.push(entry),
            Clause::Signal(name) => self.signals.entry(name.as_str().into()).or_default().push(entry),
        }
    }
}

/// A clause whose names are all exact is found by any of them; one with a wildcard has to be asked every time.
fn by_name(
    names: &[TextPattern],
    entry: Entry,
    exact: &mut HashMap<Box<str>, Vec<Entry>>,
    any: &mut Vec<Entry>,
) {
    let all_exact = names.iter().all(|name| matches!(name, TextPattern::Exact(_)));
    if !all_exact {
        any.push(entry);
        return;
    }
    for name in names {
        if let TextPattern::Exact(name) = name {
            exact.entry(name.clone()).or_default().push(entry);
        }
    }
}
