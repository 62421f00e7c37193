//! The rules: loaded from data, proved by their examples, indexed by what they are about.

mod index;
mod load;
mod matching;
mod on_demand;
mod options;
mod pattern;
mod programs;
mod rule;

#[cfg(test)]
mod tests;

use crate::address::Target;
use crate::fact::Fact;
use crate::inspection::steps;
use crate::path::{Places, normalise};
use index::{Clauses, Entry, Index};
use on_demand::OnDemand;
use programs::{Programs, canonical};

pub use load::{CatalogueError, Disproof};
pub(crate) use options::{Arguments, FlagName};
pub use pattern::{Expression, TextPattern};
pub use rule::{
    CallPattern, Clause, CommandPattern, Example, Examples, Operands, OptionStyle, PathPattern, ProgramSpec,
    Rule, RuleSet, StatementPattern, ToolPattern, UrlPattern,
};

/// Steps that it takes to find that nothing is known of a name.
const UNKNOWN_NAME: u32 = 4;
/// Bytes of a path or name that a clause looks at as if they were a word.
const BYTES_LOOKED_AT: usize = 64;

/// The place of a rule in its catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RuleIndex(u32);

/// A set of rules, ready to judge.
#[derive(Debug, Clone)]
pub struct Catalogue {
    programs: Programs,
    rules: Vec<OnDemand<Rule>>,
    index: Index,
}

impl Catalogue {
    /// The rules, in the order of the catalogue; built-in ones without their examples.
    #[must_use]
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(OnDemand::get)
    }

    pub(crate) fn rule(&self, index: RuleIndex) -> &Rule {
        #[expect(
            clippy::indexing_slicing,
            reason = "an index is only made by the catalogue that holds the rule"
        )]
        self.rules[index.0 as usize].get()
    }

    /// How the arguments of a program, or of a subcommand (`git commit`), are to be read.
    pub(crate) fn program(&self, name: &str) -> Option<&ProgramSpec> {
        self.programs.get(name)
    }

    /// The arguments of a program, taken apart by what is known of it, and what is known of its subcommand.
    pub(crate) fn arguments<'w, 's>(
        &self,
        program: &str,
        args: &'w [crate::fact::Word<'s>],
    ) -> (&ProgramSpec, Arguments<'w, 's>) {
        let (spec, subcommand) = self.programs.find(program);
        Arguments::parse(spec, args, subcommand)
    }

    /// Whether a rule names this verb of a statement, as a whole.
    pub(crate) fn names_statement(&self, verb: &str) -> bool {
        self.index.statements.names(verb)
    }

    /// Tells which rules a fact meets. The steps of work that it took: a question to a clause is one, more if it goes
    /// through many words.
    pub(crate) fn judge(&self, fact: &Fact<'_>, hit: &mut dyn FnMut(RuleIndex)) -> u32 {
        let (asked, each) = match fact {
            Fact::Command(command) => {
                let program = canonical(&command.program.text);
                let mut entries = self.index.programs.find(&program).peekable();
                if entries.peek().is_none() {
                    return UNKNOWN_NAME;
                }
                let (spec, arguments) = self.arguments(&program, &command.args);
                if arguments.help {
                    return UNKNOWN_NAME + steps(command.args.len());
                }
                let asked = self.ask(entries, hit, |clause| {
                    matches!(clause, Clause::Command(pattern) if pattern.knows(command, &arguments, spec))
                });
                (asked, command.args.len())
            }
            Fact::Call(call) => {
                let asked = self.ask(
                    self.index.functions.find(&call.function),
                    hit,
                    |clause| matches!(clause, Clause::Call(pattern) if pattern.knows(call)),
                );
                (asked, call.args.len() + call.keywords.len())
            }
            Fact::Statement(statement) => {
                let asked = self.ask(
                    self.index.statements.find(&statement.verb),
                    hit,
                    |clause| matches!(clause, Clause::Statement(pattern) if pattern.knows(statement)),
                );
                (asked, statement.traits.len() + statement.objects.len())
            }
            Fact::Path(path) => {
                let base = path.base.as_deref();
                let places = Places::of(&path.path.text, base);
                let normal = normalise(&path.path.text, base);
                let asked = self.ask(
                    self.index.paths.iter().copied(),
                    hit,
                    |clause| matches!(clause, Clause::Path(pattern) if pattern.knows(path, &places, &normal)),
                );
                (asked, path.path.text.len() / BYTES_LOOKED_AT)
            }
            Fact::Url(url, _) => {
                let target = Target::of(&url.url.text);
                let asked = self.ask(
                    self.index.urls.iter().copied(),
                    hit,
                    |clause| matches!(clause, Clause::Url(pattern) if pattern.knows(url, &target)),
                );
                (asked, url.url.text.len() / BYTES_LOOKED_AT)
            }
            Fact::Tool(tool) => {
                let asked = self.ask(
                    self.index.tools.iter().copied(),
                    hit,
                    |clause| matches!(clause, Clause::Tool(pattern) if pattern.knows(tool)),
                );
                (asked, tool.name.len() / BYTES_LOOKED_AT)
            }
            Fact::Signal(name, _) => {
                let entries = self.index.signals.get(*name).into_iter().flat_map(Clauses::entries);
                (self.ask(entries, hit, |_| true), 0)
            }
        };
        UNKNOWN_NAME.saturating_add(asked.saturating_mul(1 + steps(each / 2)))
    }

    /// How many clauses were asked.
    fn ask(
        &self,
        entries: impl Iterator<Item = Entry>,
        hit: &mut dyn FnMut(RuleIndex),
        meets: impl Fn(&Clause) -> bool,
    ) -> u32 {
        let mut asked = 0;
        for entry in entries {
            asked += 1;
            // A clause that is not there is one that could not be read.
            if self.rule(entry.rule).when.get(entry.clause as usize).is_none_or(&meets) {
                hit(entry.rule);
            }
        }
        asked
    }
}
