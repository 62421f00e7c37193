//! What policy demands of one action.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{EscalationStep, Quorum, RememberLimits, Risk, Tier, combine_chains};

/// What policy demands of one action, and which rule said so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Verdict {
    /// What has to happen before the action may run.
    pub tier: Tier,
    /// How risky policy takes it to be.
    pub risk: Risk,
    /// The rule that decided.
    pub rule: String,
    /// Every rule that matched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<String>,
    /// How many people, and of which roles, have to approve.
    pub quorum: Quorum,
    /// How long a hold lasts before it expires.
    pub timeout_seconds: u64,
    /// How long an authorisation lasts before it lapses unclaimed.
    pub claim_within_seconds: u64,
    /// How long the executor has, after its claim, to record an outcome.
    pub lease_seconds: u64,
    /// Whether a decision needs a reason.
    #[serde(default)]
    pub require_reason: bool,
    /// Whether an approval needs the touch of a passkey.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_passkey: bool,
    /// Whether an approval may be remembered as a grant.
    #[serde(default)]
    pub allow_remember: bool,
    /// How far, if it may.
    #[serde(default, skip_serializing_if = "RememberLimits::is_usual")]
    pub remember_limits: RememberLimits,
    /// What happens while nobody decides, by time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<EscalationStep>,
    /// Whether policy only observes: what it would hold runs at once, on the record. It never lets a block through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// What reviewers are told by the rules that matched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Where people are told of it, by the names of routes; everywhere, if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<String>,
    /// Which arguments reviewers do not get to see, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redact: Vec<String>,
    /// The preset that answers yes in a person's place, on the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by_preset: Option<String>,
}

impl Verdict {
    /// What a rule demands that says no more than this: one person where people are asked, and the usual times.
    #[must_use]
    pub fn new(tier: Tier, risk: Risk, rule: impl Into<String>) -> Self {
        Self {
            tier,
            risk,
            rule: rule.into(),
            matched: Vec::new(),
            quorum: Quorum::one(),
            timeout_seconds: 3600,
            claim_within_seconds: 900,
            lease_seconds: 600,
            require_reason: false,
            require_passkey: false,
            allow_remember: false,
            remember_limits: RememberLimits::default(),
            escalation: Vec::new(),
            observed: false,
            messages: Vec::new(),
            routes: Vec::new(),
            redact: Vec::new(),
            approved_by_preset: None,
        }
    }

    /// How long a hold lasts, given what the agent is willing to wait: the shorter of the two.
    #[must_use]
    pub fn hold_for(&self, agent_timeout: Option<u64>) -> Duration {
        Duration::from_secs(agent_timeout.map_or(self.timeout_seconds, |wish| wish.min(self.timeout_seconds)))
    }

    /// Whether people who were asked by `other` were asked for less than this demands. How risky it is taken to be, and
    /// for how long a yes holds, is not asked of anyone.
    #[must_use]
    pub fn demands_more_than(&self, other: &Verdict) -> bool {
        let of_people = self.tier >= Tier::Approve
            && (other.quorum.clone().at_least(&self.quorum) != other.quorum
                || (self.require_reason && !other.require_reason)
                || (self.require_passkey && !other.require_passkey));
        self.tier > other.tier || of_people
    }

    /// The same verdict, but never milder than `floor`: what a version demanded, its edits demand too.
    #[must_use]
    pub fn at_least(self, floor: &Verdict) -> Self {
        let (stricter, other) = if floor.tier > self.tier { (floor, &self) } else { (&self, floor) };
        Self {
            tier: stricter.tier,
            risk: stricter.risk.max(other.risk),
            rule: stricter.rule.clone(),
            matched: self.matched.clone(),
            quorum: stricter.quorum.clone().at_least(&other.quorum),
            timeout_seconds: self.timeout_seconds.min(floor.timeout_seconds),
            claim_within_seconds: self.claim_within_seconds.min(floor.claim_within_seconds),
            lease_seconds: self.lease_seconds.min(floor.lease_seconds),
            require_reason: self.require_reason || floor.require_reason,
            require_passkey: self.require_passkey || floor.require_passkey,
            allow_remember: self.allow_remember && floor.allow_remember,
            remember_limits: self.remember_limits.within(&floor.remember_limits),
            escalation: combine_chains(&[
                (&self.quorum, &self.escalation),
                (&floor.quorum, &floor.escalation),
            ]),
            observed: self.observed && floor.observed,
            messages: union(&self.messages, &floor.messages),
            routes: union(&self.routes, &floor.routes),
            redact: union(&self.redact, &floor.redact),
            // What a person has edited, people decide.
            approved_by_preset: None,
        }
    }
}

/// All of both, each once.
fn union(one: &[String], other: &[String]) -> Vec<String> {
    let mut all = one.to_vec();
    for text in other {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(tier: Tier, change: impl FnOnce(&mut Verdict)) -> Verdict {
        let mut verdict = Verdict::new(tier, Risk::Medium, "rule");
        change(&mut verdict);
        verdict
    }

    #[test]
    fn whoever_was_asked_for_less_was_asked_for_something_else() {
        let roles = |roles: &[&str]| Quorum::new(1, roles.iter().map(ToString::to_string).collect());
        let plain = verdict(Tier::Approve, |_| ());
        let stricter = [
            verdict(Tier::Escalate, |_| ()),
            verdict(Tier::Block, |_| ()),
            verdict(Tier::Approve, |verdict| verdict.quorum = Quorum::new(2, Vec::new())),
            verdict(Tier::Approve, |verdict| verdict.quorum = roles(&["finance"])),
            verdict(Tier::Approve, |verdict| verdict.require_reason = true),
            verdict(Tier::Approve, |verdict| verdict.require_passkey = true),
        ];
        for stricter in stricter {
            assert!(stricter.demands_more_than(&plain), "{stricter:?}");
            assert!(!plain.demands_more_than(&stricter), "{stricter:?}");
            assert!(!stricter.demands_more_than(&stricter.clone().at_least(&plain)), "{stricter:?}");
        }
        let (finance, support) = (roles(&["finance"]), roles(&["support"]));
        let finance = verdict(Tier::Approve, |verdict| verdict.quorum = finance);
        let support = verdict(Tier::Approve, |verdict| verdict.quorum = support);
        assert!(finance.demands_more_than(&support) && support.demands_more_than(&finance));
        let nobody_asked = verdict(Tier::Auto, |verdict| verdict.require_reason = true);
        assert!(!nobody_asked.demands_more_than(&plain));
        let riskier = verdict(Tier::Approve, |verdict| verdict.risk = Risk::Critical);
        assert!(!riskier.demands_more_than(&plain));
    }
}
