//! The record of what was refused.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use banksman_core::audit::{Event, Fact};
use banksman_core::visible::brief;
use banksman_core::{Actor, Timestamp};
use banksman_engine::EngineError;
use banksman_notify::Inbound;

use super::Why;
use crate::Outbox;

/// How many refusals of one kind, on one channel, are recorded one by one in a while; anyone can send forged requests.
const RECORDED: u32 = 20;
const WHILE: Duration = Duration::from_secs(60);

/// Ids are the provider's words.
const LONGEST_ID: usize = 128;

/// How many refusals there is still room for, on each channel and of each kind: whoever floods us with forgeries does not keep what a
/// stranger tried off the record. There are as many kinds as the program has names for.
#[derive(Debug, Default)]
pub(crate) struct Allowance(Mutex<BTreeMap<(String, &'static str), Used>>);

#[derive(Debug, Default)]
struct Used {
    since: Timestamp,
    recorded: u32,
    left_out: u64,
}

impl Allowance {
    /// Room for one more, with how many of the kind were left out before; `None` if there is none, and then this one
    /// is.
    fn take(&self, channel: &str, kind: &'static str, now: Timestamp) -> Option<u64> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = kinds.entry((channel.to_owned(), kind)).or_default();
        // A clock that goes backwards begins another while too.
        if now < used.since || now.since(used.since) >= WHILE {
            (used.since, used.recorded) = (now, 0);
        }
        if used.recorded >= RECORDED {
            used.left_out += 1;
            return None;
        }
        used.recorded += 1;
        Some(std::mem::take(&mut used.left_out))
    }
}

impl Outbox {
    /// Records that something that came in changes nothing.
    pub(super) async fn record_refused(
        &self,
        channel: &str,
        why: Why,
        inbound: Option<&Inbound>,
    ) -> Result<(), EngineError> {
        let now = self.engine.now();
        tracing::warn!(channel, why = why.as_str(), "what came in by a channel was refused");
        let Some(unrecorded) = self.allowance.take(channel, why.as_str(), now) else { return Ok(()) };
        let id = |text: &str| brief(text, LONGEST_ID);
        let fact = Fact::InboundRefused {
            why: why.as_str().to_owned(),
            event: inbound.map(|inbound| id(&inbound.event)),
            who: inbound.and_then(|inbound| inbound.who.as_deref()).map(id),
            about: inbound.and_then(|inbound| inbound.wish.about()),
            unrecorded,
        };
        // About the house: an event about an action is a step of it.
        let event = Event::general(now, Actor::System, fact).by_way_of(channel);
        self.engine.record_events(vec![event]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_recorded_one_by_one() {
        let allowance = Allowance::default();
        let second = |count: i64| Timestamp::from_micros(count * 1_000_000);
        let taken = (0..1000).filter(|_| allowance.take("slack", "forged", second(100)).is_some()).count();
        assert_eq!(taken, 20);
        assert_eq!(allowance.take("slack", "forged", second(159)), None);
        assert_eq!(allowance.take("slack", "stranger", second(159)), Some(0), "which is another matter");
        assert_eq!(allowance.take("line", "forged", second(159)), Some(0), "and so is another channel");
        assert_eq!(allowance.take("slack", "forged", second(160)), Some(981));
        assert_eq!(allowance.take("slack", "forged", second(161)), Some(0));
        // The clock went back.
        assert_eq!(allowance.take("slack", "forged", second(3)), Some(0));
    }
}
