//! How often something is computed again because another commit came first.

use banksman_store::Conflict;

use crate::EngineError;
use crate::advance::TRIES;

/// Tries that are left. Each that is gone means that another commit went through, so only a store that lies uses them up.
pub(crate) struct RetryBudget {
    left: usize,
}

impl RetryBudget {
    pub(crate) fn new() -> Self {
        Self { left: TRIES }
    }

    /// One try is gone, because of this. Meters that moved take none: someone else was let through meanwhile, so that does
    /// not go on for ever.
    ///
    /// # Errors
    /// If it was the last.
    pub(crate) fn spend(&mut self, met: &Conflict) -> Result<(), EngineError> {
        if *met == Conflict::MetersMoved {
            return Ok(());
        }
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return Ok(());
        }
        Err(EngineError::Internal(format!("gave up after {TRIES} tries; the last one met {met:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_gives_up_says_what_the_last_try_met() {
        let mut budget = RetryBudget::new();
        for _ in 1..TRIES {
            budget.spend(&Conflict::ControlMoved).unwrap();
        }
        budget.spend(&Conflict::MetersMoved).unwrap();
        let gave_up = budget.spend(&Conflict::PeopleMoved).unwrap_err().to_string();
        assert!(gave_up.contains("1000 tries") && gave_up.contains("PeopleMoved"), "{gave_up}");
    }
}
