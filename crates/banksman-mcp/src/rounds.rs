//! Calls that take several requests in era two: the state that a client carries from one to the next.

use std::time::Duration;

use banksman_core::{ActionId, Digest, Timestamp};
use banksman_engine::{Engine, EngineError};
use serde::{Deserialize, Serialize};

/// What a client hands back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Round {
    /// Whose call it is.
    pub(crate) agent: String,
    pub(crate) action: ActionId,
    /// What was asked for: the next request has to ask for the same.
    pub(crate) digest: Digest,
    /// In microseconds.
    pub(crate) expires: i64,
    /// Which round it leads to.
    pub(crate) number: u32,
    pub(crate) why: Why,
}

/// Why there is another round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Why {
    /// People have not decided yet.
    Held,
    /// The server asks something; with its own state, as JSON.
    Asked { state: Option<String> },
    /// The same, in a session of ours, in which the call is parked; with the state that leads back to it.
    Parked { state: String },
}

/// Why a state is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RoundError {
    #[error("requestState is not one of ours, or has been altered")]
    Forged,
    #[error("requestState belongs to another call")]
    OtherCall,
    #[error("requestState has expired")]
    Expired,
    #[error("requestState was used before")]
    Used,
}

/// How much longer than it can be used a round that was taken is remembered: nodes' clocks may differ, or be set back.
const REMEMBERED_AFTER: Duration = Duration::from_secs(24 * 3600);

impl Round {
    /// Whether it is this caller's, about this call, and in time.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, agent: &str, digest: Digest, now: Timestamp) -> Result<(), RoundError> {
        if self.agent != agent {
            return Err(RoundError::Forged);
        }
        if self.digest != digest {
            return Err(RoundError::OtherCall);
        }
        if self.expires <= now.as_micros() {
            return Err(RoundError::Expired);
        }
        Ok(())
    }

    /// Takes it: true for the first who does, on whichever node. With a server's question answered, what was approved
    /// goes on, and that must happen once; who only waits for people may ask as often as they like.
    ///
    /// # Errors
    /// If nobody can say.
    pub(crate) async fn take(&self, engine: &Engine) -> Result<bool, EngineError> {
        let key = format!("round {} of the MCP call {}", self.number, self.action);
        let until = Timestamp::from_micros(self.expires).after(REMEMBERED_AFTER);
        engine.spend_once(Digest::of(key.as_bytes()), until).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_its_own_callers_about_its_own_call() {
        let now = Timestamp::from_micros(1000);
        let digest = Digest::of(b"one");
        let round = Round {
            agent: "riley".into(),
            action: ActionId::from_parts(1, 1),
            digest,
            expires: 2000,
            number: 1,
            why: Why::Held,
        };
        assert_eq!(round.check("sam", digest, now), Err(RoundError::Forged));
        assert_eq!(round.check("riley", Digest::of(b"two"), now), Err(RoundError::OtherCall));
        assert_eq!(round.check("riley", digest, Timestamp::from_micros(2000)), Err(RoundError::Expired));
        assert_eq!(round.check("riley", digest, now), Ok(()));
    }
}
