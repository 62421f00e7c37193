//! Which policy is in force, and whether a newer text had to be refused.

use std::sync::Arc;

use banksman_core::{Digest, Timestamp};

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
