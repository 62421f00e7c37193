//! Remembered approvals ("always allow"), and how far they reach.

use serde::{Deserialize, Serialize};

use crate::{Digest, GrantId, Quorum, Submission, Tier, Timestamp};

/// Which calls of the tool a grant covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GrantMatch {
    /// Exactly the reviewed call.
    Exact,
    /// Any call of the tool.
    Tool,
}

/// For whom a grant holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "reach", rename_all = "snake_case")]
pub enum GrantReach {
    /// The agent, within one of its sessions.
    Session {
        /// That session.
        session: String,
    },
    /// The agent, in all its sessions.
    Agent,
}

/// What a reviewer asks to be remembered with an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// Which calls.
    #[serde(rename = "match", default = "exact")]
    pub matches: GrantMatch,
    /// In all the agent's sessions, instead of only in the one that the action belongs to.
    #[serde(default)]
    pub all_sessions: bool,
    /// For how long.
    #[serde(default = "eight_hours")]
    pub expires_in_seconds: u64,
}

fn exact() -> GrantMatch {
    GrantMatch::Exact
}

fn eight_hours() -> u64 {
    8 * 3600
}

/// A remembered approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id, to revoke it.
    pub id: GrantId,
    /// The agent that it holds for.
    pub agent: String,
    /// The tool that it covers.
    pub tool: String,
    /// The one call that it covers; any call of the tool if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// In which sessions.
    #[serde(flatten)]
    pub reach: GrantReach,
    /// Who granted it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Grant {
    /// Whether this grant stands in for an approval of the action.
    ///
    /// Only where policy asks for one approval, by anyone, and allows remembering: a grant never replaces several
    /// people, never a block, and never a person of a role, because whoever granted it may not have had that role.
    #[must_use]
    pub fn covers(&self, agent: &str, submission: &Submission, now: Timestamp) -> bool {
        let verdict = &submission.verdict;
        verdict.tier == Tier::Approve
            && verdict.allow_remember
            && verdict.quorum == Quorum::one()
            && now < self.expires_at
            && self.agent == agent
            && self.tool == submission.action.tool
            && self.digest.is_none_or(|digest| digest == submission.digest)
            && match &self.reach {
                GrantReach::Session { session } => submission.action.session.as_deref() == Some(session),
                GrantReach::Agent => true,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::CanonicalJson;
    use crate::{Action, Assessment, Kind, Risk, Verdict};

    const AGENT: &str = "riley";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn submission(change: impl FnOnce(&mut Submission)) -> Submission {
        let action = Action {
            session: Some("monday".into()),
            ..Action::bare("refund", Kind::Tool, CanonicalJson::parse(b"{}").unwrap())
        };
        let verdict = Verdict {
            tier: Tier::Approve,
            risk: Risk::Medium,
            rule: "refunds".into(),
            matched: Vec::new(),
            quorum: Quorum::one(),
            timeout_seconds: 60,
            claim_within_seconds: 60,
            lease_seconds: 60,
            require_reason: false,
            allow_remember: true,
            approved_by_preset: None,
        };
        let mut submission =
            Submission { digest: action.digest(), action, assessment: Assessment::of(Vec::new()), verdict };
        change(&mut submission);
        submission
    }

    fn grant(change: impl FnOnce(&mut Grant)) -> Grant {
        let mut grant = Grant {
            id: GrantId::from_parts(0, 1),
            agent: AGENT.into(),
            tool: "refund".into(),
            digest: None,
            reach: GrantReach::Agent,
            by: "ann".into(),
            at: at(0),
            expires_at: at(100),
        };
        change(&mut grant);
        grant
    }

    #[test]
    fn covers_the_call_the_session_or_the_agent_that_it_was_given_for() {
        let call = submission(|_| ());
        for (grant, covers) in [
            (grant(|_| ()), true),
            (grant(|grant| grant.digest = Some(call.digest)), true),
            (grant(|grant| grant.digest = Some(Digest::of(b"another call"))), false),
            (grant(|grant| grant.reach = GrantReach::Session { session: "monday".into() }), true),
            (grant(|grant| grant.reach = GrantReach::Session { session: "tuesday".into() }), false),
            (grant(|grant| grant.agent = "bot".into()), false),
            (grant(|grant| grant.tool = "refunds".into()), false),
        ] {
            assert_eq!(grant.covers(AGENT, &call, at(50)), covers, "{grant:?}");
        }
        let without_session = submission(|submission| submission.action.session = None);
        let for_a_session = grant(|grant| grant.reach = GrantReach::Session { session: "monday".into() });
        assert!(!for_a_session.covers(AGENT, &without_session, at(50)));
    }

    #[test]
    fn ends_at_its_moment() {
        let (grant, call) = (grant(|_| ()), submission(|_| ()));
        assert!(grant.covers(AGENT, &call, at(99)));
        assert!(!grant.covers(AGENT, &call, at(100)));
    }

    #[test]
    fn never_stands_in_for_more_than_one_person_of_any_role() {
        type Change = fn(&mut Verdict);
        let stricter: [(&str, Change); 6] = [
            ("a block", |verdict| verdict.tier = Tier::Block),
            ("an escalation", |verdict| verdict.tier = Tier::Escalate),
            ("two people", |verdict| verdict.quorum = Quorum::new(2, Vec::new())),
            ("someone of a role", |verdict| verdict.quorum = Quorum::new(1, vec!["finance".into()])),
            ("what is not to be remembered", |verdict| verdict.allow_remember = false),
            ("what needs nobody", |verdict| verdict.tier = Tier::Auto),
        ];
        for (what, change) in stricter {
            let call = submission(|submission| change(&mut submission.verdict));
            assert!(!grant(|_| ()).covers(AGENT, &call, at(50)), "{what}");
        }
    }
}
