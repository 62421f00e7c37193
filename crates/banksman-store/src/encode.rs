//! Turning a commit into rows, before a writer sees it: whatever can be done beside it, is.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::audit::Event;
use banksman_core::meter::{Charge, Reading};
use banksman_core::{ActionId, Case, Digest, Risk, Status, Timestamp};

use crate::{BatchRecord, Commit, ControlChange, IdempotencyKey, NoticeRow, PendingLimits, Post, StoreError};

/// How long the JSON of a row mostly is at the most.
const USUAL_BYTES: usize = 1000;

/// How long a commit waits at the most that nobody waits for. Whoever hears of what came before it mostly asks for more
/// within that time.
pub(crate) const MOMENT: Duration = Duration::from_millis(1);

/// A commit, ready to be bound to statements.
pub(crate) struct EncodedCommit {
    pub(crate) control_epoch: Option<u64>,
    pub(crate) people_epoch: Option<u64>,
    pub(crate) limits: Option<PendingLimits>,
    pub(crate) opened: Vec<CaseRow>,
    pub(crate) advanced: Vec<CaseRow>,
    pub(crate) readings: Vec<Reading>,
    pub(crate) charges: Vec<Charge>,
    pub(crate) idempotency: Option<IdempotencyKey>,
    pub(crate) batch: Option<BatchRecord>,
    pub(crate) control: Vec<ControlChange>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) notices: Vec<NoticeRow>,
    pub(crate) settled_notices: Vec<i64>,
    pub(crate) post: Option<Box<Post>>,
    pub(crate) patient: bool,
}

/// A row of `actions`, and of `submissions` if that is new.
pub(crate) struct CaseRow {
    pub(crate) case: Arc<Case>,
    pub(crate) reviews: String,
    pub(crate) state: String,
    pub(crate) submission: Option<String>,
    pub(crate) was_pending: bool,
    pub(crate) before: Option<Timestamp>,
}

/// A row of `audit`.
pub(crate) struct EventRow {
    pub(crate) event: Event,
    pub(crate) body: String,
    /// What the ledger hashes the body to.
    pub(crate) leaf: Digest,
}

/// Which epochs a commit raises.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raises {
    pub(crate) epoch: bool,
    pub(crate) people_epoch: bool,
}

impl EncodedCommit {
    /// Whether it changes nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.opened.is_empty()
            && self.advanced.is_empty()
            && self.charges.is_empty()
            && self.idempotency.is_none()
            && self.batch.is_none()
            && self.control.is_empty()
            && self.events.is_empty()
            && self.notices.is_empty()
            && self.settled_notices.is_empty()
            && self.post.is_none()
    }

    /// Whether all that it writes is about actions, and none of it about the house, people or messages.
    pub(crate) fn is_plain(&self) -> bool {
        self.batch.is_none() && self.control.is_empty() && self.post.is_none() && !self.is_empty()
    }

    /// Whether it changes what others go by, and whether it changes someone.
    pub(crate) fn raises(&self) -> Raises {
        Raises {
            epoch: self.control.iter().any(ControlChange::raises_epoch),
            people_epoch: self.control.iter().any(ControlChange::raises_people_epoch),
        }
    }

    pub(crate) fn of(commit: Commit) -> Result<Self, StoreError> {
        // Each notice takes the place of an event; one without a place would be lost.
        if commit.notices.len() > commit.events.len() {
            return Err(StoreError::Failed("a commit has more notices than events".into()));
        }
        Ok(Self {
            control_epoch: commit.control_epoch,
            people_epoch: commit.people_epoch,
            limits: commit.limits,
            opened: commit
                .opened
                .into_iter()
                .map(|case| CaseRow::of(case, true))
                .collect::<Result<_, _>>()?,
            advanced: commit
                .advanced
                .into_iter()
                .map(|moved| {
                    let row = CaseRow::of(moved.case, moved.new_submission)?;
                    Ok(CaseRow { was_pending: moved.was_pending, before: moved.before, ..row })
                })
                .collect::<Result<_, StoreError>>()?,
            readings: commit.readings,
            charges: commit.charges,
            idempotency: commit.idempotency,
            batch: commit.batch,
            control: commit.control,
            events: commit.events.into_iter().map(EventRow::of).collect::<Result<_, _>>()?,
            notices: commit.notices,
            settled_notices: commit.settled_notices,
            post: commit.post,
            patient: commit.patient,
        })
    }
}

impl CaseRow {
    fn of(case: Arc<Case>, new_submission: bool) -> Result<Self, StoreError> {
        let reviews = if case.reviews.is_empty() { "[]".to_owned() } else { json(&case.reviews)? };
        let state = json(&case.state)?;
        let submission = if new_submission { Some(json(&*case.submission)?) } else { None };
        Ok(Self { case, reviews, state, submission, was_pending: false, before: None })
    }

    pub(crate) fn claimed_at(&self) -> Option<i64> {
        self.case.state.claim().map(|claim| claim.at.as_micros())
    }

    /// The rank of its risk, from 0 for none.
    pub(crate) fn risk(&self) -> u8 {
        rank(self.case.submission.verdict.risk)
    }

    /// Until when people may decide, while they may.
    pub(crate) fn deadline(&self) -> Option<i64> {
        let pending = self.case.status() == Status::Pending;
        self.case.state.ends_at().filter(|_| pending).map(Timestamp::as_micros)
    }

    pub(crate) fn wake_at(&self) -> Option<i64> {
        self.case.state.wakes_at().map(Timestamp::as_micros)
    }
}

impl EventRow {
    fn of(event: Event) -> Result<Self, StoreError> {
        let body = json(&event)?;
        let leaf = Digest::of_leaf(body.as_bytes());
        Ok(Self { event, body, leaf })
    }
}

pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    // Most fit; growing there from nothing would copy each of them several times.
    let mut text = String::with_capacity(USUAL_BYTES);
    banksman_core::json::write(value, &mut text).map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok(text)
}

/// A risk as a number that sorts as it does.
pub(crate) fn rank(risk: Risk) -> u8 {
    match risk {
        Risk::None => 0,
        Risk::Low => 1,
        Risk::Medium => 2,
        Risk::High => 3,
        Risk::Critical => 4,
    }
}

/// The risk of a rank; none of ours is the worst.
pub(crate) fn of_rank(rank: i64) -> Risk {
    Risk::ALL.iter().copied().find(|risk| i64::from(self::rank(*risk)) == rank).unwrap_or(Risk::Critical)
}

/// The items of a batch, as the bytes of their ids.
pub(crate) fn item_bytes(items: &[ActionId]) -> Vec<u8> {
    items.iter().flat_map(|id| id.to_bytes()).collect()
}
