//! Hearing of what other nodes commit: by `NOTIFY`, and by looking every second where that does not get through.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use banksman_core::Timestamp;
use tokio::sync::{Notify, mpsc};

use super::address::Address;
use super::rows::{action_id, count, get, int};
use super::session::{Hear, Session, failed, told, within};
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

/// A lock that all who listen share, for others to count them by.
const LISTENING: i64 = 0x0062_616e_6b73_6d61;

const LISTENERS: &str = "\
    SELECT count(*) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint = $1::bigint >> 32
          AND objid::bigint = $1::bigint & 4294967295 AND granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// The numbers of the events that this node itself committed, and whoever follows already knows of.
#[derive(Default)]
pub(super) struct Own {
    ranges: Mutex<VecDeque<RangeInclusive<u64>>>,
    /// The database's process that writes for us. What it notifies of is nothing new here.
    writer: AtomicI32,
    /// Whether no other node listened when we last looked.
    alone: AtomicBool,
}

impl Own {
    /// From now on this process of the database writes for us.
    pub(super) fn write_by(&self, process: i32) {
        self.writer.store(process, Ordering::Relaxed);
    }

    pub(super) fn is_writer(&self, process: i32) -> bool {
        self.writer.load(Ordering::Relaxed) == process
    }

    /// Whether nobody has to be notified. Whoever begins to listen looks every second until we have noticed.
    pub(super) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    fn ranges(&self) -> MutexGuard<'_, VecDeque<RangeInclusive<u64>>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was just committed. Not before it is known to be: what was lost on the way is news to us too.
    pub(super) fn note_behind(&self, before: u64, last: u64) {
        if last > before {
            self.note(before + 1..=last);
        }
    }

    fn note(&self, events: RangeInclusive<u64>) {
        let mut ranges = self.ranges();
        if ranges.len() >= OWN {
            ranges.pop_front();
        }
        ranges.push_back(events);
    }

    /// The last of the events behind a place that are all our own, or that place.
    fn reach(&self, mut place: u64) -> u64 {
        let mut ranges = self.ranges();
        while let Some(events) = ranges.pop_front_if(|events| *events.start() <= place + 1) {
            place = place.max(*events.end());
        }
        place
    }

    /// Whether an event is our own. They are asked for in ascending order, and what lies before is forgotten.
    fn knows(&self, seq: u64) -> bool {
        let mut ranges = self.ranges();
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
            let listened = listen(&address, Arc::clone(&own), &mut place, &sender).await;
            // Others may come while we do not look.
            own.alone.store(false, Ordering::Relaxed);
            if let Err(error) = listened {
                tracing::warn!(%error, "what other nodes commit cannot be heard; trying again");
                tokio::time::sleep(LOOK).await;
            }
        }
    });
    receiver
}

async fn listen(
    address: &Address,
    own: Arc<Own>,
    place: &mut u64,
    sender: &mpsc::Sender<News>,
) -> Result<(), StoreError> {
    let heard = Arc::new(Notify::new());
    let (wake, ours) = (Arc::clone(&heard), Arc::clone(&own));
    let hear: Hear = Box::new(move |notifying| {
        if !ours.is_writer(notifying) {
            wake.notify_one();
        }
    });
    let session = Session::connect_and_hear(address, Some(hear)).await?;
    session.plan_once().await;
    // Listen before looking: what is committed in between is seen by one or the other.
    if let Err(error) = session.client.batch_execute(&format!("LISTEN {CHANNEL}")).await {
        tracing::warn!(error = told(&error), "the database knows no LISTEN; looking every second instead");
    }
    // From here on others know of us; compatible databases may have no such lock, and then nobody is ever alone.
    let counted = session.query("SELECT pg_advisory_lock_shared($1)", &[&LISTENING]).await.is_ok();
    loop {
        // Our own events need not be read to be passed over. One of unknown fate is not among them.
        *place = own.reach(*place);
        let after = int(*place)?;
        let look = async { session.query(EVENTS, &[&after, &PAGE]).await.map_err(failed) };
        let events = within(PATIENCE, look).await?;
        if events.is_empty() {
            if counted {
                let look = async { session.query(LISTENERS, &[&LISTENING]).await.map_err(failed) };
                let listeners = within(PATIENCE, look).await?;
                let alone = listeners.first().map(|row| count(row, 0)).transpose()? == Some(1);
                own.alone.store(alone, Ordering::Relaxed);
            }
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
        assert!(own.ranges().is_empty());
    }

    #[test]
    fn our_own_events_are_passed_over_up_to_the_first_of_another() {
        let own = Own::default();
        [1..=3, 4..=4, 7..=9].into_iter().for_each(|events| own.note(events));
        assert_eq!(own.reach(0), 4);
        assert_eq!(own.reach(4), 4);
        assert_eq!(own.reach(5), 5);
        assert_eq!(own.reach(6), 9);
        assert_eq!(own.reach(9), 9);
        assert!(own.ranges().is_empty());
    }

    #[test]
    fn what_nobody_follows_does_not_pile_up() {
        let own = Own::default();
        (1..=10_000).for_each(|seq| own.note(seq..=seq));
        assert_eq!(own.ranges().len(), OWN);
        assert!(own.knows(10_000));
    }
}
