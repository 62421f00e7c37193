//! Outcome: the executor says how it ended.

use std::sync::Arc;

use banksman_core::{ActionId, Case, Command, Outcome, Principal, Refusal, Status, step};

use crate::advance::{House, Plan};
use crate::read::own;
use crate::{Engine, EngineError};

impl Engine {
    /// Records how a claimed action ended. Saying the same again changes nothing and is no error.
    ///
    /// # Errors
    /// If it was never claimed, or ended otherwise.
    pub async fn record_outcome(
        &self,
        agent: &Principal,
        id: ActionId,
        outcome: Outcome,
    ) -> Result<Arc<Case>, EngineError> {
        let status = outcome.status();
        let recorded = self
            .advance(id, Some(agent), House::Ignored, |scene| {
                own(agent, scene.case)?;
                let transition = step(scene.case, Command::Report(outcome.clone()), &scene.moment())
                    .map_err(|refusal| scene.refuse(refusal))?;
                let charges = if transition.case.status() == Status::Failed {
                    self.failure_charges(scene.case, scene.control, scene.now)
                } else {
                    Vec::new()
                };
                Ok(Plan { charges, ..Plan::from(transition) })
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
