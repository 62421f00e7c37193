//! Whether a database is still the one that this process began with: of the schema that it knows, and with the history that
//! it remembers.
//!
//! Every session asks when it begins, because nobody saw what happened while there was none. And every session shares a
//! lock for as long as it lasts, which whoever changes the schema wants alone.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use banksman_core::Digest;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::schema::MIGRATIONS;
use super::session::{failed, is_unknown};
use crate::StoreError;

/// The lock that all sessions of ours share. The number is any that no one else on the server uses.
pub(super) const PRESENT: i64 = 0x6261_6e6b_7368_6572;

const VERSION: &str = "SELECT coalesce(max(version), 0) FROM schema_version";

/// Which database this is, and on which line of its history: a new line begins where a standby takes over, and where a
/// server was restored to a moment in the past. A server that only follows another is on no line of its own.
const HISTORY: &str = "\
    SELECT (SELECT oid FROM pg_database WHERE datname = current_database()),
           CASE WHEN pg_is_in_recovery() THEN 'follows'
                ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END";

/// Which server. Compatible clusters that are made of many servers have a number for each, which says nothing.
const SERVER: &str = "\
    SELECT CASE WHEN version() LIKE 'PostgreSQL %' AND version() NOT LIKE '%-YB-%' THEN system_identifier END
    FROM pg_control_system()";

/// Where a session has come to, as far as the database tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    server: Option<String>,
    database: Option<String>,
    line: Line,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Untold,
    /// Of no history of its own: it follows another server.
    Follows,
    /// In hexadecimal, always as long.
    Timeline(String),
}

/// What a process knows of the databases that it has worked on, whatever stores it opened one after the other.
#[derive(Debug, Clone, Default)]
pub struct Lineage(Arc<Mutex<Past>>);

#[derive(Debug, Default, Serialize, Deserialize)]
struct Past {
    /// The newest history. One that was left behind is not gone back to: who failed once may be there again, and know
    /// nothing of what happened since.
    newest: Option<Origin>,
    /// The newest event of the log that it has written: its place and its hash.
    written: Option<(u64, Digest)>,
    /// The place of such an event that was not there any more.
    lost: Option<u64>,
}

impl Lineage {
    /// Whether it has worked on none yet.
    pub(super) fn is_empty(&self) -> bool {
        self.past().newest.is_none()
    }

    /// An event that this process wrote, and was told that it is durable, and that the database does not have any more. To be
    /// asked once there is a store, and heeded: what was decided, claimed or done since then may happen again.
    #[must_use]
    pub fn lost(&self) -> Option<u64> {
        self.past().lost
    }

    /// What it knows, for a process that comes after this one before all of that was heeded.
    #[must_use]
    pub fn noted(&self) -> String {
        serde_json::to_string(&*self.past()).unwrap_or_default()
    }

    /// What was noted.
    ///
    /// # Errors
    /// If the text is not such a note.
    pub fn of_note(note: &str) -> Result<Self, StoreError> {
        let past: Past = serde_json::from_str(note)
            .map_err(|error| StoreError::Failed(format!("what was noted of the database: {error}")))?;
        Ok(Self(Arc::new(Mutex::new(past))))
    }

