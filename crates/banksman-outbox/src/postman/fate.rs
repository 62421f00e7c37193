//! Whether a delivery still matters, and may be sent now.

use std::time::Duration;

use banksman_core::{Case, DeliveryStatus, Purpose, State, Timestamp};
use banksman_engine::EngineError;
use banksman_store::{Attempt, Delivery, DeliveryQuery};

use super::outcome::{ended, put_off};
use super::parcel::{DIGEST, Parcel};
use crate::Outbox;

/// What policy only wants known is worth knowing for this long.
const NEWS: Duration = Duration::from_secs(24 * 3600);

/// And what became of a message is worth saying on it for this long.
const CORRECTION: Duration = Duration::from_secs(7 * 24 * 3600);

/// How long to wait for a message that is being sent, before it is changed.
const UNDER_WAY: Duration = Duration::from_secs(2);

/// What is to become of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Send,
    Wait(Timestamp),
    Skip(&'static str),
    Fail(&'static str),
}

impl Fate {
    /// What is to be written down; `None` for what is to be sent.
    pub(super) fn unsent(self, delivery: &Delivery, now: Timestamp) -> Option<Attempt> {
        match self {
            Self::Send => None,
            Self::Wait(until) => Some(put_off(delivery, until, now)),
            Self::Skip(why) => Some(ended(delivery, DeliveryStatus::Skipped, why, now)),
            Self::Fail(why) => Some(ended(delivery, DeliveryStatus::Failed, why, now)),
        }
    }
}

impl Outbox {
    pub(super) async fn fate(&self, delivery: &Delivery, now: Timestamp) -> Result<Fate, EngineError> {
        let Some(contact) = self.directory.contact(&delivery.recipient) else {
            return Ok(Fate::Fail("the configuration no longer knows the recipient"));
        };
        if !contact.addresses.contains_key(&delivery.channel) {
            return Ok(Fate::Fail("the recipient no longer has an address on this channel"));
        }
        let case = match self.engine.case(delivery.action).await {
            Ok(case) => case,
            // One action that is gone holds up no other.
            Err(EngineError::NotFound) => return Ok(Fate::Skip("its action is no longer on record")),
            Err(error) => return Err(error),
        };
        let matters = match delivery.purpose {
            // A message that is there is changed without a sound, whatever the hour.
            Purpose::Settled => return self.fate_of_correction(delivery, now).await,
            Purpose::Told if now.since(delivery.created_at) > NEWS => Fate::Skip("it is old news"),
            Purpose::Told => Fate::Send,
            Purpose::Ask | Purpose::Again | Purpose::Escalated => asks_for(&case, delivery.version, now),
        };
        let awake = contact.not_before(now, case.submission.verdict.risk);
        Ok(if matters == Fate::Send && awake > now { Fate::Wait(awake) } else { matters })
    }

    /// What corrects a message goes after it: not while that is under way, and not if it never arrived.
    async fn fate_of_correction(&self, delivery: &Delivery, now: Timestamp) -> Result<Fate, EngineError> {
        if now.since(delivery.created_at) > CORRECTION {
            return Ok(Fate::Skip("it is old news"));
        }
        let corrected = self.engine.deliveries(of_message(delivery.round)).await?;
        if !corrected.is_empty() {
            return Ok(Fate::Send);
        }
        let tried = self.engine.deliveries(of_bundle(delivery.round)).await?;
        let under_way = tried.iter().filter_map(|tried| tried.next_at).max();
        Ok(match under_way {
            Some(due) => Fate::Wait(due.max(now.after(UNDER_WAY))),
            None if tried.is_empty() => Fate::Skip("what it would correct was never sent"),
            None => Fate::Send,
        })
    }

    /// What is to become of a message: it goes as it was made if anyone needs any of it.
    pub(super) async fn fates(&self, parcel: &Parcel, now: Timestamp) -> Result<Vec<Fate>, EngineError> {
        let mut fates = Vec::new();
        for part in parcel.parts() {
            fates.push(self.fate(part, now).await?);
        }
        if fates.contains(&Fate::Send) {
            return Ok(vec![Fate::Send; fates.len()]);
        }
        let soonest = fates.iter().filter_map(|fate| match fate {
            Fate::Wait(until) => Some(*until),
            Fate::Send | Fate::Skip(_) | Fate::Fail(_) => None,
        });
        let soonest = soonest.min();
        Ok(soonest.map_or(fates.clone(), |until| vec![Fate::Wait(until); fates.len()]))
    }

    /// Until when a recipient is to be left alone, if they were sent too much lately.
    pub(super) async fn too_much(
        &self,
        delivery: &Delivery,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, EngineError> {
        let limits = self.directory.limits;
        let window = i64::try_from(limits.within.as_micros()).unwrap_or(i64::MAX);
        let since = Timestamp::from_micros(now.as_micros().saturating_sub(window));
        let told = self.engine.told(&delivery.channel, &delivery.recipient, since).await?;
        // What gathers meanwhile goes in one message.
        let share = limits.within / u32::try_from(limits.messages.max(1)).unwrap_or(u32::MAX);
        Ok((told >= limits.messages).then(|| now.after(share.max(Duration::from_secs(1)))))
    }
}

fn asks_for(case: &Case, version: u32, now: Timestamp) -> Fate {
    match &case.state {
        State::Pending { deadline, .. } if *deadline <= now => Fate::Skip("it has expired"),
        State::Pending { .. } if case.version != version => Fate::Skip("it has been edited since"),
        State::Pending { .. } => Fate::Send,
        State::Expired { .. } => Fate::Skip("it has expired"),
        State::Blocked { .. }
        | State::Authorised { .. }
        | State::Denied { .. }
        | State::Cancelled { .. }
        | State::Executing { .. }
        | State::Succeeded { .. }
        | State::Failed { .. }
        | State::Unknown { .. }
        | State::Lapsed { .. }
        | State::Revoked { .. } => Fate::Skip("it has been settled"),
    }
}

/// What went with a message that was sent.
pub(super) fn of_message(message: i64) -> DeliveryQuery {
    DeliveryQuery { message: Some(message), limit: DIGEST, ..DeliveryQuery::default() }
}

/// What goes with a message, sent or not.
pub(super) fn of_bundle(first: i64) -> DeliveryQuery {
    DeliveryQuery { bundle: Some(first), limit: DIGEST, ..DeliveryQuery::default() }
}
