//! Whoever is stopped while it waits takes back what it asked for: nobody should approve what nobody waits for any more,
//! and whoever asks the same later should not find it approved.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use banksman_client::{Client, ClientError, Proposal};
use banksman_core::ActionId;
use banksman_core::wire::CancelBody;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// Whoever stops us does not wait long.
const PATIENCE: Duration = Duration::from_secs(5);
/// For the audit log.
const REASON: &str = "whoever asked was stopped while it waited";

/// Ends the process after a signal, with what became of the question.
pub(crate) type Leave = Arc<dyn Fn(i32, &str) + Send + Sync>;

/// What shells answer for a command that a signal ended.
pub(crate) fn code_of_signal(signal: i32) -> i32 {
    128 + signal
}

/// On watch while someone is waited for; when it is dropped, signals are no longer its business.
pub(super) struct Vigil {
    handle: Handle,
    stage: Arc<Mutex<Stage>>,
    watching: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy)]
enum Stage {
    /// It is not known yet under which id it is held.
    Proposing,
    Waiting(ActionId),
    /// It is decided, and what follows can no longer be taken back.
    Over,
}

/// What was asked, to be found again.
pub(super) struct Asked {
    client: Client,
    body: String,
    key: Option<String>,
}

impl Vigil {
    /// Watches from now on. Without it a signal ends the process as it always does.
    pub(super) fn keep(asked: Asked, leave: Leave) -> Option<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).ok()?;
        let handle = signals.handle();
        let stage = Arc::new(Mutex::new(Stage::Proposing));
        let seen = Arc::clone(&stage);
        let watch = move || {
            if let Some(signal) = signals.forever().next() {
                // Held to the end of the process: what is being taken back is not claimed meanwhile.
                let stage = lock(&seen);
                leave(signal, &asked.take_back(*stage));
                std::process::exit(code_of_signal(signal));
            }
        };
        let watching = std::thread::Builder::new().name("vigil".into()).spawn(watch).ok();
        Some(Self { handle, stage, watching })
    }

    pub(super) fn waits_for(&self, id: ActionId) {
        *lock(&self.stage) = Stage::Waiting(id);
    }

    /// From here on nothing is taken back.
    pub(super) fn is_over(&self) {
        *lock(&self.stage) = Stage::Over;
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(watching) = self.watching.take() {
            let _ = watching.join();
        }
    }
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asked {
    pub(super) fn new(client: &Client, body: &str, key: Option<&str>) -> Self {
        let client = client.clone().answered_within(PATIENCE);
        Self { client, body: body.to_owned(), key: key.map(str::to_owned) }
    }

    /// What became of it, in words.
    fn take_back(&self, stage: Stage) -> String {
        let known = match stage {
            Stage::Over => return "It was decided by then; nothing was run.".to_owned(),
            Stage::Proposing => None,
            Stage::Waiting(id) => Some(id),
        };
        match self.withdraw(known) {
            Ok(id) => format!("{id} was withdrawn; nothing was run."),
            Err(error) => {
                let held = known.map_or("it may still be held".to_owned(), |id| format!("{id} stays held"));
                format!("It could not be withdrawn ({error}): {held}; nothing was run.")
            }
        }
    }

    fn withdraw(&self, known: Option<ActionId>) -> Result<ActionId, ClientError> {
        let id = match known {
            Some(id) => id,
            // The same question finds the same action, if it got there.
            None => {
                let again =
                    Proposal { body: &self.body, idempotency_key: self.key.as_deref(), wait_seconds: None };
                self.client.propose(&again)?.id
            }
        };
        self.client.cancel(id, &CancelBody { reason: Some(REASON.to_owned()) }).map(|_| id)
    }
}
