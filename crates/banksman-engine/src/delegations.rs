//! Delegations: someone else decides in a person's place, for a while.

use std::time::Duration;

use banksman_core::audit::Fact;
use banksman_core::wire::DelegationBody;
use banksman_core::{
    Acting, ActingSource, Ballot, Delegation, DelegationId, Principal, PrincipalKind, Timestamp,
};
use banksman_store::ControlChange;

use crate::advance::Scene;
use crate::{Engine, EngineError, ids};

/// The longest that a delegation may last.
const LONGEST: Duration = Duration::from_secs(90 * 24 * 3600);

/// The furthest ahead that one may begin.
const FURTHEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl Engine {
    /// Lets another person use someone's roles for a period.
    ///
    /// # Errors
    /// If it is not the caller's to lend, makes no sense, or cannot be recorded.
    pub async fn delegate(&self, by: &Principal, body: DelegationBody) -> Result<Delegation, EngineError> {
        let from = body.from.clone().unwrap_or_else(|| by.name.clone());
        if from != by.name && by.kind != PrincipalKind::Admin {
            return Err(EngineError::NotYours("only administrators delegate in another's name".into()));
        }
        if from != by.name && body.to == by.name {
            return Err(EngineError::NotYours("nobody takes another's roles for themselves".into()));
        }
        if body.to == from {
            return Err(EngineError::Invalid("a delegation is to another person".into()));
        }
        let now = self.clock.now();
        let (starts_at, ends_at) = period(&body, now)?;
        let (millis, entropy) = ids::fresh(now)?;
        let delegation = Delegation {
            id: DelegationId::from_parts(millis, entropy),
            from,
            to: body.to,
            roles: body.roles,
            starts_at,
            ends_at,
            by: by.name.clone(),
            at: now,
            reason: body.reason,
        };
        self.amend_house(by, |_| {
            self.check_people(&delegation, now)?;
            let fact = Fact::Delegated { delegation: delegation.clone() };
            Ok((ControlChange::Delegate(delegation.clone()), fact))
        })
        .await?;
        Ok(delegation)
    }

    /// Delegations that are not over.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn delegations(&self) -> Result<Vec<Delegation>, EngineError> {
        let now = self.clock.now();
        let mut delegations = self.house_rules().await?.delegations.clone();
        delegations.retain(|delegation| now < delegation.ends_at);
        Ok(delegations)
    }

    /// Ends a delegation at once: by the one who lends, the one who was lent to, or an administrator.
    ///
    /// # Errors
    /// If there is none such, or it is not the caller's to end.
    pub async fn revoke_delegation(&self, by: &Principal, id: DelegationId) -> Result<(), EngineError> {
        self.amend_house(by, |control| {
            let delegation = control
                .delegations
                .iter()
                .find(|delegation| delegation.id == id)
                .ok_or(EngineError::NotFound)?;
            if by.kind != PrincipalKind::Admin && by.name != delegation.from && by.name != delegation.to {
                return Err(EngineError::NotYours("this delegation is between others".into()));
            }
            Ok((ControlChange::RevokeDelegation(id), Fact::DelegationRevoked { delegation: id }))
        })
        .await
    }

    /// A ballot as it counts at the moment of the scene: with what others have lent, and who may be behind it.
    pub(crate) fn seated(&self, ballot: &Ballot, scene: &Scene<'_>) -> Ballot {
        let name = &ballot.reviewer.name;
        let (lent, brought_by) = (self.lent_to(name, scene), self.credentials.behind(name));
        Ballot { lent, brought_by, ..ballot.clone() }
    }

    /// What others have lent to this person at the moment of the scene, out of roles that are theirs right then. The
    /// lifecycle takes nothing from those whose own action it is; nor from those whom such a one may be behind.
    fn lent_to(&self, name: &str, scene: &Scene<'_>) -> Vec<Acting> {
        let is_independent =
            |lender: &str| self.credentials.behind(lender).is_none_or(|sponsor| !scene.case.is_of(&sponsor));
        let live = scene.control.delegations.iter().filter(|delegation| {
            delegation.to == name && delegation.is_live(scene.now) && is_independent(&delegation.from)
        });
        live.flat_map(|delegation| {
            let own = self.credentials.roles_of(&delegation.from, scene.now).unwrap_or_default();
            let source =
                ActingSource::Delegation { delegation: delegation.id, on_behalf_of: delegation.from.clone() };
            let lent = delegation.lends(&own);
            lent.map(|role| Acting { role: role.clone(), source: source.clone() }).collect::<Vec<_>>()
        })
        .collect()
    }

    /// Whether both are people whom the house knows, and one has what the other is to use.
    fn check_people(&self, delegation: &Delegation, now: Timestamp) -> Result<(), EngineError> {
        let stranger =
            |name: &str| EngineError::Invalid(format!("there is no reviewer by the name of {name:?}"));
        let own =
            self.credentials.roles_of(&delegation.from, now).ok_or_else(|| stranger(&delegation.from))?;
        self.credentials.roles_of(&delegation.to, now).ok_or_else(|| stranger(&delegation.to))?;
        let missing: Vec<String> =
            delegation.roles.iter().filter(|role| !own.contains(role)).cloned().collect();
        if !missing.is_empty() {
            return Err(EngineError::MissingRole { needed: missing });
        }
        if own.is_empty() {
            return Err(EngineError::Invalid(format!("{:?} has no roles to lend", delegation.from)));
        }
        Ok(())
    }
}

fn period(body: &DelegationBody, now: Timestamp) -> Result<(Timestamp, Timestamp), EngineError> {
    let invalid = |problem: &str| Err(EngineError::Invalid(problem.into()));
    let starts_at = body.starts_at.unwrap_or(now).max(now);
    let ends_at = match (body.ends_at, body.for_seconds) {
        (Some(end), None) => end,
        (None, Some(seconds)) => starts_at.after(Duration::from_secs(seconds)),
        (Some(_), Some(_)) | (None, None) => {
            return invalid("say when it ends: either ends_at or for_seconds");
        }
    };
    if ends_at <= starts_at {
        return invalid("a delegation ends after it begins, and not in the past");
    }
    if ends_at.since(starts_at) > LONGEST {
        return invalid("a delegation lasts 90 days at most");
    }
    if starts_at.since(now) > FURTHEST {
        return invalid("a delegation begins within a year");
    }
    Ok((starts_at, ends_at))
}
