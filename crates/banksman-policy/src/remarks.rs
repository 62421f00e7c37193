//! What is valid in a policy, and still worth a second look.

use std::collections::HashMap;
use std::fmt;

use banksman_config::{Place, Source};
use banksman_core::{Risk, Severity, Tier};

use crate::compile::{CompiledRule, Effect, Policy};
use crate::glob::Glob;

/// Something that is valid, and probably not what was meant: a rule that changes nothing, a name that nothing has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Which rule.
    pub rule: String,
    /// Where it is.
    pub place: Place,
    /// What is odd about it.
    pub problem: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl Remark {
    /// The line that it is about, with a caret, out of the policy's texts.
    #[must_use]
    pub fn snippet(&self, sources: &[Source]) -> String {
        let source = sources.iter().find(|source| source.name() == self.place.file);
        source.map(|source| source.snippet(&self.place)).unwrap_or_default()
    }
}

impl Policy {
    /// What is worth a second look, in the order of the rules.
    #[must_use]
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks: Vec<Remark> = Vec::new();
        for rule in &self.rules {
            if demands_nothing(rule) {
                remarks.push(rule.remark("demands nothing, so it changes nothing"));
            }
            if rule.effect.tier == Some(Tier::Auto) && !rule.condition.names_tools() {
                remarks.push(rule.remark(
                    "lets nothing through: it names no tool, and a tool that no rule names is held; add `tool: '*'` if all are meant",
                ));
            }
            if let Some(worse) = self.forgotten_worse(rule) {
                remarks.push(rule.remark(worse));
            }
            let named = rule.condition.finding.iter().map(|glob| ("matches", glob));
            let named = named.chain(rule.accepts.iter().map(|glob| ("accepts", glob)));
            for (how, glob) in named.filter(|(_, glob)| !self.finds(glob)) {
                let problem =
                    format!("{how} {glob}, but no rule of reading has such an id: see `banksman rules`");
                remarks.push(rule.remark(problem));
            }
        }
        for (rule, by) in self.shadowed() {
            if !demands_nothing(rule) {
                let problem = format!(
                    "changes nothing: {} ({}) matches whatever it matches, and is at least as strict",
                    by.id, by.place
                );
                remarks.push(rule.remark(problem));
            }
        }
        let order: HashMap<&str, usize> = self.rules.iter().map(|rule| rule.id.as_str()).zip(0..).collect();
        remarks.sort_by_key(|remark| order.get(remark.rule.as_str()).copied());
        remarks
    }

    /// What is worse than what a strict rule asks for, and passes it by.
    fn forgotten_worse(&self, rule: &CompiledRule) -> Option<String> {
        if rule.effect.tier < Some(Tier::Escalate) {
            return None;
        }
        let others = || self.rules.iter().filter(|other| other.effect.tier >= rule.effect.tier);
        let risk = rule.condition.risk.as_deref().and_then(|asked| {
            let most = asked.iter().max()?;
            let seen = |risk: &Risk| {
                others()
                    .any(|other| other.condition.risk.as_deref().is_some_and(|asked| asked.contains(risk)))
                    || self.risks.range(..=*risk).any(|(_, effect)| effect.tier >= rule.effect.tier)
            };
            let forgotten = Risk::ALL.iter().find(|risk| *risk > most && !seen(risk))?;
            Some(format!(
                "is about what is {most} and not about what is {forgotten}: write `risk: '>= {most}'`"
            ))
        });
        risk.or_else(|| {
            let most = rule.condition.severity.iter().max()?;
            let seen = |severity: &Severity| {
                others().any(|other| other.condition.severity.contains(severity))
                    || self.severities.range(..=*severity).any(|(_, effect)| effect.tier >= rule.effect.tier)
            };
            let forgotten = Severity::ALL.iter().find(|severity| *severity > most && !seen(severity))?;
            Some(format!("is about {most} and not about {forgotten}: list both"))
        })
    }

    /// Whether reading can find something of this id.
    fn finds(&self, glob: &Glob) -> bool {
        self.assessor().catalogue().rules().any(|rule| glob.fits(&rule.id))
    }
}

impl CompiledRule {
    fn remark(&self, problem: impl fmt::Display) -> Remark {
        let problem = format!("{} {problem}", self.id);
        Remark { rule: self.id.clone(), place: self.place.clone(), problem }
    }
}

/// Naming a tool is a demand of its own: it ends the tool's being unknown.
fn demands_nothing(rule: &CompiledRule) -> bool {
    rule.accepts.is_empty() && !rule.condition.names_tools() && rule.effect == Effect::default()
}
