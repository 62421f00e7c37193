//! Hearing of what other nodes commit: by `NOTIFY`, and by looking every second where that does not get through.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use banksman_core::Timestamp;
use tokio::sync::mpsc;

use super::address::Address;
use super::ahead::{Ahead, Next};
use super::heard::Heard;
use super::own::Own;
use super::rows::{action_id, count, get, int};
use super::session::{Session, failed, within};
use super::telling::{Told, makes_room};
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

/// Events, each with the moment at which its action wakes by now, whether it is pending, and whose it is.
const EVENTS: &str = "\
    SELECT e.seq, e.action, a.wake_at, e.type, coalesce(a.status = 'pending', true), a.agent
    FROM audit e LEFT JOIN actions a ON a.id = e.action
    WHERE e.seq > $1 ORDER BY e.seq LIMIT $2";

/// A lock that all who listen share, for others to count them by.
pub(super) const LISTENING: i64 = 0x0062_616e_6b73_6d61;

const LISTENERS: &str = "\
    SELECT count(*) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint = $1::bigint >> 32
          AND objid::bigint = $1::bigint & 4294967295 AND granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Follows the log behind a place in it, until nobody listens any more. Through every loss of a connection: what was
/// missed is read afterwards.
pub(super) fn follow(address: Address, own: Arc<Own>, heard: Arc<Heard>, after: u64) -> mpsc::Receiver<News> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let mut place = after;
        let mut unanswered = Unanswered::default();
        while !sender.is_closed() {
            let listened = listen(&address, &own, &heard, &mut place, &mut unanswered, &sender).await;
            // Others may come while we do not look.
            own.set_alone(false);
            if let Err(error) = listened {
                tracing::warn!(%error, "what other nodes commit cannot be looked for; trying again");
                tokio::time::sleep(LOOK).await;
            }
        }
    });
    receiver
}

async fn listen(
    address: &Address,
    own: &Own,
    heard: &Heard,
    place: &mut u64,
    unanswered: &mut Unanswered,
    sender: &mpsc::Sender<News>,
) -> Result<(), StoreError> {
    let session = Session::connect(address).await?;
    let joining = async {
        session.plan_once().await;
        // From here on others know of us; compatible databases may have no such lock, and then nobody is ever alone.
        Ok(session.query("SELECT pg_advisory_lock_shared($1)", &[&LISTENING]).await.is_ok())
    };
    // Whoever follows must not wait for ever for a line that fell silent: nobody else would tell this node of anything.
    let counts = within(PATIENCE, joining).await?;
    let mut counted: Option<Instant> = None;
    let mut ahead = Ahead::default();
    let mut looks = true;
    loop {
        address.presence.check_over()?;
        heard.want();
        // Not more often than that: the database holds up all who lock or let go while it counts locks.
        if counts && counted.is_none_or(|then| then.elapsed() >= LOOK) {
            own.set_alone(is_alone(&session).await?);
            counted = Some(Instant::now());
        }
        let mut news = News { last_seq: *place, of: Vec::new() };
        unanswered.settle(own, &mut news);
        if unanswered.0.is_empty() {
            own.forget(*place);
        }
        if looks && !news.of.is_empty() {
            // Looking may fail, and would not find these again: the place is behind them.
            let settled = News { last_seq: *place, of: std::mem::take(&mut news.of) };
            if sender.send(settled).await.is_err() {
                return Ok(());
            }
        }
        // One or the other: looking forgets which events are our own, and so nothing of ours may be waiting for its answer.
        looks = if looks {
            // What was told is in the log by now, unless it never happened.
            ahead.clear();
            !look(&session, own, &mut news).await?
        } else {
            let said = heard.take();
            said.missed || add(said.of, own, unanswered, &mut ahead, &mut news)
        };
        *place = news.last_seq;
        if !news.of.is_empty() && sender.send(news).await.is_err() {
            return Ok(());
        }
        if !looks {
            let silence = Instant::now() + LOOK;
            let until = ahead.until().map_or(silence, |late| late.min(silence));
            // What was said since we took it is remembered.
            tokio::select! {
                () = heard.more() => {}
                () = tokio::time::sleep_until(until.into()) => looks = true,
                () = sender.closed() => return Ok(()),
            }
        }
    }
}

/// What we heard that we wrote, and have no answer to yet. Without one nobody here knows of it, and then it is news.
#[derive(Default)]
struct Unanswered(VecDeque<(Instant, Told)>);

impl Unanswered {
    /// Forgets what has been answered, and adds to the news what should have been long ago.
    fn settle(&mut self, own: &Own, news: &mut News) {
        while let Some((heard, told)) = self.0.front() {
            let answered = own.knows(told.last_seq());
            if !answered && heard.elapsed() < LOOK {
                return;
            }
            let of = self.0.pop_front().map(|(_, told)| told.of);
            if !answered {
                news.of.extend(of.unwrap_or_default());
            }
        }
    }
}

