//! Hearing of what other nodes commit: by `NOTIFY`, and by looking every second where that does not get through.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use banksman_core::Timestamp;
use tokio::sync::{Notify, mpsc};

use super::address::Address;
use super::rows::{action_id, count, get, int};
use super::session::{Session, failed, told, within};
use crate::{News, NewsOf, StoreError};

/// What commits notify.
pub(super) const CHANNEL: &str = "banksman";

/// How often to look without having been notified. Compatible databases without `LISTEN` live by this alone.
const LOOK: Duration = Duration::from_secs(1);

/// How long a look may take before the connection counts as lost.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many events are looked at together.
const PAGE: i64 = 1000;

/// How many pages may wait for whoever follows; beyond that the log is read when they have caught up.
const AHEAD: usize = 4;

/// How many ranges of our own are remembered. Whatever is forgotten counts as another's, which costs a read.
const OWN: usize = 1024;

/// Events, each with the moment at which its action wakes by now, and whose it is if people need not look at it any more.
const EVENTS: &str = "\
    SELECT e.seq, e.action, a.wake_at,
           CASE WHEN e.type IN ('decided', 'modified', 'expired', 'cancelled') AND a.status <> 'pending' THEN a.agent END
    FROM audit e LEFT JOIN actions a ON a.id = e.action
    WHERE e.seq > $1 ORDER BY e.seq LIMIT $2";

/// The numbers of the events that this node itself committed, and whoever follows already knows of.
#[derive(Default)]
pub(super) struct Own(Mutex<VecDeque<RangeInclusive<u64>>>);

impl Own {
    pub(super) fn note(&self, events: RangeInclusive<u64>) {
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ranges.len() >= OWN {
            ranges.pop_front();
        }
        ranges.push_back(events);
    }

    /// Whether an event is our own. They are asked for in ascending order, and what lies before is forgotten.
    fn knows(&self, seq: u64) -> bool {
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while ranges.front().is_some_and(|events| *events.end() < seq) {
            ranges.pop_front();
        }
        ranges.front().is_some_and(|events| events.contains(&seq))
    }
}

/// Follows the log behind a place in it, until nobody listens any more. Through every loss of the connection: what was
/// missed is read afterwards.
pub(super) fn follow(address: Address, own: Arc<Own>, after: u64) -> mpsc::Receiver<News> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let mut place = after;
        while !sender.is_closed() {
            if let Err(error) = listen(&address, &own, &mut place, &sender).await {
                tracing::warn!(%error, "what other nodes commit cannot be heard; trying again");
                tokio::time::sleep(LOOK).await;
            }
        }
    });
    receiver
}

async fn listen(
    address: &Address,
    own: &Own,
    place: &mut u64,
    sender: &mpsc::Sender<News>,
) -> Result<(), StoreError> {
    let heard = Arc::new(Notify::new());
    let session = Session::connect_and_hear(address, Some(Arc::clone(&heard))).await?;
    // Listen before looking: what is committed in between is seen by one or the other.
    if let Err(error) = session.client.batch_execute(&format!("LISTEN {CHANNEL}")).await {
        tracing::warn!(error = told(&error), "the database knows no LISTEN; looking every second instead");
    }
    loop {
        let after = int(*place)?;
        let look = async { session.query(EVENTS, &[&after, &PAGE]).await.map_err(failed) };
        let events = within(PATIENCE, look).await?;
        if events.is_empty() {
            tokio::select! {
                () = heard.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = sender.closed() => return Ok(()),
            }
            continue;
        }
        let mut news = News::default();
        for event in &events {
            news.last_seq = count(event, 0)?;
            if own.knows(news.last_seq) {
                continue;
            }
            news.of.push(match get::<Option<&[u8]>>(event, 1)? {
                None => NewsOf::House,
                Some(_) => NewsOf::Action {
                    id: action_id(event, 1)?,
                    wakes_at: get::<Option<i64>>(event, 2)?.map(Timestamp::from_micros),
                    makes_room_for: get(event, 3)?,
                },
            });
        }
        *place = news.last_seq;
        if sender.send(news).await.is_err() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_events_are_known_once_and_others_never() {
        let own = Own::default();
        own.note(3..=5);
        own.note(9..=9);
        let known: Vec<u64> = (1..=12).filter(|seq| own.knows(*seq)).collect();
        assert_eq!(known, [3, 4, 5, 9]);
        assert!(own.0.lock().unwrap().is_empty());
    }

    #[test]
    fn what_nobody_follows_does_not_pile_up() {
        let own = Own::default();
        (1..=10_000).for_each(|seq| own.note(seq..=seq));
        assert_eq!(own.0.lock().unwrap().len(), OWN);
        assert!(own.knows(10_000));
    }
}
