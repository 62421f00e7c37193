//! The port: what the engine asks of a store, and what a store promises.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::audit::Event;
use banksman_core::meter::{Charge, MeterQuery, Reading};
use banksman_core::{
    ActionId, BatchId, Case, Delegation, DelegationId, Digest, Freeze, FreezeId, Grant, GrantId, Mode,
    Notice, Submission, Timestamp, TokenId,
};

use crate::ledger::{Seal, SignedCheckpoint};
use crate::post::{Delivery, DeliveryQuery, Job, JobQuery, Post};
use crate::{CaseQuery, Credential, EventQuery, PendingCounts, Person};

/// Keeps actions, audit events and everything else that must survive.
///
/// # What a store promises
///
/// **Durability.** When [`Store::commit`] answers `Ok`, everything in the commit survives `kill -9` of every
/// process and loss of power. Answering early costs an approval that was given and forgotten, or worse, an
/// action that runs twice; so no store may answer before its log is on stable storage.
///
/// **Atomicity.** A commit happens whole or not at all: state, audit events, outbox rows. If it cannot record
/// the event, it does not change the state.
///
/// **Isolation.** Commits are serialised. Every guard of a commit is checked against the state that its writes
/// meet; two commits that guard the same revision cannot both succeed.
///
/// **Order.** Audit events get ascending numbers without gaps in the order of commits, and a reader that has
/// seen number `n` will never find a smaller number appear later.
///
/// **Conflicts are answers, not failures.** [`CommitError::Conflict`] means that nothing was written and that
/// trying again from a fresh read makes sense. [`CommitError::Unavailable`] means that the store could not say
/// yes; the caller must assume nothing, and in particular must not let an action run.
#[async_trait::async_trait]
pub trait Store: Send + Sync + 'static {
    /// Writes a commit, durably, if all its guards hold. An empty one writes too, something that changes nothing.
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError>;

    /// One action as it stands.
    async fn case(&self, id: ActionId) -> Result<Option<Case>, StoreError>;

    /// What would have run by this version of an action, which may have been edited since.
    async fn submission(&self, id: ActionId, version: u32) -> Result<Option<Submission>, StoreError>;

    /// A page of actions.
    async fn cases(&self, query: CaseQuery) -> Result<Vec<Case>, StoreError>;

    /// Of what is pending: the action so many places further in a list, counted without its words.
    async fn place(&self, query: CaseQuery, steps: usize) -> Result<Option<ActionId>, StoreError>;

    /// A batch and the ids of its items, in order.
    async fn batch(&self, id: BatchId) -> Result<Option<BatchRecord>, StoreError>;

    /// What time itself should move on by now, the most overdue first.
    async fn due(&self, by: Timestamp, limit: usize) -> Result<Vec<ActionId>, StoreError>;

    /// The next moment at which [`Store::due`] will have something new to say.
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Freezes, grants, delegations and mode, with the epoch that guards them.
    async fn control(&self) -> Result<Control, StoreError>;

    /// The credential with this hash of its secret, whether it is still live or not.
    async fn credential(&self, secret_hash: Digest) -> Result<Option<Credential>, StoreError>;

    /// All credentials, oldest first.
    async fn credentials(&self) -> Result<Vec<Credential>, StoreError>;

    /// The person of this name, also if they were removed.
    async fn person(&self, name: &str) -> Result<Option<Person>, StoreError>;

    /// Everyone, oldest first, also those who were removed.
    async fn people(&self) -> Result<Vec<Person>, StoreError>;

    /// Whether something that works once was used ([`ControlChange::Spend`]), and would still work otherwise.
    async fn is_spent(&self, key: Digest) -> Result<bool, StoreError>;

    /// A page of the audit log.
    async fn events(&self, query: EventQuery) -> Result<Vec<StoredEvent>, StoreError>;

    /// The place of the newest audit event; zero if there is none.
    async fn last_seq(&self) -> Result<u64, StoreError>;

    /// What the ledger hashes the events behind this place to, as they were committed, as far as the store has it at hand
    /// and without a gap. Nobody has to read those events back, and nobody can change them before they are signed.
    fn leaves_at_hand(&self, _after: u64) -> Vec<Digest> {
        Vec::new()
    }

    /// The hashes of the full pages of the audit log that the ledger has taken in, from this one on.
    async fn ledger_pages(&self, from: u64) -> Result<Vec<Digest>, StoreError>;

    /// Checkpoints of the audit log that cover more than so many events, the smallest first.
    async fn checkpoints(&self, beyond: u64, limit: usize) -> Result<Vec<SignedCheckpoint>, StoreError>;

    /// The one that covers most.
    async fn last_checkpoint(&self) -> Result<Option<SignedCheckpoint>, StoreError>;

    /// The oldest notices that have not been delivered yet.
    async fn notices(&self, limit: usize) -> Result<Vec<StoredNotice>, StoreError>;

    /// The same, to be delivered by whoever asked and settled within `lease`: until then no other node is given them.
    async fn take_notices(&self, limit: usize, _lease: Duration) -> Result<Vec<StoredNotice>, StoreError> {
        self.notices(limit).await
    }

    /// A page of messages to people.
    async fn deliveries(&self, query: DeliveryQuery) -> Result<Vec<Delivery>, StoreError>;

    /// What is to be sent by a channel by now, the most overdue first, by whoever asked and within `lease`: until then
    /// no other node is given it.
    async fn take_deliveries(
        &self,
        channel: &str,
        by: Timestamp,
        limit: usize,
        lease: Duration,
    ) -> Result<Vec<Delivery>, StoreError>;

    /// The next moment at which [`Store::take_deliveries`] will have something for a channel.
    async fn next_delivery(&self, channel: &str) -> Result<Option<Timestamp>, StoreError>;

    /// How many messages a recipient was sent by a channel since, updates of earlier ones left aside.
    async fn told(&self, channel: &str, recipient: &str, since: Timestamp) -> Result<u64, StoreError>;

    /// A page of jobs.
    async fn jobs(&self, query: JobQuery) -> Result<Vec<Job>, StoreError>;

    /// The jobs that are due by now, as with [`Store::take_deliveries`].
    async fn take_jobs(&self, by: Timestamp, limit: usize, lease: Duration) -> Result<Vec<Job>, StoreError>;

    /// The next moment at which [`Store::take_jobs`] will have something.
    async fn next_job(&self) -> Result<Option<Timestamp>, StoreError>;

    /// How far someone who acts on the audit log has read it; zero if they never did.
    async fn log_place(&self, reader: &str) -> Result<u64, StoreError>;

    /// The action that the same proposal of this agent would join, if there is one.
    async fn joinable(&self, agent: &str, digest: Digest) -> Result<Option<ActionId>, StoreError>;

    /// What meters show, in the order of the questions.
    async fn readings(&self, queries: Vec<MeterQuery>) -> Result<Vec<Reading>, StoreError>;

    /// How many actions wait for people. Costs the same however many do.
    async fn pending_count(&self) -> Result<u64, StoreError>;

    /// The same, by what they are. Costs a look at each.
    async fn pending_counts(&self) -> Result<PendingCounts, StoreError>;

    /// Whether it can be used now. If the last commits failed, reading says too little: then this writes, without
    /// changing anything.
    async fn ready(&self) -> Result<(), StoreError>;

    /// Ends when the store turns out not to be the one that this process began with, and says why: a standby took over, or a
    /// backup was restored. From then on it answers nothing, because whoever asks remembers what may never have happened.
    async fn over(&self) -> StoreError {
        std::future::pending().await
    }

    /// Whether this machine's clock is one to go by. Asked before somebody is told for good that it is too late.
    async fn check_clock(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Tells of what others commit behind this place in the log, in order and without leaving anything out, until the
    /// answer is dropped. What this store itself commits may be left out. `None` if no other node can write here.
    fn follow(&self, _after: u64) -> Option<tokio::sync::mpsc::Receiver<News>> {
        None
    }
}

