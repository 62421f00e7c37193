//! Reading something once for all who ask for it at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// Reads that many ask for and that one does. Whoever asks gets what was read after they asked, and never something older.
#[derive(Default)]
pub(crate) struct SharedRead {
    /// How many were begun, each while holding the turn.
    begun: AtomicU64,
    /// The number of the last that succeeded.
    done: Mutex<u64>,
}

impl SharedRead {
    /// Reads, unless a reading that began after this was called has succeeded meanwhile.
    pub(crate) async fn after_now<E>(&self, read: impl AsyncFnOnce() -> Result<(), E>) -> Result<(), E> {
        let begun = self.begun.load(Ordering::SeqCst);
        let mut done = self.done.lock().await;
        if *done > begun {
            return Ok(());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        read().await?;
        *done = number;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test]
    async fn many_who_ask_at_once_share_and_nobody_gets_what_is_older_than_their_question() {
        let (shared, reads) = (Arc::new(SharedRead::default()), Arc::new(AtomicUsize::new(0)));
        let (first, gate) = tokio::sync::oneshot::channel::<()>();
        let ask = |wait: Option<tokio::sync::oneshot::Receiver<()>>| {
            let (shared, reads) = (Arc::clone(&shared), Arc::clone(&reads));
            tokio::spawn(async move {
                let read = async || {
                    reads.fetch_add(1, Ordering::SeqCst);
                    if let Some(wait) = wait {
                        let _ = wait.await;
                    }
                    Ok::<(), ()>(())
                };
                shared.after_now(read).await
            })
        };
        let slow = ask(Some(gate));
        tokio::task::yield_now().await;
        // The reading under way may have missed what these want to see: one more is made, for all of them.
        let others: Vec<_> = (0..20).map(|_| ask(None)).collect();
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        first.send(()).unwrap();
        for task in others.into_iter().chain([slow]) {
            task.await.unwrap().unwrap();
        }
        assert_eq!(reads.load(Ordering::SeqCst), 2);
        ask(None).await.unwrap().unwrap();
        assert_eq!(reads.load(Ordering::SeqCst), 3, "whoever asks later gets what is newer");
    }

    #[tokio::test]
    async fn a_reading_that_failed_helps_nobody() {
        let shared = SharedRead::default();
        assert_eq!(shared.after_now(async || Err("broken")).await, Err("broken"));
        assert_eq!(shared.after_now(async || Ok::<(), &str>(())).await, Ok(()));
    }
}