/// Adds what was told, as far as each follows on the one before; the rest waits. Says whether something was missed.
fn add(
    said: Vec<(i32, String)>,
    own: &Own,
    unanswered: &mut Unanswered,
    ahead: &mut Ahead,
    news: &mut News,
) -> bool {
    for (process, said) in said {
        match Told::read(&said) {
            Some(told) => ahead.put(own.is_writer(process), told),
            None => return true,
        }
    }
    loop {
        match ahead.next(&mut news.last_seq, own) {
            Next::Told { ours: true, told } => unanswered.0.push_back((Instant::now(), told)),
            Next::Told { ours: false, told } => news.of.extend(told.of),
            Next::Nothing => return false,
            Next::Missed => return true,
        }
    }
}

/// Adds what the log holds. Says whether that is all.
async fn look(session: &Session, own: &Own, news: &mut News) -> Result<bool, StoreError> {
    // Our own events need not be read to be passed over. One of unknown fate is not among them.
    news.last_seq = own.reach(news.last_seq);
    let after = int(news.last_seq)?;
    let look = async { session.query(EVENTS, &[&after, &PAGE]).await.map_err(failed) };
    let events = within(PATIENCE, look).await?;
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
                makes_room_for: if makes_room(get(event, 3)?, get(event, 4)?) {
                    get(event, 5)?
                } else {
                    None
                },
            },
        });
    }
    Ok(i64::try_from(events.len()).is_ok_and(|read| read < PAGE))
}

/// Whether nobody else listens.
async fn is_alone(session: &Session) -> Result<bool, StoreError> {
    let look = async { session.query(LISTENERS, &[&LISTENING]).await.map_err(failed) };
    let listeners = within(PATIENCE, look).await?;
    Ok(listeners.first().map(|row| count(row, 0)).transpose()? == Some(1))
}

#[cfg(test)]
mod tests {
    use super::super::ahead::GRACE;
    use super::*;

    const US: i32 = 7;
    const OTHER: i32 = 8;

    fn said(process: i32, before: u64) -> (i32, String) {
        (process, format!("{before} [null]"))
    }

    fn news(last_seq: u64) -> News {
        News { last_seq, of: Vec::new() }
    }

    #[test]
    fn what_follows_is_taken_and_what_does_not_is_looked_for() {
        let own = Own::default();
        let (mut unanswered, mut ahead) = (Unanswered::default(), Ahead::default());
        let mut heard = news(4);
        let mut hear = |said, heard: &mut News| add(said, &own, &mut unanswered, &mut ahead, heard);
        // Known already; next; the one after.
        let follow = vec![said(OTHER, 3), said(OTHER, 4), said(OTHER, 5)];
        assert!(!hear(follow, &mut heard));
        assert_eq!((heard.last_seq, heard.of.len()), (6, 2));
        assert!(hear(vec![(OTHER, String::new())], &mut heard), "something was missed");
        assert_eq!((heard.last_seq, heard.of.len()), (6, 2));
        // What comes before it may be on its way, but not for ever.
        assert!(!hear(vec![said(OTHER, 7)], &mut heard));
        std::thread::sleep(GRACE);
        assert!(hear(Vec::new(), &mut heard), "something was missed");
        assert_eq!((heard.last_seq, heard.of.len()), (6, 2));
        assert!(!hear(vec![said(OTHER, 6)], &mut heard));
        assert_eq!((heard.last_seq, heard.of.len()), (8, 4));
        assert!(hear(vec![(OTHER, "7 [null,null]".into())], &mut heard), "something was missed");
        assert_eq!((heard.last_seq, heard.of.len()), (8, 4));
    }

    #[test]
    fn what_we_wrote_is_news_only_if_nobody_answers() {
        let own = Own::default();
        own.write_by(US);
        let (mut unanswered, mut ahead) = (Unanswered::default(), Ahead::default());
        let mut heard = news(0);
        let all = vec![said(US, 0), said(US, 1), said(US, 2)];
        assert!(!add(all, &own, &mut unanswered, &mut ahead, &mut heard));
        own.note_behind(0, 1);
        own.note_behind(2, 3);
        unanswered.settle(&own, &mut heard);
        assert_eq!((heard.last_seq, heard.of.len()), (3, 0));
        std::thread::sleep(LOOK);
        unanswered.settle(&own, &mut heard);
        assert_eq!(heard.of.len(), 1, "the second was never answered");
        assert!(unanswered.0.is_empty());
    }
}
