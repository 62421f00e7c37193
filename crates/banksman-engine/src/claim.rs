//! Claim: the agent's side takes the one authorisation and runs what was reviewed.

use std::sync::Arc;

use banksman_core::{ActionId, Case, ClaimRequest, Command, Principal, State, Timestamp, step};

use crate::advance::{House, Plan};
use crate::read::own;
use crate::{Engine, EngineError};

/// A claim that was taken.
#[derive(Debug)]
pub struct Claimed {
    /// The action, now executing.
    pub case: Arc<Case>,
    /// The signed proof.
    pub authorization: String,
    /// The same for every attempt at this version of the action.
    pub idempotency_key: String,
    /// Until when an outcome has to be recorded.
    pub lease_expires_at: Timestamp,
}

impl Engine {
    /// Takes the claim for whoever runs the action: its agent, or Banksman's own gateway in the agent's name. What an
    /// agent asks for itself goes to [`Engine::claim_own`].
    ///
    /// # Errors
    /// A refusal if there is no live authorisation for exactly this, or it was claimed before.
    pub async fn claim(
        &self,
        agent: &Principal,
        id: ActionId,
        request: ClaimRequest,
    ) -> Result<Claimed, EngineError> {
        self.claim_if(agent, id, request, |_| Ok(())).await
    }

    /// Takes the claim of an action that the agent runs itself.
    ///
    /// # Errors
    /// As [`Engine::claim`], and [`EngineError::RunByGateway`] for a call that the gateway runs: taken by the agent, the
    /// claim would let nothing run, and nobody would be told.
    pub async fn claim_own(
        &self,
        agent: &Principal,
        id: ActionId,
        request: ClaimRequest,
    ) -> Result<Claimed, EngineError> {
        self.claim_if(agent, id, request, run_by_its_agent).await
    }

    async fn claim_if(
        &self,
        agent: &Principal,
        id: ActionId,
        request: ClaimRequest,
        allowed: fn(&Case) -> Result<(), EngineError>,
    ) -> Result<Claimed, EngineError> {
        let case = self
            .advance(id, Some(agent), House::Guarded, |scene| {
                own(agent, scene.case)?;
                allowed(scene.case)?;
                let transition = step(scene.case, Command::Claim(request.clone()), &scene.moment());
                let planned = transition.map(|transition| Plan::from(transition).in_time(scene));
                planned.map_err(|refusal| scene.refuse(refusal))
            })
            .await?;
        let State::Executing { claim, .. } = &case.state else {
            return Err(EngineError::Internal("a claimed action is not executing".into()));
        };
        let lease_expires_at = claim.lease_expires_at;
        let authorization = self.signer.authorisation(&case, claim.at, lease_expires_at, true)?;
        let idempotency_key = format!("{}.{}", case.id, case.version);
        Ok(Claimed { case, authorization, idempotency_key, lease_expires_at })
    }

    /// A signed proof that an action is authorised; `None` if it is not, or is claimed already.
    ///
    /// # Errors
    /// If it cannot be signed.
    pub fn authorization(&self, case: &Case) -> Result<Option<String>, EngineError> {
        match &case.state {
            State::Authorised { at, lapses_at, .. } => {
                self.signer.authorisation(case, *at, *lapses_at, false).map(Some)
            }
            State::Blocked { .. }
            | State::Pending { .. }
            | State::Denied { .. }
            | State::Expired { .. }
            | State::Cancelled { .. }
            | State::Executing { .. }
            | State::Succeeded { .. }
            | State::Failed { .. }
            | State::Unknown { .. }
            | State::Lapsed { .. }
            | State::Revoked { .. } => Ok(None),
        }
    }
}

/// Whether the agent itself runs this action. What it says of a call that the gateway passes on is hearsay: it sees the
/// answer after the gateway does, if at all.
pub(crate) fn run_by_its_agent(case: &Case) -> Result<(), EngineError> {
    if case.submission.action.forwarded {
        Err(EngineError::RunByGateway(Box::new(case.into())))
    } else {
        Ok(())
    }
}
