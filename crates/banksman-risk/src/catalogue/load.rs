//! Loads rules and proves them: a rule whose examples do not hold is not a rule.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use banksman_core::Kind;

use super::programs::{Misdescribed, Programs};
use super::rule::{Example, Rule, RuleSet};
use super::{Catalogue, Clause, Index, TextPattern};
use crate::fact::SIGNALS;
use crate::{Assessor, Limits};

/// The built-in rules, a file per subject.
const BUILTIN: &[(&str, &str)] = &[
    ("unread.yaml", include_str!("../../rules/unread.yaml")),
    ("code.yaml", include_str!("../../rules/code.yaml")),
    ("files.yaml", include_str!("../../rules/files.yaml")),
    ("git.yaml", include_str!("../../rules/git.yaml")),
    ("system.yaml", include_str!("../../rules/system.yaml")),
    ("packages.yaml", include_str!("../../rules/packages.yaml")),
    ("containers.yaml", include_str!("../../rules/containers.yaml")),
    ("cloud.yaml", include_str!("../../rules/cloud.yaml")),
    ("databases.yaml", include_str!("../../rules/databases.yaml")),
    ("network.yaml", include_str!("../../rules/network.yaml")),
    ("secrets.yaml", include_str!("../../rules/secrets.yaml")),
    ("persistence.yaml", include_str!("../../rules/persistence.yaml")),
    ("self.yaml", include_str!("../../rules/self.yaml")),
    ("python.yaml", include_str!("../../rules/python.yaml")),
    ("javascript.yaml", include_str!("../../rules/javascript.yaml")),
    ("sql.yaml", include_str!("../../rules/sql.yaml")),
    ("paths.yaml", include_str!("../../rules/paths.yaml")),
    ("addresses.yaml", include_str!("../../rules/addresses.yaml")),
    ("tools.yaml", include_str!("../../rules/tools.yaml")),
    ("programs.yaml", include_str!("../../rules/programs.yaml")),
    ("programs-services.yaml", include_str!("../../rules/programs-services.yaml")),
];

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
    /// Reads rules.
    ///
    /// # Errors
    /// If the text is not valid.
    pub fn parse(file: &str, text: &str) -> Result<Self, CatalogueError> {
        serde_saphyr::from_str(text)
            .map_err(|error| CatalogueError::Syntax { file: file.to_owned(), problem: error.to_string() })
    }
}

impl Catalogue {
    /// The built-in rules, proved.
    ///
    /// # Errors
    /// Never in a build that passed its tests.
    pub fn builtin() -> Result<Arc<Self>, CatalogueError> {
        Self::with_rules(RuleSet::default())
    }

    /// The built-in rules with others added, replaced and disabled, proved.
    ///
    /// # Errors
    /// If a rule is not valid, or an example does not hold.
    pub fn with_rules(own: RuleSet) -> Result<Arc<Self>, CatalogueError> {
        let catalogue = Arc::new(Self::compile(merge(builtin_rules()?, own)?)?);
        prove(&catalogue)?;
        Ok(catalogue)
    }

    fn compile(set: RuleSet) -> Result<Self, CatalogueError> {
        let programs =
            Programs::of(set.programs).map_err(|Misdescribed(name, problem)| meaning(&name, &problem))?;
        let mut seen = HashSet::new();
        for rule in &set.rules {
            check(rule)?;
            check_subcommands(rule, &programs)?;
            if !seen.insert(rule.id.as_str()) {
                return Err(meaning(&rule.id, "there are two rules of this id"));
            }
        }
        Ok(Self { index: Index::of(&set.rules), programs, rules: set.rules })
    }
}

/// The built-in rules, read once: a policy that is loaded again does not have to wait for them.
fn builtin_rules() -> Result<RuleSet, CatalogueError> {
    static RULES: OnceLock<RuleSet> = OnceLock::new();
    if let Some(known) = RULES.get() {
        return Ok(known.clone());
    }
    let mut all = RuleSet::default();
    for (file, text) in BUILTIN {
        let part = RuleSet::parse(file, text)?;
        all.programs.extend(part.programs);
        all.rules.extend(part.rules);
    }
    Ok(RULES.get_or_init(|| all).clone())
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

/// Runs every example. An example speaks of its own rule only; others may notice it as well.
fn prove(catalogue: &Arc<Catalogue>) -> Result<(), CatalogueError> {
    // Examples are small. One that is about too much work does not have to do all of it.
    let limits = Limits { work: Limits::default().work / 10, ..Limits::default() };
    let assessor = Assessor::new(Arc::clone(catalogue)).with_limits(limits);
    let mut disproofs = Vec::new();
    for rule in &catalogue.rules {
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