/// What others have committed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// The place of the newest audit event that everyone can now see.
    pub last_seq: u64,
    /// What it is about.
    pub of: Vec<NewsOf>,
}

/// What something that others committed is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewsOf {
    /// An action moved.
    Action {
        /// Which.
        id: ActionId,
        /// When time moves it on.
        wakes_at: Option<Timestamp>,
        /// The agent who may have room for another one now, because this one no longer waits for people.
        makes_room_for: Option<String>,
    },
    /// The house rules or the policy, perhaps.
    House,
}

/// Everything that one step of the engine writes, and what has to be true for it.
#[derive(Debug, Default)]
pub struct Commit {
    /// Guard: freezes, grants, mode and credentials are as they were at this epoch.
    pub control_epoch: Option<u64>,
    /// Guard: people are as they were at this epoch of theirs.
    pub people_epoch: Option<u64>,
    /// Guard: with what is opened here, no more actions are pending than this.
    pub limits: Option<PendingLimits>,
    /// New actions. Guard: none of them is joinable with one that is there ([`Conflict::Joinable`]).
    pub opened: Vec<Arc<Case>>,
    /// Moved actions. Guards: each is stored at the revision before, and no edit makes one joinable with another
    /// that is there.
    pub advanced: Vec<AdvancedCase>,
    /// Guard: meters still show this. Only then was the action judged by what is true.
    pub readings: Vec<Reading>,
    /// What new and edited actions add to meters; an edited one gives back what it added before. So does every action
    /// that ends without having run, by itself ([`banksman_core::Status::never_ran`]).
    pub charges: Vec<Charge>,
    /// A request that may be sent again. Guard: its key is new.
    pub idempotency: Option<IdempotencyKey>,
    /// A new batch.
    pub batch: Option<BatchRecord>,
    /// Changes to the house rules and to people; each says which epochs it raises.
    pub control: Vec<ControlChange>,
    /// The audit events, in order.
    pub events: Vec<Event>,
    /// What people are to be told. Each is because of an event, so there are no more of them than of those.
    pub notices: Vec<NoticeRow>,
    /// Notices that were delivered and can go.
    pub settled_notices: Vec<i64>,
    /// Messages, jobs, and what came back. Rare, and so kept out of the way.
    pub post: Option<Box<Post>>,
    /// Whether nobody waits for it: then it may wait a moment for another to share a transaction with, which would else
    /// wait for this one.
    pub patient: bool,
}

