//! Whether this machine and the database agree on the time.
//!
//! Deadlines are computed by nodes and enforced by the database. A node whose clock is far off would hold what is long
//! over, or end what has just begun, so it does not write at all until that is mended.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use banksman_core::Timestamp;

use crate::StoreError;

/// How far apart the clocks may be. It includes the way that the database's answer took.
const APART: Duration = Duration::from_micros(APART_MICROS.unsigned_abs());

/// The same for the database to compare with, in microseconds.
pub(super) const APART_MICROS: i64 = 10_000_000;

/// Where a node gets the time from.
pub(super) type NodeClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// This machine's clock.
pub(super) fn system() -> NodeClock {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(0).after(since)
    })
}

/// What the database takes for the time.
pub(super) const THERE: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// Compares this machine's time with the database's, as it just said.
pub(super) fn check(here: Timestamp, database: Timestamp) -> Result<(), StoreError> {
    let (ahead, behind) = (here.since(database), database.since(here));
    if ahead.max(behind) <= APART {
        return Ok(());
    }
    let (by, which) = if ahead > behind { (ahead, "ahead of") } else { (behind, "behind") };
    Err(StoreError::Failed(format!(
        "this machine's clock is {} s {which} the database's, and {} s are allowed: set one of them right",
        by.as_secs(),
        APART.as_secs()
    )))
}

/// The same for a time that the database said at some moment between two of this machine's.
pub(super) fn check_between(
    before: Timestamp,
    database: Timestamp,
    after: Timestamp,
) -> Result<(), StoreError> {
    let took = after.since(before);
    if took > APART / 2 {
        // What is between them would hide a clock that is wrong.
        return Err(StoreError::Failed(format!(
            "it took {} s to ask the database for the time, which is too long to compare clocks by",
            took.as_secs()
        )));
    }
    check(database.max(before).min(after), database)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_was_on_its_way_for_long_is_not_held_against_either_clock() {
        let at = |seconds: i64| Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000);
        for (before, database, after, agree) in [
            (0, 0, 0, true),
            (0, 4, 5, true),
            (0, 15, 5, true),
            (0, 16, 5, false),
            (0, -10, 5, true),
            (0, -11, 5, false),
            (0, 3, 6, false),
            // Set back while it was asked.
            (5, 5, 0, true),
        ] {
            let answer = check_between(at(before), at(database), at(after));
            assert_eq!(answer.is_ok(), agree, "{before} {database} {after}: {answer:?}");
        }
    }

    #[test]
    fn clocks_may_be_ten_seconds_apart_and_no_more() {
        let at = |seconds: i64| Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000);
        for (here, database, said) in [
            (0, 0, None),
            (10, 0, None),
            (0, 10, None),
            (11, 0, Some("is 11 s ahead of the database's")),
            (0, 3_600, Some("is 3600 s behind the database's")),
        ] {
            match (check(at(here), at(database)), said) {
                (Ok(()), None) => {}
                (Err(error), Some(said)) => assert!(error.to_string().contains(said), "{error}"),
                (answer, _) => panic!("{here} {database}: {answer:?}"),
            }
        }
    }
}
