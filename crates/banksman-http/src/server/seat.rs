//! Where a request waits for people apart from its connection.
//!
//! A connection at work holds two buffers of 8 kB and all that a request brought along; ten thousand that wait for people
//! should not. So a handler that has nothing left to do but wait takes a [`Seat`], and whoever serves the connection may
//! take the wait from there and let the rest of it go ([`super::connection`]).

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use axum::response::Response;

/// The rest of a request: it ends with the answer.
pub(crate) type Waiting = Pin<Box<dyn Future<Output = Response> + Send>>;

/// Where the one request that a connection is at may wait.
#[derive(Clone, Default)]
pub(crate) struct Seat(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Option<Waiting>>,
    /// Whether something is on its way out that a new connection would not know of.
    unsent: AtomicBool,
}

impl Seat {
    /// Waits here. If it is taken away meanwhile, whoever took it answers, and this never ends.
    pub(crate) async fn wait(&self, waiting: impl Future<Output = Response> + Send + 'static) -> Response {
        *self.lock() = Some(Box::pin(waiting));
        poll_fn(|context| {
            let mut seat = self.lock();
            let Some(waiting) = seat.as_mut() else { return Poll::Pending };
            let answer = waiting.as_mut().poll(context);
            if answer.is_ready() {
                *seat = None;
            }
            answer
        })
        .await
    }

    /// What waits here, if its connection can be let go.
    pub(super) fn take(&self) -> Option<Waiting> {
        if self.0.unsent.load(Ordering::Relaxed) { None } else { self.lock().take() }
    }

    pub(super) fn set_unsent(&self, unsent: bool) {
        self.0.unsent.store(unsent, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
