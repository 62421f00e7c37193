//! Cancel: the agent withdraws, or a reviewer takes it off the table; an unused authorisation is revoked.

use std::sync::Arc;

use banksman_core::{ActionId, Actor, Case, Command, Principal, step};

use crate::advance::{House, Plan};
use crate::read::visible_to;
use crate::{Engine, EngineError};

impl Engine {
    /// Cancels what is pending; revokes what is authorised and not yet claimed.
    ///
    /// # Errors
    /// A refusal if it is too late for that.
    pub async fn cancel(
        &self,
        caller: &Principal,
        id: ActionId,
        reason: Option<String>,
    ) -> Result<Arc<Case>, EngineError> {
        self.advance(id, Some(caller), House::Ignored, |scene| {
            visible_to(caller, scene.case)?;
            let command = Command::Cancel { by: Actor::from(caller), reason: reason.clone() };
            step(scene.case, command, &scene.moment())
                .map(|transition| Plan::from(transition).in_time(scene))
                .map_err(|refusal| scene.refuse(refusal))
        })
        .await
    }
}
