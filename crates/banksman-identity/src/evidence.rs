//! Whether the audit log bears out what it says about passkeys: checked without the server and without its database.

use std::collections::{HashMap, HashSet};

use banksman_core::audit::{Event, Fact};
use banksman_core::{
    ActionId, Assertion, Decision, Factor, PasskeyFact, PersonChange, Signed, Standing, Status,
};

use crate::{PublicKey, Site, check_assertion, from_base64url, to_base64url};

/// The number of the first event of every log.
const FIRST: u64 = 1;

/// Something in the log that is not borne out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq}: {problem}")]
pub struct Flaw {
    /// The place of the event.
    pub seq: u64,
    /// What is wrong with it.
    pub problem: String,
}

/// How much of a log there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Extent {
    /// From its first event on: what is not in it did not happen.
    #[default]
    Whole,
    /// From somewhere on: what came before is unknown.
    Part,
}

/// Reads a log, event by event. From its beginning by default; [`Evidence::of_part`] takes what there is.
///
/// That the end of a log is missing cannot be seen in the log: compare [`Evidence::last`] with what is known elsewhere.
#[derive(Debug, Default)]
pub struct Evidence {
    extent: Extent,
    /// The passkeys that people had at this place of the log, by person and id; none where it was withdrawn.
    passkeys: HashMap<(String, String), Option<PasskeyFact>>,
    /// People of whom every passkey that they have is in this part of the log.
    known: HashSet<String>,
    /// Actions that wait, and whether their current version asks for a touch.
    waiting: HashMap<ActionId, bool>,
    first: Option<u64>,
    last: Option<u64>,
    proved: u64,
    unjudged: u64,
}

impl Evidence {
    /// For a log whose beginning is not at hand: what rests on the beginning is counted and not judged.
    #[must_use]
    pub fn of_part() -> Self {
        Self { extent: Extent::Part, ..Self::default() }
    }

    /// How many decisions were proved by a passkey.
    #[must_use]
    pub fn proved(&self) -> u64 {
        self.proved
    }

    /// How many decisions rest on what came before this part of the log. None, if it is whole.
    #[must_use]
    pub fn unjudged(&self) -> u64 {
        self.unjudged
    }

    /// The first event that was read.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.first
    }

    /// The last event that was read.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// Takes in the next event, or the next that could be read.
    ///
    /// # Errors
    /// If the log is not whole, or a decision is not proved as it should be.
    pub fn take(&mut self, seq: u64, event: &Event) -> Result<(), Flaw> {
        let place = self.follow(seq);
        // Even behind a gap: what it says counts for what comes later.
        let judged = self.judge(event).map_err(|problem| Flaw { seq, problem });
        place.and(judged)
    }

    /// Takes note of the place of an event that nobody can read.
    ///
    /// # Errors
    /// If the log is not whole.
    pub fn follow(&mut self, seq: u64) -> Result<(), Flaw> {
        let problem = match (self.last, self.extent) {
            (None, Extent::Whole) if seq != FIRST => {
                Some("it comes first, and what came before it is missing".to_owned())
            }
            (None, Extent::Whole | Extent::Part) => None,
            (Some(last), _) => (Some(seq) != last.checked_add(1))
                .then(|| format!("it follows event {last}: something between them is missing")),
        };
        self.first.get_or_insert(seq);
        self.last = Some(seq);
        problem.map_or(Ok(()), |problem| Err(Flaw { seq, problem }))
    }

    fn judge(&mut self, event: &Event) -> Result<(), String> {
        let judged = match &event.fact {
            Fact::Person { person, change } => {
                self.keep(person, change);
                Ok(())
            }
            Fact::Proposed { verdict, .. } => {
                self.demand(event, verdict.require_passkey);
                Ok(())
            }
            Fact::Decided { decision, step_up, .. } => self.decided(event, *decision, step_up.as_ref()),
            Fact::Modified { verdict, step_up, .. } => {
                let judged = self.decided(event, Decision::Modify, step_up.as_ref());
                self.demand(event, verdict.require_passkey);
                judged
            }
            _ => Ok(()),
        };
        // What no longer waits is not decided again, and whoever claims that it was finds no proposal.
        if let Some(action) = event.action.as_ref().filter(|action| action.status != Status::Pending) {
            self.waiting.remove(&action.id);
        }
        judged
    }

    fn keep(&mut self, person: &str, change: &PersonChange) {
        match change {
            PersonChange::Enrolled { factor: Factor::Passkey(passkey) } => {
                self.passkeys.insert((person.to_owned(), passkey.id.clone()), Some(passkey.clone()));
            }
            PersonChange::Withdrawn { factor: Factor::Passkey(passkey) } => {
                self.passkeys.insert((person.to_owned(), passkey.id.clone()), None);
            }
            PersonChange::Added { .. }
            | PersonChange::Reset
            | PersonChange::StandingChanged { standing: Standing::Removed } => {
                self.passkeys.retain(|(owner, _), _| owner != person);
                self.known.insert(person.to_owned());
            }
            PersonChange::Enrolled { factor: Factor::Password | Factor::Totp | Factor::RecoveryCodes }
            | PersonChange::Withdrawn { factor: Factor::Password | Factor::Totp | Factor::RecoveryCodes }
            | PersonChange::StandingChanged { standing: Standing::Active | Standing::Locked }
            | PersonChange::RightsChanged { .. }
            | PersonChange::Invited { .. }
            | PersonChange::LinkIssued { .. }
            | PersonChange::Confirmed
            | PersonChange::SignedIn { .. }
            | PersonChange::SignedOutEverywhere
            | PersonChange::HeldBack { .. } => {}
        }
    }

    fn demand(&mut self, event: &Event, demands: bool) {
        if let Some(action) = &event.action {
            self.waiting.insert(action.id, demands);
        }
    }

    fn decided(
        &mut self,
        event: &Event,
        decision: Decision,
        step_up: Option<&Assertion>,
    ) -> Result<(), String> {
        let Some(action) = &event.action else { return Err("a decision about nothing".into()) };
        let demands = self.waiting.get(&action.id).copied();
        if demands.is_none() && self.extent == Extent::Whole {
            return Err(format!("a decision about {}, which did not wait for one", action.id));
        }
        let Some(assertion) = step_up else {
            return match demands {
                Some(true) if decision.approves() => {
                    Err(format!("{} asked for the touch of a passkey, and there is no signature", action.id))
                }
                None if decision.approves() => {
                    self.unjudged += 1;
                    Ok(())
                }
                Some(_) | None => Ok(()),
            };
        };
        let by = event.actor.name().ok_or("a decision by nobody")?;
        let passkey = match self.passkeys.get(&(by.to_owned(), assertion.passkey.clone())) {
            Some(Some(passkey)) => passkey,
            None if self.extent == Extent::Part && !self.known.contains(by) => {
                self.unjudged += 1;
                return Ok(());
            }
            Some(None) | None => return Err(format!("{by} had no such passkey at this time")),
        };
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
