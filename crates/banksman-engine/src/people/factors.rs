//! One's own ways to sign in: setting them up, and giving them up.

use banksman_core::{Factor, PasskeyFact, PersonChange, Principal};
use banksman_identity::{
    RECOVERY_CODES, TotpSecret, acceptable, hash_password, recovery_codes, recovery_hash,
};
use banksman_store::{Failures, Hidden, Passkey, Person, Totp};

use super::{Amendment, By};
use crate::{Engine, EngineError, ids};

/// A password and an authenticator app, to be set up together.
#[derive(Clone)]
pub struct NewPassword {
    /// The password.
    pub password: String,
    /// The secret that the page showed, as it showed it.
    pub totp_secret: String,
    /// The code that the app shows for it.
    pub totp_code: String,
}

impl std::fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NewPassword")
    }
}

/// What a password and an app come to, checked and ready to be kept.
pub(super) struct ReadyPassword {
    hash: Hidden,
    totp: Totp,
    recovery: Vec<String>,
}

impl ReadyPassword {
    /// Gives it to a person, in place of what they had.
    pub(super) fn give(&self, person: &Person) -> Person {
        Person {
            password: Some(self.hash.clone()),
            totp: Some(self.totp.clone()),
            recovery: self.recovery.iter().map(|code| recovery_hash(code)).collect(),
            failures: Failures::default(),
            own_failures: Failures::default(),
            ..person.clone()
        }
    }

    pub(super) fn changes() -> [PersonChange; 3] {
        [Factor::Password, Factor::Totp, Factor::RecoveryCodes]
            .map(|factor| PersonChange::Enrolled { factor })
    }

    pub(super) fn recovery(&self) -> Vec<String> {
        self.recovery.clone()
    }
}

/// How a passkey is named in the log.
pub(super) fn fact(passkey: &Passkey) -> Factor {
    Factor::Passkey(PasskeyFact {
        id: passkey.id.clone(),
        key: passkey.key.clone(),
        rp_id: passkey.rp_id.clone(),
        label: passkey.label.clone(),
    })
}

impl Engine {
    /// A secret for an authenticator app, to be shown.
    ///
    /// # Errors
    /// If the machine has no entropy.
    pub fn new_totp_secret(&self) -> Result<TotpSecret, EngineError> {
        let mut random = [0; 20];
        ids::fill(&mut random)?;
        Ok(TotpSecret::new(random))
    }

    /// Checks and hashes; nothing is kept yet.
    pub(super) async fn ready_password(
        &self,
        person: &Person,
        new: NewPassword,
    ) -> Result<ReadyPassword, EngineError> {
        acceptable(&new.password, &person.name).map_err(|error| EngineError::Invalid(error.to_string()))?;
        let secret = TotpSecret::from_base32(&new.totp_secret)
            .map_err(|error| EngineError::Invalid(error.to_string()))?;
        let seconds = u64::try_from(self.clock.now().as_micros() / 1_000_000).unwrap_or(0);
        let step = secret.step_of(&new.totp_code, seconds, None).ok_or_else(|| {
            EngineError::Invalid(
                "the code is not the one that the app shows for this secret; is the clock of your phone right?".into(),
            )
        })?;
        let mut salt = [0; 16];
        ids::fill(&mut salt)?;
        let hash = self.identity.hash(move || hash_password(&new.password, salt)).await?;
        Ok(ReadyPassword {
            hash: Hidden(hash.map_err(EngineError::Internal)?),
            totp: Totp { sealed: self.identity.seal_totp(person.id, &secret)?, last_step: step },
            recovery: fresh_recovery_codes()?,
        })
    }

    /// Sets one's own password and authenticator app, and gives the recovery codes that go with them. Other browsers are
    /// signed out: whoever changes their password may do so because someone else had it.
    ///
    /// # Errors
    /// If the sign-in was not just now, the password is weak, or the code is not the app's.
    pub async fn set_password(
        &self,
        principal: &Principal,
        new: NewPassword,
    ) -> Result<Vec<String>, EngineError> {
        let person = self.oneself(principal).await?.ok_or(EngineError::NotFound)?;
        let ready = self.ready_password(&person, new).await?;
        self.amend_people(By::Person(principal), |folk| {
            let person = folk.freshly_signed_in(principal)?;
            let [first, others @ ..] = ReadyPassword::changes();
            let mut amendment = Amendment::of(ready.give(person), first, ready.recovery());
            for change in others {
                amendment = amendment.also(&person.name, change);
            }
            Ok(amendment.and(folk.end_other_sessions(principal)))
        })
        .await
    }

    /// New recovery codes, in place of all before.
    ///
    /// # Errors
    /// If the sign-in was not just now, or there is no authenticator app to recover from.
    pub async fn renew_recovery_codes(&self, principal: &Principal) -> Result<Vec<String>, EngineError> {
        let codes = fresh_recovery_codes()?;
        self.amend_people(By::Person(principal), |folk| {
            let person = folk.freshly_signed_in(principal)?;
            if person.totp.is_none() {
                return Err(EngineError::Invalid("set up a password and an authenticator app first".into()));
            }
            let recovery = codes.iter().map(|code| recovery_hash(code)).collect();
            let changed = Person { recovery, ..person.clone() };
            let change = PersonChange::Enrolled { factor: Factor::RecoveryCodes };
            Ok(Amendment::of(changed, change, codes.clone()))
        })
        .await
    }

    /// Gives up one's password and authenticator app. Other browsers are signed out.
    ///
    /// # Errors
    /// If the sign-in was not just now, or there would be no way to sign in left.
    pub async fn drop_password(&self, principal: &Principal) -> Result<(), EngineError> {
        self.amend_people(By::Person(principal), |folk| {
            let person = folk.freshly_signed_in(principal)?;
            let changed = Person { password: None, totp: None, recovery: Vec::new(), ..person.clone() };
            must_keep_a_way_in(&changed)?;
            Ok(Amendment::of(changed, PersonChange::Withdrawn { factor: Factor::Password }, ())
                .also(&person.name, PersonChange::Withdrawn { factor: Factor::Totp })
                .and(folk.end_other_sessions(principal)))
        })
        .await
    }

    /// Gives up a passkey. Other browsers are signed out.
    ///
    /// # Errors
    /// If the sign-in was not just now, it is not one's own, or there would be no way to sign in left.
    pub async fn drop_passkey(&self, principal: &Principal, id: &str) -> Result<(), EngineError> {
        self.amend_people(By::Person(principal), |folk| {
            let person = folk.freshly_signed_in(principal)?;
            let gone =
                person.passkeys.iter().find(|passkey| passkey.id == id).ok_or(EngineError::NotFound)?;
            let mut changed = person.clone();
            changed.passkeys.retain(|passkey| passkey.id != id);
            must_keep_a_way_in(&changed)?;
            let change = PersonChange::Withdrawn { factor: fact(gone) };
            Ok(Amendment::of(changed, change, ()).and(folk.end_other_sessions(principal)))
        })
        .await
    }
}

fn must_keep_a_way_in(person: &Person) -> Result<(), EngineError> {
    if person.can_sign_in() {
        Ok(())
    } else {
        Err(EngineError::Invalid("that is your last way to sign in: set up another first".into()))
    }
}

fn fresh_recovery_codes() -> Result<Vec<String>, EngineError> {
    let mut random = [[0; 10]; RECOVERY_CODES];
    for bytes in &mut random {
        ids::fill(bytes)?;
    }
    Ok(recovery_codes(&random))
}
