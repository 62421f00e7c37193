//! Grants: approvals that are remembered, or given in advance.

use std::time::Duration;

use banksman_core::audit::{Event, Fact};
use banksman_core::json::{CanonicalJson, Json, Object};
use banksman_core::wire::GrantBody;
use banksman_core::{
    Action, Actor, ArgPatterns, Authority, Case, Grant, GrantId, GrantMatch, GrantReach, Kind, Principal,
    PrincipalKind, Refusal, Remember, RememberScope, State, Tier, Timestamp, Verdict,
};
use banksman_store::{Control, ControlChange};

use crate::advance::{Plan, Scene};
use crate::consider::Explained;
use crate::{Engine, EngineError, ids};

/// The longest that a grant may last, whatever policy says.
const MAX_SECONDS: u64 = 90 * 24 * 3600;

impl Engine {
    /// Grants in advance what a reviewer would approve. Whether it is of any use is for the policy to say, each time; if it
    /// says already that it is of none, nothing is granted.
    ///
    /// # Errors
    /// If it makes no sense, would let nothing through, or cannot be recorded.
    pub async fn grant(&self, by: &Principal, body: GrantBody) -> Result<Grant, EngineError> {
        let invalid = |problem: &str| Err(EngineError::Invalid(problem.into()));
        if !(1..=MAX_SECONDS).contains(&body.expires_in_seconds) {
            return invalid("a grant lasts one second to 90 days");
        }
        if body.agent.trim().is_empty() || body.tool.trim().is_empty() {
            return invalid("a grant names an agent and a tool");
        }
        if body.uses == Some(0) {
            return invalid("a grant can be used at least once");
        }
        if body.digest.is_some() && body.args.is_some() {
            return invalid("a grant is for one call (digest) or for calls of a kind (args), not both");
        }
        if self.is_own_agent(by, &body.agent).await? {
            return invalid(
                "nobody grants to themselves, to their own agent, or to that of whoever brought them in",
            );
        }
        let now = self.clock.now();
        let (millis, entropy) = ids::fresh(now)?;
        let example = example(&body);
        let mut grant = Grant {
            id: GrantId::from_parts(millis, entropy),
            agent: body.agent,
            tool: body.tool,
            digest: body.digest,
            args: body.args.map(ArgPatterns::only),
            reach: body.session.map_or(GrantReach::Agent, |session| GrantReach::Session { session }),
            by: by.name.clone(),
            at: now,
            expires_at: now.after(Duration::from_secs(body.expires_in_seconds)),
            uses_left: body.uses,
            risk: None,
        };
        if grant.matches() != GrantMatch::Exact {
            let Explained { judgement, .. } = self.explain(&grant.agent, &example).await?;
            would_be_of_use(&grant, &judgement.verdict, now)?;
            // What the tool's name says holds for every call of it.
            let bare = self.judge.load().assess(&Action::bare(grant.tool.clone(), Kind::Tool, no_args()));
            grant.risk = Some(bare.level.max(Grant::USUAL_RISK));
        }
        self.amend_house(by, |_| {
            Ok((ControlChange::Grant(grant.clone()), Fact::Granted { grant: grant.clone() }))
        })
        .await?;
        Ok(grant)
    }

    /// Grants that can still be used.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn grants(&self) -> Result<Vec<Grant>, EngineError> {
        let now = self.clock.now();
        let mut grants = self.house_rules().await?.grants.clone();
        grants.retain(|grant| now < grant.expires_at && grant.uses_left != Some(0));
        Ok(grants)
    }

    /// Revokes a grant.
    ///
    /// # Errors
    /// If there is none such.
    pub async fn revoke_grant(&self, by: &Principal, id: GrantId) -> Result<(), EngineError> {
        self.amend_house(by, |control| {
            control.grants.iter().find(|grant| grant.id == id).ok_or(EngineError::NotFound)?;
            Ok((ControlChange::RevokeGrant(id), Fact::GrantRevoked { grant: id }))
        })
        .await
    }

    /// Whether it is the own agent of that person, or of whoever may be behind them, and policy does not let that one work
    /// alone. A grant is checked again at each use, by the credential that asks then; this is only to say so early.
    async fn is_own_agent(&self, person: &Principal, agent: &str) -> Result<bool, EngineError> {
        self.confirm(person, self.house_rules().await?.epoch).await?;
        let behind = self.credentials.behind(&person.name);
        let judge = self.judge.load();
        let alone = judge.house().solo_operator.as_ref();
        let voices: Vec<&String> = [Some(&person.name), behind.as_ref()]
            .into_iter()
            .flatten()
            .filter(|name| alone != Some(name))
            .collect();
        let owned = self.store.credentials().await?.iter().any(|credential| {
            credential.kind == PrincipalKind::Agent
                && credential.name == agent
                && credential.owner.as_ref().is_some_and(|owner| voices.contains(&owner))
        });
        Ok(owned || voices.iter().any(|name| *name == agent))
    }
}

