//! Signing in with a password and a code.
//!
//! An attempt is counted before it is checked, so a thousand at once are a thousand attempts. After a few that failed, the
//! next has to wait, twice as long each time and a quarter of an hour at the most: whoever guesses gets nowhere, and whoever
//! they guess at is not locked out by it: attempts from browsers that they had signed in with before are counted apart, and
//! passkeys, links from the machine and sessions are not held back.

use std::time::Duration;

use banksman_core::{PersonChange, SignInMethod, Timestamp};
use banksman_identity::recovery_hash;
use banksman_store::{Commit, Failures, Person, Totp};

use super::sessions::NewSession;
use super::{Amendment, By, Folk, actor_of};
use crate::{Engine, EngineError, IssuedToken};

/// So many may fail before the next has to wait.
const FREE: u32 = 4;
const SHORTEST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// What someone typed.
#[derive(Clone)]
pub struct PasswordAttempt {
    /// Who they say they are.
    pub name: String,
    /// Their password.
    pub password: String,
    /// The code of their authenticator app, or a recovery code.
    pub code: String,
    /// What their browser says that it is.
    pub browser: String,
    /// The mark that it keeps, if it was signed in before ([`Engine::browser_mark`]).
    pub mark: Option<String>,
}

impl std::fmt::Debug for PasswordAttempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordAttempt").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where an attempt is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    /// With all from anywhere.
    Anyone,
    /// With those from browsers of the person's own.
    Own,
}

impl Lane {
    fn of(self, person: &Person) -> Failures {
        match self {
            Self::Anyone => person.failures,
            Self::Own => person.own_failures,
        }
    }

    fn with(self, person: &Person, failures: Failures) -> Person {
        match self {
            Self::Anyone => Person { failures, ..person.clone() },
            Self::Own => Person { own_failures: failures, ..person.clone() },
        }
    }
}

/// What a code turned out to be.
enum Proof {
    Step(u64),
    Recovery(banksman_core::Digest),
}

impl Engine {
    /// Signs in with a password and a code. Whatever is wrong, the answer and the time it takes are the same.
    ///
    /// # Errors
    /// [`EngineError::Unauthenticated`] if anything is wrong, or it is too early to try again. Only a browser of their own is
    /// told how long to wait ([`EngineError::HeldBack`]): a stranger would learn whose names there are.
    pub async fn sign_in_with_password(&self, attempt: PasswordAttempt) -> Result<IssuedToken, EngineError> {
        let counted = self.count_attempt(&attempt.name, attempt.mark.as_deref()).await?;
        let kept = counted.as_ref().and_then(|(person, _)| person.password.clone());
        let matches = self.identity.matches(kept, attempt.password.clone()).await?;
        let Some((person, lane)) = counted.filter(|_| matches) else {
            return Err(EngineError::Unauthenticated);
        };
        self.prove(&person, &attempt.code, self.clock.now())?;
        let session = NewSession::new(&attempt.browser)?;
        self.amend_people(By::Operator, |folk| {
            // On whatever is stored by now: of two that bring the same code, one comes too late.
            let person = folk.active(&attempt.name)?;
            if person.password.is_none() {
                return Err(EngineError::Unauthenticated);
            }
            let (changed, method) = self.used(person, &attempt.code, folk.now)?;
            let changed = lane.with(&changed, Failures::default());
            let (control, change, token) = session.begin(person, method, folk.now);
            Ok(Amendment::of(changed, change, token).and([control]).by(person))
        })
        .await
    }

    /// Counts an attempt to sign in as someone. Nobody, if there is none such, or it is too early.
    async fn count_attempt(
        &self,
        name: &str,
        mark: Option<&str>,
    ) -> Result<Option<(Person, Lane)>, EngineError> {
        let counted = self.amend_people(By::Operator, |folk: &Folk| {
            let person = folk.active(name)?;
            let lane = if self.knows_browser(person, mark, folk.now) { Lane::Own } else { Lane::Anyone };
            let failures = lane.of(person);
            match failures.not_before.filter(|end| folk.now < *end) {
                Some(until) if lane == Lane::Own => return Err(EngineError::HeldBack { until }),
                Some(_) => return Err(EngineError::Unauthenticated),
                None => {}
            }
            let count = failures.count.saturating_add(1);
            let not_before = wait_after(count).map(|wait| folk.now.after(wait));
            let changed = lane.with(person, Failures { count, not_before });
            let mut amendment = Amendment {
                people: vec![changed.clone()],
                control: Vec::new(),
                changes: Vec::new(),
                actor: Some(actor_of(person)),
                answer: (changed, lane),
            };
            if let Some(until) = not_before {
                amendment = amendment.also(name, PersonChange::HeldBack { failed: count, until });
            }
            Ok(amendment)
        });
        match counted.await {
            Ok(counted) => Ok(Some(counted)),
            Err(EngineError::Unauthenticated) => {
                // Nothing to write; but then this answer would come sooner than others.
                self.store.commit(Commit::default()).await.map_err(EngineError::unexpected_conflict)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// What this code proves, if it proves anything.
    fn prove(&self, person: &Person, code: &str, now: Timestamp) -> Result<Proof, EngineError> {
        let totp = person.totp.as_ref().ok_or(EngineError::Unauthenticated)?;
        let secret = self.identity.open_totp(person.id, &totp.sealed)?;
        let seconds = u64::try_from(now.as_micros() / 1_000_000).unwrap_or(0);
        if let Some(step) = secret.step_of(code, seconds, Some(totp.last_step)) {
            return Ok(Proof::Step(step));
        }
        let hash = recovery_hash(code);
        if person.recovery.contains(&hash) {
            Ok(Proof::Recovery(hash))
        } else {
            Err(EngineError::Unauthenticated)
        }
    }

    /// The person after their code was used: it will not do again.
    fn used(
        &self,
        person: &Person,
        code: &str,
        now: Timestamp,
    ) -> Result<(Person, SignInMethod), EngineError> {
        let proof = self.prove(person, code, now)?;
        let mut changed = person.clone();
        Ok(match proof {
            Proof::Step(step) => {
                changed.totp = changed.totp.map(|totp| Totp { last_step: step, ..totp });
                (changed, SignInMethod::Password)
            }
            Proof::Recovery(hash) => {
                changed.recovery.retain(|known| *known != hash);
                (changed, SignInMethod::RecoveryCode)
            }
        })
    }
}

/// How long to wait after so many failures in a row.
fn wait_after(count: u32) -> Option<Duration> {
    let beyond = count.checked_sub(FREE + 1)?;
    Some(SHORTEST_WAIT.saturating_mul(1 << beyond.min(20)).min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let seconds = |count| wait_after(count).map(|wait| wait.as_secs());
        assert_eq!(
            (1..=8).map(seconds).collect::<Vec<_>>(),
            [None, None, None, None, Some(2), Some(4), Some(8), Some(16)]
        );
        for many in [14, 25, 1000, u32::MAX] {
            assert_eq!(seconds(many), Some(900), "{many}");
        }
    }
}
