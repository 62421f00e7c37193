//! Whether this machine and the database agree on the time.
//!
//! Deadlines are computed by nodes and enforced by the database. A node whose clock is far off would hold what is long
//! over, or end what has just begun, so it does not write at all until that is mended.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use banksman_core::Timestamp;

use crate::StoreError;

/// How far apart the clocks may be. It includes the way that the database's answer took.
const APART: Duration = Duration::from_micros(APART_MICROS.unsigned_abs());

/// The same for the database to compare with, in microseconds.
pub(super) const APART_MICROS: i64 = 10_000_000;

/// Where a node gets the time from.
pub(super) type NodeClock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// This machine's clock.
pub(super) fn system() -> NodeClock {
    Box::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(0).after(since)
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

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
