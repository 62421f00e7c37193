//! Which policy is in force, and whether a newer text had to be refused.

use std::sync::Arc;

use banksman_core::{Digest, Risk, Timestamp};

use crate::Engine;

/// Which policy is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyInForce {
    /// The digest of its text.
    pub digest: Digest,
    /// Where it was read from.
    pub source: String,
    /// Since when.
    pub loaded_at: Timestamp,
    /// How often a policy was loaded.
    pub loads: u64,
    /// How often one was refused.
    pub refusals: u64,
    /// The newest text, if it could not be used: then this policy is in force although another was wanted.
    pub refused: Option<RefusedPolicy>,
}

/// A policy that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPolicy {
    /// When it was tried.
    pub at: Timestamp,
    /// What is wrong with it, and where.
    pub problem: String,
}

/// A policy for people to read.
#[derive(Debug, Clone, Default)]
pub struct PolicyText {
    /// Its rules, in their order.
    pub rules: Vec<RuleText>,
    /// What reading an action looks for, by the built-in rules and those of the policy.
    pub looked_for: Vec<LookedFor>,
}

/// A rule as it is written.
#[derive(Debug, Clone)]
pub struct RuleText {
    /// Its name, as verdicts name it.
    pub id: String,
    /// Where it is: file, line, column.
    pub place: String,
    /// Its lines.
    pub text: String,
    /// What is odd about it.
    pub remark: Option<String>,
}

/// Something that reading an action looks for.
#[derive(Debug, Clone)]
pub struct LookedFor {
    /// Its name, as findings name it.
    pub id: String,
    /// How bad it is.
    pub level: Risk,
    /// Why.
    pub reason: String,
    /// What would be safer.
    pub advice: Option<String>,
}

impl PolicyInForce {
    pub(crate) fn first(digest: Digest, at: Timestamp) -> Self {
        Self { digest, source: String::new(), loaded_at: at, loads: 0, refusals: 0, refused: None }
    }
}

impl Engine {
    /// Which policy is in force.
    #[must_use]
    pub fn policy_in_force(&self) -> Arc<PolicyInForce> {
        self.in_force.load_full()
    }

    /// What is in force, for people to read: its rules, what is odd about them, and what reading an action looks for.
    #[must_use]
    pub fn policy_text(&self) -> PolicyText {
        let judge = self.judge.load();
        let Some(policy) = judge.policy() else { return PolicyText::default() };
        let remarks = policy.remarks();
        let remark =
            |id: &str| remarks.iter().find(|remark| remark.rule == id).map(|remark| remark.problem.clone());
        let rules = policy.listing().iter().map(|rule| RuleText {
            id: rule.id.clone(),
            place: rule.place.to_string(),
            text: rule.text.clone(),
            remark: remark(&rule.id),
        });
        let catalogue = policy.assessor().shared_catalogue();
        let looked_for = catalogue.rules().map(|rule| LookedFor {
            id: rule.id.clone(),
            level: rule.level,
            reason: rule.reason.clone(),
            advice: rule.advice.clone(),
        });
        PolicyText { rules: rules.collect(), looked_for: looked_for.collect() }
    }

    /// Remembers that a changed policy could not be used, for people to see. What is in force stays in force.
    pub fn refuse_policy(&self, problem: &str) {
        let refused = RefusedPolicy { at: self.clock.now(), problem: problem.to_owned() };
        self.in_force.rcu(|before| PolicyInForce {
            refusals: before.refusals + 1,
            refused: Some(refused.clone()),
            ..PolicyInForce::clone(before)
        });
    }

    /// The text is again the one that is in force: nothing is refused any more.
    pub fn confirm_policy(&self) {
        self.in_force.rcu(|before| PolicyInForce { refused: None, ..PolicyInForce::clone(before) });
    }

    pub(crate) fn put_in_force(&self, digest: Digest, source: &str, at: Timestamp) {
        self.in_force.rcu(|before| PolicyInForce {
            digest,
            source: source.to_owned(),
            loaded_at: at,
            loads: before.loads + 1,
            refusals: before.refusals,
            refused: None,
        });
    }
}
