//! Loads rules and proves them: a rule whose examples do not hold is not a rule.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use banksman_core::Kind;

use super::on_demand::OnDemand;
use super::programs::{Misdescribed, Programs};
use super::rule::{Example, Examples, Rule, RuleSet};
use super::{Catalogue, Clause, Index, TextPattern};
use crate::fact::SIGNALS;
use crate::{Assessor, Limits};

/// The built-in rules as the build has packed them, with no examples: one a line.
const RULES: &str = include_str!(concat!(env!("OUT_DIR"), "/rules.txt"));

/// Which of their clauses are about what.
const NAMES: &str = include_str!(concat!(env!("OUT_DIR"), "/names.txt"));

/// What is known of programs.
const PROGRAMS: &str = include_str!(concat!(env!("OUT_DIR"), "/programs.txt"));

/// Their examples, by id.
const EXAMPLES: &str = include_str!(concat!(env!("OUT_DIR"), "/examples.json"));

/// Rules that may not be switched off: they notice what could not be read.
const ESSENTIAL: &[&str] = &["unread."];

/// A rule set that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// Not the YAML that rules are made of; the message says where.
    #[error("{file}: {problem}")]
    Syntax {
        /// Which file.
        file: String,
        /// What is wrong, and where.
        problem: String,
    },
    /// A rule that says something that no rule may say.
    #[error("rule {rule}: {problem}")]
    Meaning {
        /// Which rule.
        rule: String,
        /// What is wrong.
        problem: String,
    },
    /// Rules that their own examples disprove: all of them, so that they can be mended in one go.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Disproved(Vec<Disproof>),
}

/// A rule that its own example disproves.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {rule}: {problem}: {example:?}")]
pub struct Disproof {
    /// Which rule.
    pub rule: String,
    /// What the example should have done.
    pub problem: &'static str,
    /// The example.
    pub example: String,
}

impl RuleSet {
    /// Whether it changes nothing.
    fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.programs.is_empty() && self.disable.is_empty()
    }

    /// The built-in rules.
    ///
    /// # Errors
    /// Never in a build that passed its tests.
    pub fn builtin() -> Result<Self, CatalogueError> {
        let mut set = Self::builtin_to_judge_by()?;
        add_examples(&mut set.rules)?;
        Ok(set)
    }

    /// The same without their examples, which are not needed to judge and take a third of the time to read.
    fn builtin_to_judge_by() -> Result<Self, CatalogueError> {
        let rules: Result<Vec<Rule>, _> = RULES.lines().map(serde_json::from_str).collect();
        let program = |line: &str| {
            let mut columns = line.split('\t');
            let name = columns.next().unwrap_or_default();
            Ok((name.to_owned(), serde_json::from_str(columns.next().unwrap_or_default())?))
        };
        let programs: Result<_, serde_json::Error> = PROGRAMS.lines().map(program).collect();
        let misbuilt = |error: serde_json::Error| misbuilt(&error.to_string());
        Ok(Self {
            rules: rules.map_err(misbuilt)?,
            programs: programs.map_err(misbuilt)?,
            disable: Vec::new(),
        })
    }

    /// Reads rules.
    ///
    /// # Errors
    /// If the text is not valid.
    pub fn parse(file: &str, text: &str) -> Result<Self, CatalogueError> {
        serde_saphyr::from_str(text)
            .map_err(|error| CatalogueError::Syntax { file: file.to_owned(), problem: error.to_string() })
    }
}

/// Gives built-in rules their examples back. A rule that replaces one has its own.
fn add_examples(rules: &mut [Rule]) -> Result<(), CatalogueError> {
    let mut known: HashMap<String, Examples> =
        serde_json::from_str(EXAMPLES).map_err(|error| misbuilt(&error.to_string()))?;
    for rule in rules.iter_mut().filter(|rule| rule.examples.matches.is_empty()) {
        if let Some(examples) = known.remove(&rule.id) {
            rule.examples = examples;
        }
    }
    Ok(())
}

fn misbuilt(problem: &str) -> CatalogueError {
    CatalogueError::Syntax { file: "the built-in rules".to_owned(), problem: problem.to_owned() }
}

impl Catalogue {
    /// The rules with all their examples, for people to read.
    ///
    /// # Errors
    /// Never in a build that passed its tests.
    pub fn rules_with_examples(&self) -> Result<Vec<Rule>, CatalogueError> {
        let mut rules: Vec<Rule> = self.rules().cloned().collect();
        add_examples(&mut rules)?;
        Ok(rules)
    }

    /// The built-in rules. They are checked and proved by tests and not here: nothing about them can change between
    /// a build and its use.
    ///
    /// # Errors
    /// Never in a build that passed its tests.
    pub fn builtin() -> Result<Arc<Self>, CatalogueError> {
        static BUILT: OnceLock<Arc<Catalogue>> = OnceLock::new();
        if let Some(known) = BUILT.get() {
            return Ok(Arc::clone(known));
        }
        let catalogue =
            Arc::new(Self::packed().ok_or_else(|| misbuilt("they are not packed as they should be"))?);
        Ok(Arc::clone(BUILT.get_or_init(|| catalogue)))
    }

