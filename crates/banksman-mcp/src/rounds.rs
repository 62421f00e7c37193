//! Calls that take several requests in era two: the state that a client carries from one to the next.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use banksman_core::{ActionId, Digest, Timestamp};
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

/// Which rounds have been taken. Each is taken once.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    next: Mutex<HashMap<ActionId, u32>>,
}

/// More calls than this are not under way in several rounds; the rest is left over from clients that went away.
const REMEMBERED: usize = 100_000;

impl Rounds {
    /// Takes a round, if it is this caller's, about this call, in time, and new.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn take(
        &self,
        round: &Round,
        agent: &str,
        digest: Digest,
        now: Timestamp,
    ) -> Result<(), RoundError> {
        if round.agent != agent {
            return Err(RoundError::Forged);
        }
        if round.digest != digest {
            return Err(RoundError::OtherCall);
        }
        if round.expires <= now.as_micros() {
            return Err(RoundError::Expired);
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.len() >= REMEMBERED {
            next.clear();
        }
        let expected = next.entry(round.action).or_insert(round.number);
        if round.number < *expected {
            return Err(RoundError::Used);
        }
        *expected = round.number + 1;
        Ok(())
    }

    pub(crate) fn forget(&self, action: ActionId) {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).remove(&action);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_taken_once_by_its_own_caller_about_its_own_call() {
        let rounds = Rounds::default();
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
        assert_eq!(rounds.take(&round, "sam", digest, now), Err(RoundError::Forged));
        assert_eq!(rounds.take(&round, "riley", Digest::of(b"two"), now), Err(RoundError::OtherCall));
        let late = Timestamp::from_micros(2000);
        assert_eq!(rounds.take(&round, "riley", digest, late), Err(RoundError::Expired));
        assert_eq!(rounds.take(&round, "riley", digest, now), Ok(()));
        assert_eq!(rounds.take(&round, "riley", digest, now), Err(RoundError::Used));
        let next = Round { number: 2, ..round.clone() };
        assert_eq!(rounds.take(&next, "riley", digest, now), Ok(()));
        assert_eq!(rounds.take(&round, "riley", digest, now), Err(RoundError::Used));
    }
}
