//! The stream on which a client waits for the answer to a held call.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Mutex, mpsc};

/// A client that does not read for so long is let go.
pub(crate) const CLIENT_PATIENCE: Duration = Duration::from_secs(30);

/// The stream was answered, or its client is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

/// Two write to it: who waits for people, and what runs once they have approved. Only the first knows when the client has to
/// have its answer, and nothing may follow that: a client that was told to come back is told nothing more by a call that is
/// still running.
pub(crate) struct OpenStream {
    events: mpsc::Sender<Bytes>,
    answered: Mutex<bool>,
}

impl OpenStream {
    pub(crate) fn new(events: mpsc::Sender<Bytes>) -> Self {
        Self { events, answered: Mutex::new(false) }
    }

    /// Says something that is not the answer.
    ///
    /// # Errors
    /// If nobody hears it.
    pub(crate) async fn say(&self, event: Bytes) -> Result<(), Closed> {
        let answered = self.answered.lock().await;
        if *answered { Err(Closed) } else { send(&self.events, event).await }
    }

    /// The same, unless somebody is speaking, or the client has not read what was said before.
    pub(crate) fn try_say(&self, event: Bytes) {
        if let Ok(answered) = self.answered.try_lock()
            && !*answered
        {
            let _ = self.events.try_send(event);
        }
    }

    /// Says the answer, after which nothing is said.
    ///
    /// # Errors
    /// If nobody hears it.
    pub(crate) async fn answer(&self, event: Bytes) -> Result<(), Closed> {
        let mut answered = self.answered.lock().await;
        *answered = true;
        send(&self.events, event).await
    }

    /// When its client is gone.
    pub(crate) async fn client_is_gone(&self) {
        self.events.closed().await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.events.is_closed()
    }
}

/// Sends an event to a client that reads.
///
/// # Errors
/// If it does not.
pub(crate) async fn send(events: &mpsc::Sender<Bytes>, event: Bytes) -> Result<(), Closed> {
    match tokio::time::timeout(CLIENT_PATIENCE, events.send(event)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Closed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_follows_the_answer() {
        let (events, mut heard) = mpsc::channel(8);
        let stream = OpenStream::new(events);
        stream.say(Bytes::from_static(b"progress")).await.unwrap();
        stream.answer(Bytes::from_static(b"answer")).await.unwrap();
        assert_eq!(stream.say(Bytes::from_static(b"more progress")).await, Err(Closed));
        stream.try_say(Bytes::from_static(b"beat"));
        drop(stream);
        assert_eq!(heard.recv().await.unwrap(), "progress");
        assert_eq!(heard.recv().await.unwrap(), "answer");
        assert!(heard.recv().await.is_none());
    }
}