    /// The built-in rules with others added, replaced and disabled. Those that were added are proved by their
    /// examples; all are, if programs are described anew, since that changes what the others see.
    ///
    /// # Errors
    /// If a rule is not valid, or an example does not hold.
    pub fn with_rules(own: RuleSet) -> Result<Arc<Self>, CatalogueError> {
        if own.is_empty() {
            return Self::builtin();
        }
        let unproven: Option<HashSet<String>> =
            own.programs.is_empty().then(|| own.rules.iter().map(|rule| rule.id.clone()).collect());
        own.rules.iter().try_for_each(check)?;
        let builtin = if unproven.is_some() { RuleSet::builtin_to_judge_by()? } else { RuleSet::builtin()? };
        let catalogue = Arc::new(Self::compile(merge(builtin, own)?)?);
        catalogue.rules().try_for_each(|rule| check_subcommands(rule, &catalogue.programs))?;
        prove(&catalogue, |rule| unproven.as_ref().is_none_or(|own| own.contains(&rule.id)))?;
        Ok(catalogue)
    }

    /// What the build packed, of which hardly anything is read yet.
    fn packed() -> Option<Self> {
        Some(Self {
            programs: Programs::packed(PROGRAMS)?,
            rules: RULES.lines().map(OnDemand::packed).collect(),
            index: Index::packed(NAMES)?,
        })
    }

    fn compile(set: RuleSet) -> Result<Self, CatalogueError> {
        let programs =
            Programs::of(set.programs).map_err(|Misdescribed(name, problem)| meaning(&name, &problem))?;
        let index = Index::of(&set.rules);
        Ok(Self { index, programs, rules: set.rules.into_iter().map(OnDemand::from).collect() })
    }
}

fn merge(mut all: RuleSet, own: RuleSet) -> Result<RuleSet, CatalogueError> {
    for id in &own.disable {
        if ESSENTIAL.iter().any(|prefix| id.starts_with(prefix)) {
            return Err(meaning(id, "cannot be disabled: it notices what could not be read"));
        }
        let before = all.rules.len();
        all.rules.retain(|rule| rule.id != *id);
        if all.rules.len() == before {
            return Err(meaning(id, "cannot be disabled: there is no such rule"));
        }
    }
    let mut named = HashSet::new();
    for rule in own.rules {
        if !named.insert(rule.id.clone()) {
            return Err(meaning(&rule.id, "there are two rules of this id"));
        }
        match all.rules.iter_mut().find(|known| known.id == rule.id) {
            Some(_) if !rule.replace => {
                return Err(meaning(&rule.id, "is a built-in rule; say `replace: true` to replace it"));
            }
            Some(known) => *known = rule,
            None if rule.replace => {
                return Err(meaning(&rule.id, "says `replace: true`, but there is no such rule"));
            }
            None => all.rules.push(rule),
        }
    }
    all.programs.extend(own.programs);
    Ok(all)
}

fn check(rule: &Rule) -> Result<(), CatalogueError> {
    let words = rule.id.split('.').all(|word| {
        !word.is_empty()
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
    });
    if !words || !rule.id.contains('.') {
        return Err(meaning(&rule.id, "an id is lower-case words joined by dots"));
    }
    if rule.reason.trim().is_empty() {
        return Err(meaning(&rule.id, "a rule needs a reason"));
    }
    if rule.when.is_empty() {
        return Err(meaning(&rule.id, "a rule needs something to notice"));
    }
    if rule.examples.matches.is_empty() || rule.examples.differs.is_empty() {
        return Err(meaning(&rule.id, "a rule needs an example that matches and one that differs"));
    }
    for clause in &rule.when {
        if let Clause::Signal(name) = clause
            && !SIGNALS.iter().any(|(known, _)| known == name)
        {
            return Err(meaning(&rule.id, &format!("there is no signal {name:?}")));
        }
    }
    Ok(())
}

/// A subcommand is only one if the program is known to have some; otherwise it is a word like any other.
fn check_subcommands(rule: &Rule, programs: &Programs) -> Result<(), CatalogueError> {
    for clause in &rule.when {
        let Clause::Command(pattern) = clause else { continue };
        if pattern.subcommand.is_empty() {
            continue;
        }
        for name in &pattern.program {
            if let TextPattern::Exact(name) = name
                && programs.get(name).is_none_or(|spec| spec.subcommands == 0)
            {
                let problem = format!(
                    "asks for a subcommand of {name}, but nothing says that {name} has any; \
                     add `programs: {{{name}: {{subcommands: 1}}}}`"
                );
                return Err(meaning(&rule.id, &problem));
            }
        }
    }
    Ok(())
}

