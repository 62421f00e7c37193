//! Memory that nobody needs any more.

use std::time::Duration;

/// How long there is next to nothing to do before it is given back to the system.
const LULL: Duration = Duration::from_secs(1);

/// Once a rush is over, the system has back what it took. Not before: what is given back has to be asked for again.
pub(super) async fn give_back() {
    let mut worked = true;
    let mut before = processor_time();
    loop {
        tokio::time::sleep(LULL).await;
        let now = processor_time();
        let quiet = now.saturating_sub(before) < LULL / 20;
        if quiet && worked {
            banksman_memory::give_back();
        }
        worked = !quiet;
        before = now;
    }
}

/// How long all threads together have been at work.
fn processor_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}
