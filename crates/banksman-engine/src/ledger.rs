//! The ledger: takes the audit log in, page by page, and signs what it has come to.
//!
//! Every node may do it; they all find the same hashes. What is kept between two looks is small, and can be made anew from the
//! store at any time. Where the store still has the hashes of what was committed, no event is read back.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::Digest;
use banksman_ledger::{Checkpoint, Frontier, NoteKey, PAGE, holds, leaf, page_hash, path_to, root_at};
use banksman_store::{Commit, ControlChange, EventQuery, Seal, SignedCheckpoint, StoredEvent};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::{Engine, EngineError};

/// How often a log that grows is signed. What was changed since then, nobody can prove.
const EVERY: Duration = Duration::from_secs(10);

/// How long after something happened the hashes that the store has at hand are taken in: it does not keep them for long.
const TAKE_IN: Duration = Duration::from_millis(500);

/// How many events are read at once: a few pages.
const AT_A_TIME: usize = 1024;

/// What is known of the log.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    log: Frontier,
    /// The leaves of the page that is not full yet.
    rest: Vec<Digest>,
    /// The newest full pages, until they are stored: known here and nowhere else, they would be missing for ever.
    unstored: Vec<Digest>,
}

impl Known {
    fn push(&mut self, leaf: Digest) {
        self.log.push(leaf);
        self.rest.push(leaf);
        if let Some(page) = page_hash(&self.rest) {
            self.unstored.push(page);
            self.rest.clear();
        }
    }
}

/// That an event is in the log that a checkpoint is about.
#[derive(Debug, Clone)]
pub struct Proof {
    /// The event.
    pub event: StoredEvent,
    /// The hashes beside its way to the root, from the bottom up.
    pub path: Vec<Digest>,
    /// The log that it is in.
    pub checkpoint: SignedCheckpoint,
}

impl Engine {
    /// What checkpoints are signed with, for those who check them.
    #[must_use]
    pub fn note_key(&self) -> NoteKey {
        self.signer.note_key()
    }

    /// Signs the log as it stands.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn checkpoint(&self) -> Result<SignedCheckpoint, EngineError> {
        let mut known = self.ledger.known.lock().await;
        if !self.store.ledger_pages(known.log.size() / PAGE).await?.is_empty() {
            // Another node, or this one before it was started, has been here: nothing of that has to be read again.
            let log = root_at(&self.store.ledger_pages(0).await?, &[]);
            *known = Known { log, ..Known::default() };
        }
        self.catch_up(&mut known).await?;
        let size = known.log.size();
        if let Some(last) = self.store.last_checkpoint().await?
            && last.size == size
            && known.unstored.is_empty()
        {
            return Ok(last);
        }
        let checkpoint = Checkpoint { size, root: known.log.root() };
        let note = checkpoint.note(&self.signer.note_key(), &self.signer.sign(checkpoint.text().as_bytes())?);
        let checkpoint = SignedCheckpoint { size, at: self.clock.now(), note };
        let pages = known.unstored.clone();
        let first_page = (size / PAGE).saturating_sub(u64::try_from(pages.len()).unwrap_or(u64::MAX));
        let seal = Seal { first_page, pages, checkpoint: checkpoint.clone() };
        let commit =
            Commit { control: vec![ControlChange::Seal(Box::new(seal))], patient: true, ..Commit::default() };
        self.store.commit(commit).await.map_err(EngineError::unexpected_conflict)?;
        known.unstored.clear();
        Ok(checkpoint)
    }

    /// Takes in what has come since.
    async fn catch_up(&self, known: &mut Known) -> Result<(), EngineError> {
        loop {
            self.take_in_leaves(known).await;
            let events = self.store.events(EventQuery::following(known.log.size(), AT_A_TIME)).await?;
            for event in &events {
                if event.seq != known.log.size() + 1 {
                    let (found, wanted) = (event.seq, known.log.size() + 1);
                    let gap = format!("the audit log goes on with event {found} where {wanted} should be");
                    return Err(EngineError::Internal(gap));
                }
                known.push(leaf(event.body.as_bytes()));
            }
            if events.len() < AT_A_TIME {
                return Ok(());
            }
        }
    }

    /// Takes in what the store has at hand, a page at a time: clients are served in between.
    async fn take_in_leaves(&self, known: &mut Known) {
        for leaf in self.store.leaves_at_hand(known.log.size()) {
            known.push(leaf);
            if known.rest.is_empty() {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Proves that an event is in the log.
    ///
    /// # Errors
    /// If there is no such event, the store cannot be used, or the log is not what was signed.
    pub async fn prove_event(&self, seq: u64) -> Result<Proof, EngineError> {
        let checkpoint = match self.store.last_checkpoint().await? {
            Some(last) if last.size >= seq => last,
            Some(_) | None => self.checkpoint().await?,
        };
        if seq == 0 || seq > checkpoint.size {
            return Err(EngineError::NotFound);
        }
        let index = seq - 1;
        let (size, full) = (checkpoint.size, checkpoint.size / PAGE);
        let mut pages = self.store.ledger_pages(0).await?;
        pages.truncate(usize::try_from(full).unwrap_or(usize::MAX));
        let rest = self.leaves(full * PAGE, size).await?;
        let page = index / PAGE;
        let own = self.leaves(page * PAGE, (page * PAGE + PAGE).min(size)).await?;
        let event =
            self.store.events(EventQuery::following(index, 1)).await?.pop().ok_or(EngineError::NotFound)?;
        let hash = leaf(event.body.as_bytes());
        let signed = Checkpoint::open(&checkpoint.note, &self.signer.note_key());
        let path = path_to(index, &own, &pages, &rest).unwrap_or_default();
        match signed {
            Ok(signed) if holds(&hash, index, size, &path, &signed.root) => {
                Ok(Proof { event, path, checkpoint })
            }
            Ok(_) => Err(broken("the audit log is not the one that was signed; see `banksman audit verify`")),
            Err(error) => Err(broken(&error.to_string())),
        }
    }

    /// The hashes of the events after `after`, up to `to`.
    async fn leaves(&self, after: u64, to: u64) -> Result<Vec<Digest>, EngineError> {
        let count = usize::try_from(to.saturating_sub(after)).unwrap_or(usize::MAX);
        if count == 0 {
            return Ok(Vec::new());
        }
        let events = self.store.events(EventQuery::following(after, count)).await?;
        Ok(events.iter().map(|event| leaf(event.body.as_bytes())).collect())
    }

    /// Signs the log every few seconds while it grows.
    pub(crate) async fn keep_ledger(self: Arc<Self>) {
        let mut newest = self.live.subscribe();
        loop {
            let sign_at = Instant::now() + EVERY;
            while let Ok(grown) = tokio::time::timeout_at(sign_at, newest.changed()).await {
                if grown.is_err() {
                    return;
                }
                tokio::time::sleep(TAKE_IN).await;
                self.take_in_leaves(&mut *self.ledger.known.lock().await).await;
            }
            // Another node may have done it just now; then this one has nothing to add yet.
            let recent = match self.store.last_checkpoint().await {
                Ok(last) => last.is_some_and(|last| self.clock.now().since(last.at) < EVERY / 2),
                Err(_) => false,
            };
            if recent {
                continue;
            }
            if let Err(error) = self.checkpoint().await {
                tracing::error!(%error, "the audit log could not be signed; trying again");
                continue;
            }
            if newest.changed().await.is_err() {
                return;
            }
        }
    }
}

fn broken(problem: &str) -> EngineError {
    tracing::error!(problem, "the audit log does not fit its checkpoints");
    EngineError::Internal(problem.to_owned())
}
