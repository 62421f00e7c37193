//! Remembered approvals ("always allow"), and how far they reach.

mod limits;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::json::{CanonicalJson, Json, Object};
use crate::wildcard::fits_wildcard;
use crate::{Action, Digest, GrantId, Moment, Principal, Quorum, Risk, Submission, Tier, Timestamp, Verdict};

pub use limits::{RememberLimits, RememberScope};

/// Which calls of the tool a grant covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GrantMatch {
    /// Exactly the reviewed call.
    Exact,
    /// Calls whose arguments fit a pattern.
    Args,
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

/// Which arguments a call has to have.
///
/// The values that stay as they were reviewed are kept as a digest: a grant is written to the audit log, and arguments
/// are not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgPatterns {
    /// Texts that these arguments have to fit as a whole: `*` stands for any characters, `?` for one, but for nothing that
    /// leads out of what stands before it. `*` alone fits a value of any kind.
    pub like: BTreeMap<String, String>,
    /// The digest of an object of all other arguments. One that nobody spoke about could do anything.
    pub rest: Digest,
}

impl ArgPatterns {
    /// A pattern for some arguments of a reviewed call; the others stay as they are.
    ///
    /// # Errors
    /// The name of an argument that the call does not have.
    pub fn around(action: &Action, like: &BTreeMap<String, String>) -> Result<Self, String> {
        let args = arguments(action).unwrap_or_default();
        match like.keys().find(|name| args.get(name).is_none()) {
            Some(unknown) => Err(unknown.clone()),
            None => Ok(Self { like: like.clone(), rest: rest_of(&args, like) }),
        }
    }

    /// Calls that have exactly these arguments.
    #[must_use]
    pub fn only(like: BTreeMap<String, String>) -> Self {
        Self { like, rest: rest_of(&Object::default(), &BTreeMap::new()) }
    }

    fn fit(&self, action: &Action) -> bool {
        let Some(args) = arguments(action) else { return false };
        let fits = |(name, pattern): (&String, &String)| match args.get(name) {
            Some(Json::String(text)) => {
                fits_wildcard(pattern, text) && (pattern == "*" || pattern == text || !leads_elsewhere(text))
            }
            Some(_) => pattern == "*",
            None => false,
        };
        self.like.iter().all(fits) && rest_of(&args, &self.like) == self.rest
    }
}