/// How many actions may be pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingLimits {
    /// For each agent.
    pub per_agent: u64,
    /// Altogether.
    pub total: u64,
}

/// An action after a transition.
#[derive(Debug)]
pub struct AdvancedCase {
    /// The action, at its new revision.
    pub case: Arc<Case>,
    /// Whether it was pending at the revision before, for the counts of what is.
    pub was_pending: bool,
    /// Guard: by the store's own clock, it is still before this moment. A decision or a claim that was made in time
    /// but got stuck on its way is late all the same.
    pub before: Option<Timestamp>,
    /// Whether its submission is new (an edit) and has to be stored too.
    pub new_submission: bool,
}

/// Makes a request that is sent twice happen once.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// Keys belong to the agent that chose them.
    pub agent: String,
    /// The key.
    pub key: String,
    /// What was asked with it.
    pub request: Digest,
    /// What came of it.
    pub action: ActionId,
    /// When.
    pub at: Timestamp,
}

/// A batch as it was proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRecord {
    /// Its id.
    pub id: BatchId,
    /// Who proposed it.
    pub agent: String,
    /// When.
    pub created_at: Timestamp,
    /// Its items, in order.
    pub items: Vec<ActionId>,
}

/// A change to the house rules.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each variant is what it says")]
pub enum ControlChange {
    Freeze(Freeze),
    Unfreeze(FreezeId),
    Grant(Grant),
    RevokeGrant(GrantId),
    /// The grant after one of its uses. Guarded by the epoch that it was read at, no use is lost or counted twice.
    UseGrant(Grant),
    Delegate(Delegation),
    RevokeDelegation(DelegationId),
    /// By a person's hand; a fallback is over then.
    SetMode(Mode),
    /// By itself, from a mode whose demands hold on.
    FallBack {
        from: Mode,
        to: Mode,
    },
    /// A session also clears away those that are over by then; the audit log remembers them.
    AddCredential(Credential),
    RevokeCredential {
        id: TokenId,
        at: Timestamp,
    },
    /// Someone as they are now, whether they were there before or not. A name is one person's for ever.
    PutPerson(Box<Person>),
    /// The same for someone whose rights and standing are as they were: they tried to sign in, or used what works once.
    /// Whoever goes by the house rules need not look again, so this can be done by strangers.
    NotePerson(Box<Person>),
    /// Something that works once was used, at a certain time. It is remembered until it would have ended anyway.
    Spend {
        key: Digest,
        at: Timestamp,
        until: Timestamp,
    },
    /// The ledger has taken in more of the audit log. What is known of it already stays as it is.
    Seal(Box<Seal>),
}

