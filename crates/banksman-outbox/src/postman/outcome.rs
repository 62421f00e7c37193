//! What came of a delivery, for the store and for the audit log. Values in, values out.

use std::time::Duration;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, DeliveryStatus, Timestamp};
use banksman_notify::{SendError, Sent, Trouble};
use banksman_store::{Attempt, Delivery};

use crate::Retries;

/// How a message was tried.
pub(super) struct Try<'a> {
    /// The delivery that the message is called by.
    pub(super) message: i64,
    pub(super) answer: &'a Result<Sent, SendError>,
    pub(super) retries: Retries,
    /// Any number; the same for all that go together, or they would come back one by one.
    pub(super) chance: u32,
    /// When the channel last took anything, from anyone.
    pub(super) worked: Option<Timestamp>,
    /// Whether a repetition is told from another message.
    pub(super) tells_repetition: bool,
    pub(super) now: Timestamp,
}

impl Try<'_> {
    /// What came of it, for one of the deliveries that went together.
    pub(super) fn outcome(&self, delivery: &Delivery) -> Attempt {
        let tried = Attempt {
            attempt: delivery.attempt.saturating_add(1),
            status: DeliveryStatus::Failed,
            next_at: None,
            error: None,
            ..put_off(delivery, self.now, self.now)
        };
        match self.answer {
            Ok(Sent { provider_id, delivered }) => Attempt {
                status: if *delivered { DeliveryStatus::Delivered } else { DeliveryStatus::Sent },
                message: Some(self.message),
                bundle: Some(self.message),
                provider_id: provider_id.clone(),
                ..tried
            },
            Err(SendError::Never { why }) => Attempt { error: Some(why.clone()), ..tried },
            Err(SendError::Later { trouble, after, why }) => {
                let tried = Attempt { error: Some(why.clone()), ..tried };
                self.again_or_not(delivery, tried, *trouble, after.unwrap_or_default())
            }
        }
    }

    fn again_or_not(
        &self,
        delivery: &Delivery,
        tried: Attempt,
        trouble: Trouble,
        after: Duration,
    ) -> Attempt {
        let pause = self.retries.pause(tried.attempt, self.chance).max(after);
        let again = |attempt: Attempt| Attempt {
            status: DeliveryStatus::Retrying,
            next_at: Some(self.now.after(pause)),
            ..attempt
        };
        match trouble {
            // Nothing is wrong with it: it waits for its turn, as long as it matters.
            Trouble::Busy => again(Attempt { attempt: delivery.attempt, ..tried }),
            Trouble::NotTaken | Trouble::Unsure => {
                let strikes = delivery.strikes.saturating_add(u32::from(self.counts(delivery, trouble)));
                // What may have been taken stays the message that it was.
                let bundle = tried.bundle.or((trouble == Trouble::Unsure).then_some(self.message));
                let tried = Attempt { strikes, bundle, ..tried };
                if strikes >= self.retries.tries { tried } else { again(tried) }
            }
        }
    }

    /// Tries count while the channel works: the first, and each before which it took something since the last. While
    /// it takes nothing from anyone, its messages wait for it: what a provider's bad hour delays is sent when it is
    /// over, if it still matters, and then has as many tries as it had left. But what may have been taken, and would be
    /// there once more with every try, always counts: a provider that takes messages and never says so would get copies
    /// for as long as the action waits.
    fn counts(&self, delivery: &Delivery, trouble: Trouble) -> bool {
        let may_be_a_copy = trouble == Trouble::Unsure && !self.tells_repetition;
        may_be_a_copy || delivery.attempt == 0 || self.worked.is_some_and(|at| at >= delivery.updated_at)
    }
}

/// Not now, and no try.
pub(super) fn put_off(delivery: &Delivery, until: Timestamp, now: Timestamp) -> Attempt {
    Attempt {
        id: delivery.id,
        after: delivery.attempt,
        attempt: delivery.attempt,
        status: delivery.status,
        next_at: Some(until),
        message: None,
        provider_id: None,
        error: delivery.error.clone(),
        bundle: delivery.bundle,
        strikes: delivery.strikes,
        at: now,
    }
}

/// Not at all.
pub(super) fn ended(delivery: &Delivery, status: DeliveryStatus, why: &str, now: Timestamp) -> Attempt {
    Attempt { status, next_at: None, error: Some(why.to_owned()), ..put_off(delivery, now, now) }
}

/// What the audit log says of it: that someone was told, or never will be. Tries in between are in the row.
pub(super) fn event(delivery: &Delivery, attempt: &Attempt) -> Option<Event> {
    let fact = Fact::Notified {
        about: delivery.action,
        delivery: delivery.id,
        purpose: delivery.purpose,
        channel: delivery.channel.clone(),
        recipient: delivery.recipient.clone(),
        outcome: attempt.status,
        error: attempt.error.clone(),
    };
    (!attempt.status.is_open()).then(|| Event::general(attempt.at, Actor::System, fact))
}
