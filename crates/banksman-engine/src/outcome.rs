//! Outcome: the executor says how it ended.

use std::sync::Arc;

use banksman_core::{ActionId, Case, Command, Outcome, Principal, Refusal, Status, step};

use crate::advance::{House, Plan};
use crate::claim::run_by_its_agent;
use crate::read::own;
use crate::{Engine, EngineError};

impl Engine {
    /// Records how an action ended that its agent claimed and ran. Saying the same again changes nothing and is no error.
    ///
    /// # Errors
    /// If it was never claimed, or ended otherwise; [`EngineError::RunByGateway`] for a call that the gateway runs, whose
    /// first report stands: an agent that is faster would write the record, or tidy away an `unknown` that people should see.
    pub async fn record_outcome(
        &self,
        agent: &Principal,
        id: ActionId,
        outcome: Outcome,
    ) -> Result<Arc<Case>, EngineError> {
        self.record(id, Some(agent), outcome).await
    }

    /// Records how something ended that Banksman itself passed on. It is the truth even if the agent's credential was
    /// taken away meanwhile, so nobody has to show one.
    ///
    /// # Errors
    /// If it was never claimed, or ended otherwise, or is not Banksman's to run.
    pub async fn record_forwarded(&self, id: ActionId, outcome: Outcome) -> Result<Arc<Case>, EngineError> {
        self.record(id, None, outcome).await
    }

    async fn record(
        &self,
        id: ActionId,
        agent: Option<&Principal>,
        outcome: Outcome,
    ) -> Result<Arc<Case>, EngineError> {
        let status = outcome.status();
        let recorded = self
            .advance(id, agent, House::Ignored, |scene| {
                match agent {
                    Some(agent) => {
                        own(agent, scene.case)?;
                        run_by_its_agent(scene.case)?;
                    }
                    None if scene.case.submission.action.forwarded => {}
                    None => return Err(EngineError::NotFound),
                }
                let transition = step(scene.case, Command::Report(outcome.clone()), &scene.moment())
                    .map_err(|refusal| scene.refuse(refusal))?;
                let charges = if transition.case.status() == Status::Failed {
                    self.failure_charges(scene.case, scene.control, scene.now)
                } else {
                    Vec::new()
                };
                // Whoever called has the answer already: this is for the record.
                Ok(Plan { charges, patient: agent.is_none(), ..Plan::from(transition) })
            })
            .await;
        match recorded {
            Err(EngineError::Refused { refusal: Refusal::AlreadyRecorded { status: before }, .. })
                if before == status =>
            {
                // Not from memory: what was refused just now was refused because of what is stored.
                self.fetch(id).await
            }
            Ok(case) => {
                self.heed_outcome(&case).await;
                Ok(case)
            }
            Err(error) => Err(error),
        }
    }
}
