//! What was answered and is not done yet.

use tokio::sync::watch;

/// Counts what is under way, so that a server that is to end can let it finish: a provider that got its answer does
/// not send a decision again.
#[derive(Debug, Clone)]
pub(crate) struct Attending(watch::Sender<usize>);

/// One thing that is under way, until this is dropped.
pub(crate) struct UnderWay(watch::Sender<usize>);

impl Default for Attending {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Attending {
    pub(crate) fn begin(&self) -> UnderWay {
        self.0.send_modify(|count| *count += 1);
        UnderWay(self.0.clone())
    }

    /// Waits until nothing is under way.
    pub(crate) async fn finish(&self) {
        // The sender is ours, so it is there as long as we are.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
