//! New ids: the time from the clock, the rest from the machine's entropy.

use banksman_core::Timestamp;

use crate::EngineError;

/// 80 random bits for an id made at `now`, ready for `from_parts`.
pub(crate) fn fresh(now: Timestamp) -> Result<(u64, u128), EngineError> {
    let mut bytes = [0u8; 16];
    fill(&mut bytes)?;
    Ok((now.as_millis(), u128::from_be_bytes(bytes) >> 48))
}

/// Random bytes, or no action at all: an id or a secret that can be guessed is worse than none.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), EngineError> {
    getrandom::fill(bytes).map_err(|error| EngineError::Internal(format!("no entropy: {error}")))
}