impl ControlChange {
    /// Whether whoever goes by the house rules has to look again: this lets less through than before, or lets something
    /// through that was held, or takes someone's rights.
    #[must_use]
    pub fn raises_epoch(&self) -> bool {
        match self {
            Self::Freeze(_)
            | Self::Unfreeze(_)
            | Self::Grant(_)
            | Self::RevokeGrant(_)
            | Self::UseGrant(_)
            | Self::Delegate(_)
            | Self::RevokeDelegation(_)
            | Self::SetMode(_)
            | Self::FallBack { .. }
            | Self::RevokeCredential { .. }
            | Self::PutPerson(_) => true,
            // A browser that signed in takes nothing from anyone. What it came with is not known yet, and so is looked up.
            Self::AddCredential(credential) => credential.session.is_none(),
            Self::NotePerson(_) | Self::Spend { .. } | Self::Seal(_) => false,
        }
    }

    /// Whether someone is not as they were.
    pub(crate) fn raises_people_epoch(&self) -> bool {
        matches!(self, Self::PutPerson(_) | Self::NotePerson(_))
    }
}

/// The house rules that can change at any moment and hold at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// Rises with every change, also of credentials and of what people may.
    pub epoch: u64,
    /// Rises with every change of people.
    pub people_epoch: u64,
    /// The operating mode.
    pub mode: Mode,
    /// After a fallback: the mode whose demands hold as well.
    pub fell_back_from: Option<Mode>,
    /// Freezes in force.
    pub freezes: Vec<Freeze>,
    /// Grants; some may have expired.
    pub grants: Vec<Grant>,
    /// Delegations; some may not have begun, or be over.
    pub delegations: Vec<Delegation>,
}

/// Something that people are to be told.
#[derive(Debug, Clone, Copy)]
pub struct NoticeRow {
    /// About which action.
    pub action: ActionId,
    /// What.
    pub notice: Notice,
    /// Since when.
    pub at: Timestamp,
}

/// A notice in the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNotice {
    /// Its place in the outbox, to settle it. No other notice ever has the same.
    pub id: i64,
    /// About which action.
    pub action: ActionId,
    /// What ([`Notice::as_str`]).
    pub notice: String,
    /// Since when.
    pub at: Timestamp,
}

/// An audit event in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place.
    pub seq: u64,
    /// Its type, such as `decided`.
    pub kind: String,
    /// Its bytes, as they were written.
    pub body: String,
}

/// A commit that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The place of the newest audit event that everyone can now see.
    pub last_seq: u64,
}

/// Why a commit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A guard did not hold; nothing was written.
    #[error("conflict: {0:?}")]
    Conflict(Conflict),
    /// The store could not say yes.
    #[error(transparent)]
    Unavailable(#[from] StoreError),
}

/// Which guard did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// The house rules have changed since.
    ControlMoved,
    /// Someone is not as they were.
    PeopleMoved,
    /// This action has moved since, or is not there.
    CaseMoved(ActionId),
    /// The moment before which this action had to be moved has passed.
    TooLate(ActionId),
    /// The same proposal is already waiting, or approved and not yet claimed.
    Joinable(ActionId),
    /// Meters show something else by now.
    MetersMoved,
    /// The key was used before.
    IdempotencyKeyUsed {
        /// For this request.
        request: Digest,
        /// With this result.
        action: ActionId,
    },
    /// Another node has read on in the log.
    ReadOn,
    /// A provider has told us of this before.
    EventSeen,
    /// Too many actions of this agent are pending.
    TooManyPendingForAgent,
    /// Too many actions are pending altogether.
    TooManyPending,
}

/// A store that cannot be used now.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The database failed: disk full, file gone, connection lost.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The store was shut down.
    #[error("the store is closed")]
    Closed,
    /// A row that no version of this program writes.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
}
