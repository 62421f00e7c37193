//! Passkeys: asking for one, keeping it, signing in with it.

use std::time::Duration;

use banksman_core::{Digest, PersonChange, Principal, SignInMethod, Standing};
use banksman_identity::{
    NewPasskey, PublicKey, Site, WebauthnError, assertion_challenge, check_assertion, check_registration,
    from_base64url, to_base64url,
};
use banksman_store::{ControlChange, Passkey, Person};

use super::factors::fact;
use super::sessions::NewSession;
use super::{Amendment, By, Folk};
use crate::{Engine, EngineError, IssuedToken, ids};

/// How long someone may look for their key.
pub(super) const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// More than this, nobody needs.
const MOST: usize = 20;

const SIGN_IN: &str = "sign in with a passkey";

fn enrolment(person: &Person) -> String {
    format!("a passkey for {}", person.id)
}

/// What a page asks the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyQuestion {
    /// The challenge, in base64url.
    pub challenge: String,
    /// The site.
    pub rp_id: String,
    /// Which passkeys may answer; any of the site's, if none is named. For a new one, those that there are already.
    pub passkeys: Vec<String>,
}

/// What the browser answers when it made a passkey. All of it is base64url.
#[derive(Debug, Clone)]
pub struct PasskeyRegistration {
    /// The challenge that the page asked.
    pub challenge: String,
    /// What the browser said.
    pub client_data: String,
    /// What the authenticator said.
    pub attestation: String,
    /// What its owner calls it.
    pub label: String,
}

/// What the browser answers when a passkey signed. All of it is base64url.
#[derive(Debug, Clone)]
pub struct PasskeyAnswer {
    /// Which passkey.
    pub id: String,
    /// What the browser said.
    pub client_data: String,
    /// What the authenticator said.
    pub authenticator_data: String,
    /// The signature.
    pub signature: String,
}

impl Engine {
    pub(super) fn fresh_challenge(&self, purpose: &str) -> Result<String, EngineError> {
        let mut random = [0; 16];
        ids::fill(&mut random)?;
        Ok(self.identity.challenges.issue(purpose, random, self.clock.now().after(PATIENCE)))
    }

    /// What to ask the browser of someone who wants another passkey.
    ///
    /// # Errors
    /// If the machine has no entropy.
    pub fn ask_for_passkey(&self, site: &Site, person: &Person) -> Result<PasskeyQuestion, EngineError> {
        Ok(PasskeyQuestion {
            challenge: self.fresh_challenge(&enrolment(person))?,
            rp_id: site.rp_id.clone(),
            passkeys: person.passkeys.iter().map(|passkey| passkey.id.clone()).collect(),
        })
    }

    /// What to ask the browser of someone who wants to sign in with a passkey.
    ///
    /// # Errors
    /// If the machine has no entropy.
    pub fn ask_who(&self, site: &Site) -> Result<PasskeyQuestion, EngineError> {
        let challenge = self.fresh_challenge(SIGN_IN)?;
        Ok(PasskeyQuestion { challenge, rp_id: site.rp_id.clone(), passkeys: Vec::new() })
    }

    /// Checks a new passkey; nothing is kept yet.
    pub(super) fn ready_passkey(
        &self,
        site: &Site,
        person: &Person,
        new: &PasskeyRegistration,
    ) -> Result<Passkey, EngineError> {
        let now = self.clock.now();
        if self.identity.challenges.recognise(&enrolment(person), &new.challenge, now).is_none() {
            return Err(EngineError::NotProved("the page is too old; load it again".into()));
        }
        let (client_data, attestation) = (decoded(&new.client_data)?, decoded(&new.attestation)?);
        let made =
            check_registration(site, &new.challenge, &client_data, &attestation).map_err(not_proved)?;
        let NewPasskey { id, key, count } = made;
        let label: String = new.label.trim().chars().filter(|c| !c.is_control()).take(64).collect();
        Ok(Passkey {
            id: to_base64url(&id),
            key: to_base64url(&key),
            rp_id: site.rp_id.clone(),
            count,
            label: if label.is_empty() { "passkey".into() } else { label },
            added_at: now,
        })
    }

    /// Keeps another passkey of one's own.
    ///
    /// # Errors
    /// If the sign-in was not just now, or what the browser answered does not hold.
    pub async fn add_passkey(
        &self,
        principal: &Principal,
        site: &Site,
        new: PasskeyRegistration,
    ) -> Result<(), EngineError> {
        let person = self.oneself(principal).await?.ok_or(EngineError::NotFound)?;
        let passkey = self.ready_passkey(site, &person, &new)?;
        self.amend_people(By::Person(principal), |folk| {
            let person = folk.freshly_signed_in(principal)?;
            let (changed, change) = given(folk, person, &passkey)?;
            Ok(Amendment::of(changed, change, ()))
        })
        .await
    }

