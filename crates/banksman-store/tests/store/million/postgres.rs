//! PostgreSQL works elsewhere, and says how many pages its statements read.

use std::sync::Arc;

use banksman_store::conformance::Database;
use banksman_store::postgres::PostgresStore;

use super::{Meter, TIMES, many_slow_nothing_down};

/// Pages read, on average, by every statement that anyone runs in this database.
struct PagesRead<'a>(&'a Database);

impl Meter for PagesRead<'_> {
    /// Indexes grow by a level or two, and each statement reads a few of them.
    const AT_MOST: f64 = 3.0;

    async fn cost(&self, mut work: impl AsyncFnMut()) -> f64 {
        let before = self.0.pages_read();
        for _ in 0..TIMES {
            work().await;
        }
        #[expect(clippy::cast_precision_loss, reason = "nothing reads so many pages")]
        let pages = (self.0.pages_read() - before) as f64;
        // At least one each: what reads next to nothing cannot read many times as much.
        (pages / f64::from(TIMES)).max(1.0)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_pending_actions_slow_nothing_down() {
    let database = Database::fresh();
    let store = PostgresStore::open(&database.url()).await.expect("a store");
    many_slow_nothing_down(Arc::new(store), PagesRead(&database)).await;
}
