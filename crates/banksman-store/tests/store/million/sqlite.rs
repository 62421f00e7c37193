//! SQLite works in this process, so its cost is this process's time.

use std::sync::Arc;
use std::time::Duration;

use banksman_store::sqlite::SqliteStore;
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use super::{Meter, TIMES, many_slow_nothing_down};

/// The processor's time in microseconds: the one in the middle of many.
struct ProcessorTime;

impl Meter for ProcessorTime {
    /// Measured: 1.1 with 200,000, 1.8 with a million.
    const AT_MOST: f64 = 4.0;

    async fn cost(&self, mut work: impl AsyncFnMut()) -> f64 {
        let mut times = Vec::new();
        for _ in 0..TIMES {
            let before = used();
            work().await;
            times.push(used() - before);
        }
        times.sort();
        times.get(times.len() / 2).expect("at least one").as_secs_f64() * 1e6
    }
}

/// What this process has used of the processor so far.
fn used() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("a clock that does not run backwards")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_pending_actions_slow_nothing_down() {
    let folder = TempDir::new().expect("a folder for the database");
    let store = SqliteStore::open(&folder.path().join("banksman.db")).expect("a database");
    many_slow_nothing_down(Arc::new(store), ProcessorTime).await;
}
