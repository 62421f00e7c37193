//! Whether the audit log bears out what it says about passkeys: checked without the server and without its database.

use std::collections::{HashMap, HashSet};

use banksman_core::audit::{Event, Fact};
use banksman_core::{ActionId, Assertion, Decision, Factor, PasskeyFact, PersonChange, Signed};

use crate::{PublicKey, Site, check_assertion, from_base64url, to_base64url};

/// Something in the log that is not borne out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq}: {problem}")]
pub struct Flaw {
    /// The place of the event.
    pub seq: u64,
    /// What is wrong with it.
    pub problem: String,
}

/// Reads a log from its beginning, event by event.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The passkeys that people had at this place of the log, by person and id.
    passkeys: HashMap<(String, String), PasskeyFact>,
    /// Actions whose current version asks for a touch.
    demanding: HashSet<ActionId>,
    last_seq: Option<u64>,
    proved: u64,
}

impl Evidence {
    /// How many decisions were proved by a passkey.
    #[must_use]
    pub fn proved(&self) -> u64 {
        self.proved
    }

    /// Takes in the next event.
    ///
    /// # Errors
    /// If the log is not whole, or a decision is not proved as it should be.
    pub fn take(&mut self, seq: u64, event: &Event) -> Result<(), Flaw> {
        let flaw = |problem: String| Flaw { seq, problem };
        if let Some(last) = self.last_seq.filter(|last| seq != last + 1) {
            self.last_seq = Some(seq);
            return Err(flaw(format!("it follows event {last}: something between them is missing")));
        }
        self.last_seq = Some(seq);
        match &event.fact {
            Fact::Person { person, change } => self.keep(person, change),
            Fact::Proposed { verdict, .. } => self.demand(event, verdict.require_passkey),
            Fact::Decided { decision, step_up, .. } => {
                self.decided(event, *decision, step_up.as_ref()).map_err(flaw)?;
            }
            Fact::Modified { verdict, step_up, .. } => {
                self.decided(event, Decision::Modify, step_up.as_ref()).map_err(flaw)?;
                self.demand(event, verdict.require_passkey);
            }
            _ => {}
        }
        Ok(())
    }

    fn keep(&mut self, person: &str, change: &PersonChange) {
        match change {
            PersonChange::Enrolled { factor: Factor::Passkey(passkey) } => {
                self.passkeys.insert((person.to_owned(), passkey.id.clone()), passkey.clone());
            }
            PersonChange::Withdrawn { factor: Factor::Passkey(passkey) } => {
                self.passkeys.remove(&(person.to_owned(), passkey.id.clone()));
            }
            PersonChange::Reset => self.passkeys.retain(|(owner, _), _| owner != person),
            _ => {}
        }
    }

    fn demand(&mut self, event: &Event, demands: bool) {
        let Some(action) = &event.action else { return };
        if demands {
            self.demanding.insert(action.id);
        } else {
            self.demanding.remove(&action.id);
        }
    }

    fn decided(
        &mut self,
        event: &Event,
        decision: Decision,
        step_up: Option<&Assertion>,
    ) -> Result<(), String> {
        let Some(action) = &event.action else { return Err("a decision about nothing".into()) };
        let Some(assertion) = step_up else {
            return if decision.approves() && self.demanding.contains(&action.id) {
                Err(format!("{} asked for the touch of a passkey, and there is no signature", action.id))
            } else {
                Ok(())
            };
        };
        let by = event.actor.name().ok_or("a decision by nobody")?;
        let passkey = self
            .passkeys
            .get(&(by.to_owned(), assertion.passkey.clone()))
            .ok_or_else(|| format!("{by} had no such passkey at this time"))?;
        let signed =
            Signed { action: action.id, digest: action.digest, version: action.version, decision, by };
        verify(passkey, &signed, assertion).map_err(|problem| format!("the signature of {by}: {problem}"))?;
        self.proved += 1;
        Ok(())
    }
}

fn verify(passkey: &PasskeyFact, signed: &Signed<'_>, assertion: &Assertion) -> Result<(), String> {
    let bytes = |text: &str| from_base64url(text).ok_or_else(|| "it is not base64url".to_owned());
    let key = PublicKey::from_cose(&bytes(&passkey.key)?).map_err(|error| error.to_string())?;
    let client_data = bytes(&assertion.client_data)?;
    let site = Site::of_assertion(&passkey.rp_id, &client_data)
        .ok_or_else(|| format!("it was made on a page that is not of {}", passkey.rp_id))?;
    let challenge = to_base64url(signed.challenge(&assertion.nonce).as_bytes());
    check_assertion(
        &site,
        &challenge,
        &key,
        &client_data,
        &bytes(&assertion.authenticator_data)?,
        &bytes(&assertion.signature)?,
    )
    .map(drop)
    .map_err(|error| error.to_string())
}