    /// That was heeded.
    pub fn heeded(&self) {
        self.past().lost = None;
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the sessions of one store know of their database together.
#[derive(Debug)]
pub(super) struct Presence {
    lineage: Lineage,
    /// What the first session found.
    began: Mutex<Option<Origin>>,
    /// Why this store answers nobody any more, once it must not.
    over: watch::Sender<Option<StoreError>>,
}

/// What a session finds, beside what was found before.
#[derive(Debug, PartialEq, Eq)]
enum Beside {
    Same,
    /// Not, or not any more, the one that is written to.
    NoPrimary(&'static str),
    /// What happened on the one may never have happened on the other.
    Another,
}

impl Presence {
    pub(super) fn new(lineage: Lineage) -> Self {
        Self { lineage, began: Mutex::new(None), over: watch::Sender::new(None) }
    }

    /// To be asked by each session before anything else: is this where it should be?
    pub(super) async fn recognise(&self, client: &Client) -> Result<(), StoreError> {
        self.check_over()?;
        let Some([database, line]) = known(first_row(client, HISTORY).await)? else {
            return Ok(());
        };
        let server = known(first_row::<1>(client, SERVER).await)?.and_then(|[server]| server);
        let line = match line.as_deref() {
            None => Line::Untold,
            Some("follows") => Line::Follows,
            Some(timeline) => Line::Timeline(timeline.to_owned()),
        };
        self.check(Origin { server, database, line })
    }

    /// To be asked by each session before it uses tables: are they those that this program knows, with what it wrote in them, and
    /// will they stay so?
    ///
    /// The lock comes first: what is looked at before it can change until it is there. Compatible databases may know no such
    /// lock; there, nobody notices.
    pub(super) async fn join(&self, client: &Client) -> Result<(), StoreError> {
        let lock = format!("SELECT pg_try_advisory_lock_shared({PRESENT})");
        if let Some([Some(taken)]) = known(first_row(client, &lock).await)?
            && taken != "t"
        {
            return Err(StoreError::Failed("the database is being brought up to date".into()));
        }
        let version = first_row::<1>(client, VERSION).await.map_err(failed)?;
        let version = version.and_then(|[version]| version?.parse::<usize>().ok());
        if version == Some(MIGRATIONS.len()) {
            return self.check_written(client).await;
        }
        let found = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
        Err(self.end(format!(
            "the database's schema is {found} and this program's is {}: it was changed beneath this process",
            MIGRATIONS.len()
        )))
    }

    /// The last event of the log that was written, for later sessions to look for.
    pub(super) fn note_written(&self, place: u64, event: Digest) {
        self.lineage.past().written = Some((place, event));
    }

    /// Whether what this process wrote is still there. Where it is not, somebody has put an older copy in its place.
    async fn check_written(&self, client: &Client) -> Result<(), StoreError> {
        let Some((place, _)) = self.lineage.past().written else { return Ok(()) };
        if self.has_written(client).await? {
            return Ok(());
        }
        Err(self.end(format!(
            "event {place}, which this process has written, is not in the database any more: a backup was restored, or a \
             standby took over that did not have it yet"
        )))
    }

    /// The same for the first session of a store, which begins with what there is.
    pub(super) async fn take_stock(&self, client: &Client) -> Result<(), StoreError> {
        if !self.has_written(client).await? {
            let mut past = self.lineage.past();
            past.lost = past.written.take().map(|(place, _)| place);
        }
        Ok(())
    }

    async fn has_written(&self, client: &Client) -> Result<bool, StoreError> {
        let Some((place, written)) = self.lineage.past().written else { return Ok(true) };
        let found = first_row(client, &format!("SELECT body FROM audit WHERE seq = {place}")).await;
        let found = found.map_err(failed)?;
        Ok(matches!(found, Some([Some(body)]) if Digest::of_leaf(body.as_bytes()) == written))
    }

    fn check(&self, now: Origin) -> Result<(), StoreError> {
        let mut past = self.lineage.past();
        let newest = &mut past.newest;
        let mut began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        let beside = |then: &Option<Origin>| then.as_ref().map_or(Beside::Same, |then| now.beside(then));
        if let Beside::NoPrimary(why) = beside(newest) {
            return Err(StoreError::Failed(why.into()));
        }
        let told = |origin: &Origin| {
            let line = match &origin.line {
                Line::Untold => "?",
                Line::Follows => "standby",
                Line::Timeline(timeline) => timeline.trim_start_matches('0'),
            };
            let [server, database] =
                [&origin.server, &origin.database].map(|part| part.as_deref().unwrap_or("?"));
            format!("{server}/{database}/{line}")
        };
        let error = match (beside(&began), &*began) {
            (Beside::Another, Some(then)) => Some(format!(
                "the database is not the one that this process began with (server/database/timeline {} then, {} now): a \
                 standby took over or a backup was restored, so what is remembered here may never have happened",
                told(then),
                told(&now)
            )),
            (Beside::Another | Beside::Same | Beside::NoPrimary(_), _) => None,
        };
        // Also where this store ends: what comes after it must not go back behind what was seen here.
        *newest = Some(now.clone().or(newest.take()));
        match error {
            None => {
                *began = Some(now.or(began.take()));
                Ok(())
            }
            Some(error) => Err(self.end(error)),
        }
    }

    /// From now on this store answers nobody.
    fn end(&self, why: String) -> StoreError {
        let error = StoreError::Failed(why);
        self.over.send_if_modified(|over| {
            let first = over.is_none();
            over.get_or_insert_with(|| error.clone());
            first
        });
        error
    }

    /// Refuses once this store answers nobody any more, whatever a connection that is left over would say.
    pub(super) fn check_over(&self) -> Result<(), StoreError> {
        self.over.borrow().as_ref().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Ends once this store answers nobody any more, and says why.
    pub(super) async fn over(&self) -> StoreError {
        let mut over = self.over.subscribe();
        match over.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(error)) => error.clone(),
            Ok(None) | Err(_) => StoreError::Closed,
        }
    }
}

impl Origin {
    /// This one, and what was known before of what it does not tell.
    fn or(self, then: Option<Self>) -> Self {
        match then {
            Some(then) if self.beside(&then) == Beside::Same => Self {
                server: self.server.or(then.server),
                database: self.database.or(then.database),
                line: if self.line == Line::Untold { then.line } else { self.line },
            },
            Some(_) | None => self,
        }
    }

    /// This one beside one that was seen before it. Where one of them does not tell, nothing is concluded.
    fn beside(&self, then: &Self) -> Beside {
        let differ = |now: &Option<String>, then: &Option<String>| matches!((now, then), (Some(now), Some(then)) if now != then);
        if differ(&self.server, &then.server) || differ(&self.database, &then.database) {
            return Beside::Another;
        }
        match (&self.line, &then.line) {
            (Line::Follows, Line::Timeline(_)) => {
                Beside::NoPrimary("this server follows another and takes no writes")
            }
            (Line::Timeline(now), Line::Timeline(then)) => match now.cmp(then) {
                Ordering::Less => Beside::NoPrimary(
                    "this server does not know what happened since another took over from it; it has to be made its standby",
                ),
                Ordering::Equal => Beside::Same,
                Ordering::Greater => Beside::Another,
            },
            // Who followed and took over has all that it had before.
            (Line::Timeline(_), Line::Follows) | (Line::Follows, Line::Follows) => Beside::Same,
            (Line::Untold, _) | (_, Line::Untold) => Beside::Same,
        }
    }
}

/// Nothing, where the database does not know what it was asked for.
fn known<T>(answer: Result<Option<T>, tokio_postgres::Error>) -> Result<Option<T>, StoreError> {
    match answer {
        Err(error) if is_unknown(&error) => Ok(None),
        answer => answer.map_err(failed),
    }
}

/// The first row of an answer, as text. What is asked once need not be prepared.
async fn first_row<const N: usize>(
    client: &Client,
    sql: &str,
) -> Result<Option<[Option<String>; N]>, tokio_postgres::Error> {
    let answer = client.simple_query(sql).await?;
    Ok(answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some(std::array::from_fn(|column| row.try_get(column).ok().flatten().map(str::to_owned)))
        }
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(server: &str, database: &str, timeline: &str) -> Origin {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let line = match timeline {
            "" => Line::Untold,
            "follows" => Line::Follows,
            timeline => Line::Timeline(timeline.to_owned()),
        };
        Origin { server: some(server), database: some(database), line }
    }

    async fn is_over(presence: &Presence) -> bool {
        let over = tokio::time::timeout(std::time::Duration::from_millis(10), presence.over()).await.is_ok();
        assert_eq!(over, presence.check_over().is_err());
        over
    }

    #[tokio::test]
    async fn another_database_server_or_history_is_not_the_one_that_it_began_with() {
        for (now, goes_on, over) in [
            (origin("1", "2", "00000003"), true, false),
            // What is not told is not held against it.
            (origin("", "2", "00000003"), true, false),
            (origin("1", "", ""), true, false),
            (origin("9", "2", "00000003"), false, true),
            (origin("1", "9", "00000003"), false, true),
            (origin("1", "2", "0000000A"), false, true),
            // A former primary, and one that does not write yet: others may still be the right ones.
            (origin("1", "2", "00000002"), false, false),
            (origin("1", "2", "follows"), false, false),
        ] {
            let presence = Presence::new(Lineage::default());
            presence.check(origin("1", "2", "00000003")).unwrap();
            assert_eq!(presence.check(now.clone()).is_ok(), goes_on, "{now:?}");
            assert_eq!(is_over(&presence).await, over, "{now:?}");
        }
    }

    #[tokio::test]
    async fn a_history_that_was_left_behind_is_not_gone_back_to() {
        let lineage = Lineage::default();
        let first = Presence::new(lineage.clone());
        first.check(origin("1", "2", "00000001")).unwrap();
        first.check(origin("1", "2", "00000002")).unwrap_err();
        assert!(is_over(&first).await);
        let second = Presence::new(lineage);
        second.check(origin("1", "2", "00000001")).unwrap_err();
        assert!(!is_over(&second).await);
        second.check(origin("1", "2", "00000002")).unwrap();
        // Nor by another process that goes on from what was noted.
        let third = Presence::new(Lineage::of_note(&second.lineage.noted()).unwrap());
        third.check(origin("1", "2", "00000001")).unwrap_err();
        third.check(origin("1", "2", "00000002")).unwrap();
        assert!(Lineage::of_note("{").is_err());
        // Another server is the operator's choice.
        let third = Presence::new(second.lineage.clone());
        third.check(origin("7", "5", "00000001")).unwrap();
    }

    #[tokio::test]
    async fn who_began_on_a_standby_goes_on_when_it_takes_over() {
        let presence = Presence::new(Lineage::default());
        for line in ["follows", "follows", "00000002", "00000002"] {
            presence.check(origin("1", "2", line)).unwrap();
        }
        presence.check(origin("1", "2", "00000003")).unwrap_err();
        assert!(is_over(&presence).await);
    }
}