/// Whether a text does not stay where it begins: a path that climbs (`tests/../../etc`), or an address whose host comes
/// after what looks like it (`https://docs.example.com@elsewhere`).
fn leads_elsewhere(text: &str) -> bool {
    let climbs = text.split(['/', '\\']).any(|segment| segment == "..");
    let host_comes_later = text.split("://").skip(1).any(|rest| {
        rest.split(['/', '\\', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
    });
    climbs || host_comes_later
}

fn arguments(action: &Action) -> Option<Object> {
    match action.args.to_json() {
        Ok(Json::Object(args)) => Some(args),
        Ok(_) | Err(_) => None,
    }
}

fn rest_of(args: &Object, named: &BTreeMap<String, String>) -> Digest {
    let others = args.iter().filter(|(name, _)| !named.contains_key(*name));
    let others = others.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let rest = Json::Object(Object::from_members(others).unwrap_or_default());
    Digest::of(CanonicalJson::of(&rest).as_str().as_bytes())
}

/// What a reviewer asks to be remembered with an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// Which calls.
    #[serde(rename = "match", default = "exact")]
    pub matches: GrantMatch,
    /// For `args`: texts with `*` and `?` that these arguments have to fit. Those that are not named stay as they were
    /// reviewed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// In all the agent's sessions, instead of only in the one that the action belongs to.
    #[serde(default)]
    pub all_sessions: bool,
    /// For how long; policy may cut it short.
    #[serde(default = "eight_hours")]
    pub expires_in_seconds: u64,
    /// How many times; policy may allow fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
}

fn exact() -> GrantMatch {
    GrantMatch::Exact
}

fn eight_hours() -> u64 {
    8 * 3600
}

impl Default for Remember {
    /// Exactly this, in this session, for eight hours.
    fn default() -> Self {
        Self {
            matches: exact(),
            args: BTreeMap::new(),
            all_sessions: false,
            expires_in_seconds: eight_hours(),
            uses: None,
        }
    }
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
    /// The one call that it covers; any call of the tool if neither this nor a pattern is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The arguments of the calls that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<ArgPatterns>,
    /// In which sessions.
    #[serde(flatten)]
    pub reach: GrantReach,
    /// Who granted it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// How often it can still be used; without end until then if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_left: Option<u32>,
    /// The highest risk that may be found in a call whose arguments nobody has seen; [`Grant::USUAL_RISK`] if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
}

impl Grant {
    /// What may be found in a call that nobody has seen, unless more was reviewed.
    pub const USUAL_RISK: Risk = Risk::Medium;

    /// Which calls it covers.
    #[must_use]
    pub fn matches(&self) -> GrantMatch {
        match (&self.digest, &self.args) {
            (Some(_), _) => GrantMatch::Exact,
            (None, Some(_)) => GrantMatch::Args,
            (None, None) => GrantMatch::Tool,
        }
    }

    /// Whether this grant stands in for an approval of the action.
    ///
    /// Only where policy asks for one approval, by anyone, and allows remembering so far: a grant never replaces several
    /// people, never a block, and never a person of a role, because whoever granted it may not have had that role.
    /// The limits are those of the policy that judges now: one that was tightened since holds for old grants too.
    /// `brought_by` is who may be behind the one who granted it: what they could not approve they cannot grant either.
    #[must_use]
    pub fn covers(
        &self,
        agent: &Principal,
        submission: &Submission,
        brought_by: Option<&str>,
        moment: &Moment<'_>,
    ) -> bool {
        let is_own = |name: &str| agent.name == name || agent.owner.as_deref() == Some(name);
        let may_approve = |name: &str| !is_own(name) || moment.solo_operator == Some(name);
        can_be_remembered(&submission.verdict)
            && self.is_within(&submission.verdict.remember_limits, moment.now)
            && may_approve(&self.by)
            && brought_by.is_none_or(may_approve)
            && self.is_about(&agent.name, submission)
            && self.is_in_session(submission.action.session.as_deref())
            && self.bears(submission)
    }

    /// Whether it could let anything through where policy demands this.
    #[must_use]
    pub fn is_of_use(&self, verdict: &Verdict, now: Timestamp) -> bool {
        can_be_remembered(verdict) && self.is_within(&verdict.remember_limits, now)
    }

    /// Whether no more was found in the call than in the one that was reviewed. A pattern that fits `npm test` also fits
    /// `npm test; curl … | sh`, and whoever wrote it did not mean that.
    fn bears(&self, submission: &Submission) -> bool {
        let bound = self.risk.unwrap_or(Self::USUAL_RISK);
        match self.matches() {
            GrantMatch::Exact => true,
            GrantMatch::Args | GrantMatch::Tool => submission.assessment.worst() <= bound,
        }
    }

    fn is_in_session(&self, session: Option<&str>) -> bool {
        match &self.reach {
            GrantReach::Session { session: only } => session == Some(only),
            GrantReach::Agent => true,
        }
    }

    /// Whether it is about such a call of the agent, in whichever session and whatever policy demands of it.
    #[must_use]
    pub fn is_about(&self, agent: &str, submission: &Submission) -> bool {
        self.agent == agent
            && self.tool == submission.action.tool
            && self.digest.is_none_or(|digest| digest == submission.digest)
            && self.args.as_ref().is_none_or(|patterns| patterns.fit(&submission.action))
    }

    fn is_within(&self, limits: &RememberLimits, now: Timestamp) -> bool {
        let in_time = now < self.expires_at && now < self.at.after(Duration::from_secs(limits.max_seconds));
        let reaches = match &self.reach {
            GrantReach::Session { .. } => true,
            GrantReach::Agent => limits.allow(RememberScope::AllSessions),
        };
        let uses_left = match (self.uses_left, limits.uses) {
            (Some(left), _) => left > 0,
            (None, Some(_)) => false,
            (None, None) => true,
        };
        in_time && reaches && uses_left && limits.allow(self.matches().into())
    }
}

/// A remembered approval stands in for one person's, so it is only offered where one person's is enough. A touch cannot be
/// remembered: it proves one decision.
pub(crate) fn can_be_remembered(verdict: &Verdict) -> bool {
    verdict.allow_remember
        && verdict.tier == Tier::Approve
        && verdict.quorum == Quorum::one()
        && !verdict.require_passkey
}
