//! Signing in with a password and a code.
//!
//! An attempt is counted before it is checked, so a thousand at once are a thousand attempts. After a few that failed, the
//! next has to wait, twice as long each time and a quarter of an hour at the most: whoever guesses gets nowhere, and whoever
//! they guess at is not locked out for ever. Passkeys, links from the machine and sessions are not held back.

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
}

impl std::fmt::Debug for PasswordAttempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordAttempt").field("name", &self.name).finish_non_exhaustive()
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
    /// [`EngineError::Unauthenticated`] if anything is wrong, or it is too early to try again.
    pub async fn sign_in_with_password(&self, attempt: PasswordAttempt) -> Result<IssuedToken, EngineError> {
        let person = self.count_attempt(&attempt.name).await?;
        let kept = person.as_ref().and_then(|person| person.password.clone());
        let matches = self.identity.matches(kept, attempt.password.clone()).await?;
        let Some(person) = person.filter(|_| matches) else { return Err(EngineError::Unauthenticated) };
        self.prove(&person, &attempt.code, self.clock.now())?;
        let session = NewSession::new(&attempt.browser)?;
        self.amend_people(By::Operator, |folk| {
            // On whatever is stored by now: of two that bring the same code, one comes too late.
            let person = folk.active(&attempt.name)?;
            if person.password.is_none() {
                return Err(EngineError::Unauthenticated);
            }
            let (changed, method) = self.used(person, &attempt.code, folk.now)?;
            let (control, change, token) = session.begin(person, method, folk.now);
            Ok(Amendment::of(changed, change, token).and([control]).by(person))
        })
        .await
    }

    /// Counts an attempt to sign in as someone. Nobody, if there is none such, or it is too early.
    async fn count_attempt(&self, name: &str) -> Result<Option<Person>, EngineError> {
        let counted = self.amend_people(By::Operator, |folk: &Folk| {
            let person = folk.active(name)?;
            if person.failures.not_before.is_some_and(|end| folk.now < end) {
                return Err(EngineError::Unauthenticated);
            }
            let count = person.failures.count.saturating_add(1);
            let not_before = wait_after(count).map(|wait| folk.now.after(wait));
            let changed = Person { failures: Failures { count, not_before }, ..person.clone() };
            let mut amendment = Amendment {
                people: vec![changed.clone()],
                control: Vec::new(),
                changes: Vec::new(),
                actor: Some(actor_of(person)),
                answer: changed,
            };
            if let Some(until) = not_before {
                amendment = amendment.also(name, PersonChange::HeldBack { failed: count, until });
            }
            Ok(amendment)
        });
        match counted.await {
            Ok(person) => Ok(Some(person)),
            Err(EngineError::Unauthenticated) => {
                // Nothing to write; but then this answer would come sooner than others.
                self.store.commit(Commit::default()).await.map_err(EngineError::unguarded)?;
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
        let mut changed = Person { failures: Failures::default(), ..person.clone() };
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