    /// Signs in whoever shows a passkey.
    ///
    /// # Errors
    /// If what the browser answered does not hold, or was used before.
    pub async fn sign_in_with_passkey(
        &self,
        site: &Site,
        answer: PasskeyAnswer,
        browser: &str,
    ) -> Result<IssuedToken, EngineError> {
        let client_data = decoded(&answer.client_data)?;
        let challenge = assertion_challenge(&client_data).map_err(not_proved)?;
        let until = self.identity.challenges.recognise(SIGN_IN, &challenge, self.clock.now());
        let until =
            until.ok_or_else(|| EngineError::NotProved("the page is too old; load it again".into()))?;
        let spent = Digest::of(challenge.as_bytes());
        let session = NewSession::new(browser)?;
        for_once(self.store.is_spent(spent).await?)?;
        let signed_in = self.amend_people(By::Operator, |folk| {
            let (person, passkey) = folk.holder_of(&answer.id, site)?;
            let count = self.check_answer(site, &challenge, passkey, &answer)?;
            let changed = counted(person, &passkey.id, count);
            let (control, change, token) = session.begin(person, SignInMethod::Passkey, folk.now);
            let spend = ControlChange::Spend { key: spent, at: folk.now, until };
            Ok(Amendment::of(changed, change, token).and([control, spend]).by(person))
        });
        match signed_in.await {
            // Two at the same instant: the second cannot be written.
            Err(EngineError::Store(error)) => {
                for_once(self.store.is_spent(spent).await?)?;
                Err(error.into())
            }
            done => done,
        }
    }

    /// Whether a passkey signed this challenge, and how many signatures it counts.
    pub(super) fn check_answer(
        &self,
        site: &Site,
        challenge: &str,
        passkey: &Passkey,
        answer: &PasskeyAnswer,
    ) -> Result<u32, EngineError> {
        let key = PublicKey::from_cose(&decoded(&passkey.key)?)
            .map_err(|_| not_proved(WebauthnError::UnknownKey))?;
        let (client_data, authenticator, signature) = (
            decoded(&answer.client_data)?,
            decoded(&answer.authenticator_data)?,
            decoded(&answer.signature)?,
        );
        let count = check_assertion(site, challenge, &key, &client_data, &authenticator, &signature)
            .map_err(not_proved)?;
        // Passkeys that live on several devices count nothing; those that count have to count up.
        if (count != 0 || passkey.count != 0) && count <= passkey.count {
            return Err(not_proved(WebauthnError::Copied));
        }
        Ok(count)
    }
}

impl Folk {
    fn holder_of(&self, id: &str, site: &Site) -> Result<(&Person, &Passkey), EngineError> {
        let found =
            self.people.iter().filter(|person| person.standing == Standing::Active).find_map(|person| {
                let passkey =
                    person.passkeys.iter().find(|passkey| passkey.id == id && passkey.rp_id == site.rp_id)?;
                Some((person, passkey))
            });
        found.ok_or(EngineError::Unauthenticated)
    }
}

/// The person with one more passkey, which nobody else has.
pub(super) fn given(
    folk: &Folk,
    person: &Person,
    passkey: &Passkey,
) -> Result<(Person, PersonChange), EngineError> {
    if folk.people.iter().any(|other| other.passkeys.iter().any(|known| known.id == passkey.id)) {
        return Err(EngineError::Invalid("this passkey is known already".into()));
    }
    if person.passkeys.len() >= MOST {
        return Err(EngineError::Invalid(format!("nobody has more than {MOST} passkeys")));
    }
    let mut changed = person.clone();
    changed.passkeys.push(passkey.clone());
    Ok((changed, PersonChange::Enrolled { factor: fact(passkey) }))
}

/// The person after one of their passkeys signed.
pub(super) fn counted(person: &Person, id: &str, count: u32) -> Person {
    let mut changed = person.clone();
    for passkey in changed.passkeys.iter_mut().filter(|passkey| passkey.id == id) {
        passkey.count = count;
    }
    changed
}

fn for_once(spent: bool) -> Result<(), EngineError> {
    if spent { Err(EngineError::NotProved("this answer was used before".into())) } else { Ok(()) }
}

pub(super) fn decoded(text: &str) -> Result<Vec<u8>, EngineError> {
    from_base64url(text).ok_or_else(|| not_proved(WebauthnError::Unreadable))
}

pub(super) fn not_proved(error: WebauthnError) -> EngineError {
    EngineError::NotProved(error.to_string())
}
