//! Where Banksman keeps what must not be lost.
//!
//! [`Store`] is the port that the engine writes through; [`sqlite`] implements it for one machine and [`postgres`] for many. What every
//! store has to promise is written at the port and tried by the suite in [`conformance`].

mod credential;
mod encode;
mod health;
mod ledger;
mod listing;
mod person;
mod port;
mod post;
mod query;

pub mod copy;
pub mod postgres;
pub mod sqlite;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use credential::{Credential, SessionMark};
pub use ledger::{Seal, SignedCheckpoint};
pub use person::{Failures, Hidden, Link, LinkPurpose, Passkey, Person, Subject, Totp};
pub use port::{
    AdvancedCase, BatchRecord, Commit, CommitError, Committed, Conflict, Control, ControlChange,
    IdempotencyKey, News, NewsOf, NoticeRow, PendingLimits, Store, StoreError, StoredEvent, StoredNotice,
};
pub use post::{
    Attempt, Delivery, DeliveryQuery, Job, JobQuery, LogReading, NewDelivery, NewJob, Post, Run, SeenEvent,
};
pub use query::{CaseQuery, EventQuery, Findings, Order, PendingCounts, SortBy};
