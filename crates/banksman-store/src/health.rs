//! Whether a store could write when it last tried.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{CommitError, Committed, StoreError};

/// Shared by a writer and whoever is asked whether the store is ready.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failing: AtomicBool,
}

impl Health {
    /// Notes what became of commits that were tried together. One that failed among others that did not is to blame
    /// itself.
    pub(crate) fn note<'a>(&self, answers: impl IntoIterator<Item = &'a Result<Committed, CommitError>>) {
        let mut failed = false;
        for answer in answers {
            match answer {
                Ok(_) => return self.failing.store(false, Ordering::Relaxed),
                Err(CommitError::Unavailable(_)) => failed = true,
                // A guard did not hold: that takes no writing, and says nothing.
                Err(CommitError::Conflict(_)) => {}
            }
        }
        if failed {
            self.failing.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }
}

/// What trying to write says about being ready. Nothing was guarded, so nothing can have been in its way.
pub(crate) fn written(answer: Result<Committed, CommitError>) -> Result<(), StoreError> {
    match answer {
        Ok(_) | Err(CommitError::Conflict(_)) => Ok(()),
        Err(CommitError::Unavailable(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conflict;

    #[test]
    fn it_fails_from_a_failure_to_the_next_success_and_refusals_say_nothing() {
        let yes = || Ok(Committed { last_seq: 1 });
        let no = || Err(CommitError::Unavailable(StoreError::Closed));
        let refused = || Err(CommitError::Conflict(Conflict::ControlMoved));
        let health = Health::default();
        for (answers, failing) in [
            (vec![refused()], false),
            (vec![no(), yes()], false),
            (vec![refused(), no()], true),
            (vec![refused()], true),
            (vec![yes()], false),
        ] {
            health.note(&answers);
            assert_eq!(health.is_failing(), failing, "{answers:?}");
        }
    }
}