/// The grant that an approval asks for: within the session unless it says otherwise, and within the bounds of policy.
pub(crate) fn remembered(scene: &Scene<'_>, remember: &Remember, by: &Actor) -> Result<Grant, EngineError> {
    if !(1..=MAX_SECONDS).contains(&remember.expires_in_seconds) {
        return Err(EngineError::Invalid(format!("a grant lasts 1 to {MAX_SECONDS} seconds")));
    }
    if remember.uses == Some(0) {
        return Err(EngineError::Invalid("a grant can be used at least once".into()));
    }
    let submission = &scene.case.submission;
    let limits = &submission.verdict.remember_limits;
    let refuse = |why| Err(scene.refuse(Refusal::RememberNotAllowed { why }));
    if !limits.allow(remember.matches.into()) {
        return refuse("policy does not let it cover that many calls");
    }
    let reach = match (&submission.action.session, remember.all_sessions) {
        (_, true) if !limits.allow(RememberScope::AllSessions) => {
            return refuse("policy lets it hold in one session only");
        }
        (_, true) => GrantReach::Agent,
        (Some(session), false) => GrantReach::Session { session: session.clone() },
        (None, false) => return refuse("the action belongs to no session; say that it is for all of them"),
    };
    if remember.matches != GrantMatch::Args && !remember.args.is_empty() {
        return Err(EngineError::Invalid("patterns for arguments go with `match: args`".into()));
    }
    let (digest, args) = match remember.matches {
        GrantMatch::Exact => (Some(submission.digest), None),
        GrantMatch::Tool => (None, None),
        GrantMatch::Args => {
            let patterns = ArgPatterns::around(&submission.action, &remember.args)
                .map_err(|name| EngineError::Invalid(format!("the call has no argument {name:?}")))?;
            (None, Some(patterns))
        }
    };
    let (millis, entropy) = ids::fresh(scene.now)?;
    let lasts = Duration::from_secs(remember.expires_in_seconds.min(limits.max_seconds));
    Ok(Grant {
        id: GrantId::from_parts(millis, entropy),
        agent: scene.case.agent.clone(),
        tool: submission.action.tool.clone(),
        digest,
        args,
        reach,
        by: by.name().unwrap_or_default().to_owned(),
        at: scene.now,
        expires_at: scene.now.after(lasts),
        uses_left: [remember.uses, limits.uses].into_iter().flatten().min(),
        risk: Some(submission.assessment.worst()),
    })
}

/// A call that a grant in advance is about, as far as one can be made up: a pattern stands for what fits it, unless that is
/// anything.
fn example(body: &GrantBody) -> Action {
    let patterns = body.args.iter().flatten().filter(|(_, pattern)| *pattern != "*");
    let members = patterns.map(|(name, pattern)| (name.clone(), Json::String(pattern.clone()))).collect();
    let args = Object::from_members(members)
        .map_or_else(|_| no_args(), |args| CanonicalJson::of(&Json::Object(args)));
    Action { session: body.session.clone(), ..Action::bare(body.tool.clone(), Kind::Tool, args) }
}

fn no_args() -> CanonicalJson {
    CanonicalJson::of(&Json::Object(Object::default()))
}

/// Refuses what would look like a grant and let nothing through. Where nobody is asked about the made-up call, others may be
/// held, and what policy says of those is not known yet.
fn would_be_of_use(grant: &Grant, verdict: &Verdict, now: Timestamp) -> Result<(), EngineError> {
    let why = match verdict.tier {
        Tier::Auto | Tier::Notify => return Ok(()),
        Tier::Approve | Tier::Escalate if grant.is_of_use(verdict, now) => return Ok(()),
        Tier::Block => "policy blocks it",
        Tier::Approve if verdict.allow_remember => "policy does not let it reach that far",
        Tier::Approve | Tier::Escalate => {
            "policy wants to be asked each time, or for more than one person's yes"
        }
    };
    Err(EngineError::NotGrantable(format!("{why} (by {})", verdict.rule)))
}

/// A denial beats every grant that would have let the same call through, now and later. In any session: the agent says
/// which one it is in.
pub(crate) fn revoke_denied(scene: &Scene<'_>, by: &Actor, plan: &mut Plan) {
    let case = scene.case;
    for grant in scene.control.grants.iter().filter(|grant| grant.is_about(&case.agent, &case.submission)) {
        let fact = Fact::GrantRevoked { grant: grant.id };
        plan.events.push(Event::general(scene.now, by.clone(), fact));
        plan.control.push(ControlChange::RevokeGrant(grant.id));
    }
}

/// The grant that let an action through, with one use less, if its uses are counted.
pub(crate) fn spent_grant(control: &Control, case: &Case) -> Option<Grant> {
    // What Banksman runs itself is claimed by the same commit.
    let (State::Authorised { authority: Authority::Grant { grant: id }, .. }
    | State::Executing { authority: Authority::Grant { grant: id }, .. }) = &case.state
    else {
        return None;
    };
    let grant = control.grants.iter().find(|grant| grant.id == *id)?;
    let left = grant.uses_left?;
    Some(Grant { uses_left: Some(left.saturating_sub(1)), ..grant.clone() })
}