/// Runs the examples of the rules that are in question. An example speaks of its own rule only; others may notice it
/// as well.
fn prove(catalogue: &Arc<Catalogue>, in_question: impl Fn(&Rule) -> bool) -> Result<(), CatalogueError> {
    // Examples are small. One that is about too much work does not have to do all of it.
    let limits = Limits { work: Limits::default().work / 10, ..Limits::default() };
    let assessor = Assessor::new(Arc::clone(catalogue)).with_limits(limits);
    let mut disproofs = Vec::new();
    for rule in catalogue.rules().filter(|rule| in_question(rule)) {
        for (examples, wanted, problem) in [
            (&rule.examples.matches, true, "should have matched"),
            (&rule.examples.differs, false, "should not have matched"),
        ] {
            for example in examples {
                let (kind, text) = example.parts(rule.examples.kind);
                let findings = assessor.assess_text(kind, text).findings;
                if findings.iter().any(|finding| finding.rule == rule.id) != wanted {
                    disproofs.push(Disproof { rule: rule.id.clone(), problem, example: text.to_owned() });
                }
            }
        }
    }
    if disproofs.is_empty() { Ok(()) } else { Err(CatalogueError::Disproved(disproofs)) }
}

impl Example {
    /// Its kind and text.
    #[must_use]
    pub fn parts(&self, usual: Kind) -> (Kind, &str) {
        match self {
            Self::Text(text) => (usual, text),
            Self::OfKind { kind, text } => (*kind, text),
        }
    }
}

fn meaning(rule: &str, problem: &str) -> CatalogueError {
    CatalogueError::Meaning { rule: rule.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::RuleIndex;
    use crate::catalogue::index::{Clauses, Entry};

    #[test]
    fn every_built_in_rule_is_sound_and_proved_by_its_examples() {
        let set = RuleSet::builtin().unwrap();
        let mut seen = HashSet::new();
        for rule in &set.rules {
            check(rule).unwrap_or_else(|error| panic!("{error}"));
            assert!(seen.insert(rule.id.clone()), "{} is there twice", rule.id);
        }
        let catalogue = Arc::new(Catalogue::compile(set).unwrap());
        for rule in catalogue.rules() {
            check_subcommands(rule, &catalogue.programs).unwrap_or_else(|error| panic!("{error}"));
        }
        prove(&catalogue, |_| true).unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn what_the_build_packed_is_what_the_rules_say() {
        let set = RuleSet::builtin_to_judge_by().unwrap();
        let (packed, compiled) = (Catalogue::packed().unwrap(), Catalogue::compile(set.clone()).unwrap());
        let ids = |catalogue: &Catalogue| -> Vec<String> {
            catalogue.rules().map(|rule| format!("{} {}", rule.id, rule.when.len())).collect()
        };
        assert_eq!(ids(&packed), ids(&compiled));
        for name in set.programs.keys() {
            assert_eq!(packed.programs.get(name), compiled.programs.get(name), "{name}");
        }
        assert_eq!(packed.programs.count(), compiled.programs.count());
        let mut clauses = 0;
        for name in NAMES.lines().filter_map(|line| line.split('\t').nth(1)) {
            let found = |catalogue: &Catalogue| {
                let Index { programs, functions, statements, paths, urls, tools, signals } = &catalogue.index;
                let named = [programs, functions, statements].map(|names| sorted(names.find(name)));
                let signals = signals.get(name).into_iter().flat_map(Clauses::entries);
                let unnamed = [paths, urls, tools].map(|entries| sorted(entries.iter().copied()));
                (named, sorted(signals), unnamed)
            };
            assert_eq!(found(&packed), found(&compiled), "{name}");
            clauses += found(&packed).0.iter().map(Vec::len).sum::<usize>();
        }
        assert!(clauses > 1000, "only {clauses} clauses were found by their names");
    }

    fn sorted(entries: impl Iterator<Item = Entry>) -> Vec<(RuleIndex, u32)> {
        let mut places: Vec<_> = entries.map(|entry| (entry.rule, entry.clause)).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_worse_than_any() {
        let mut catalogue = Catalogue::packed().unwrap();
        for rule in &mut catalogue.rules {
            *rule = OnDemand::packed("{");
        }
        let assessor = Assessor::new(Arc::new(catalogue));
        let findings = assessor.assess_text(Kind::Shell, "rm -rf /").findings;
        assert!(findings.iter().any(|finding| finding.rule == "unread.rule"), "{findings:?}");
    }

    #[test]
    fn what_people_read_has_the_examples_that_judging_goes_without() {
        let catalogue = Catalogue::builtin().unwrap();
        assert!(catalogue.rules().all(|rule| rule.examples.matches.is_empty()));
        let told = catalogue.rules_with_examples().unwrap();
        assert!(
            told.iter().all(|rule| !rule.examples.matches.is_empty() && !rule.examples.differs.is_empty())
        );
    }

    #[test]
    fn an_expression_that_is_none_counts_as_found() {
        let pattern: TextPattern = serde_json::from_str(r#"{"proven_regex": "("}"#).unwrap();
        assert!(pattern.knows("anything"));
        assert!(serde_json::from_str::<TextPattern>(r#"{"regex": "("}"#).is_err());
    }
}
