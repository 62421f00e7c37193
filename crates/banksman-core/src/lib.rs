//! The pure heart of Banksman.
//!
//! Everything here takes values and returns values: no clock, no randomness, no I/O, no threads. What an
//! agent wants to do is an [`Action`]; its [`Digest`] names exactly what would execute; a [`Verdict`] says
//! what policy demands; a [`Case`] is the action on its way through the house, and [`step`] is the only way
//! to move it. Modules are listed in the order of an action's life.

mod id;
mod level;
mod person;
mod principal;
mod time;
mod wildcard;

pub mod json;

mod action;
mod digest;

mod assessment;
mod escalation;
mod quorum;
mod verdict;

mod delegation;
mod freeze;
mod grant;
mod mode;

pub mod meter;

mod case;
mod lifecycle;
mod refusal;
mod step_up;

mod batch;
mod post;

pub mod audit;
pub mod redact;
pub mod statistics;
pub mod visible;
pub mod wire;

pub use action::{Action, ActionError, Annotations, Estimate, Kind, Resume, Severity};
pub use assessment::{Assessment, Finding, Span, Triage};
pub use batch::batch_digest;
pub use case::{Authority, Case, Claim, Decision, Review, State, Status, Submission};
pub use delegation::{Acting, ActingSource, Delegation};
pub use digest::{Digest, InvalidDigestError, action_digest, forwarded_digest};
pub use escalation::{ChainProgress, Escalation, EscalationStep, combine_chains};
pub use freeze::{Freeze, FreezeScope};
pub use grant::{ArgPatterns, Grant, GrantMatch, GrantReach, Remember, RememberLimits, RememberScope};
pub use id::{ActionId, BatchId, DelegationId, FreezeId, GrantId, InvalidIdError, PersonId, TokenId};
pub use level::{Risk, Tier, UnknownNameError};
pub use lifecycle::{
    Ballot, ClaimRequest, Command, Edit, Effect, Moment, Notice, Opening, Outcome, Transition, open, step,
};
pub use mode::{IllegalModeChangeError, Mode};
pub use person::{Factor, PasskeyFact, PersonChange, SignInMethod, Standing};
pub use post::{DeliveryStatus, JobStatus, Purpose};
pub use principal::{Actor, Principal, PrincipalKind};
pub use quorum::Quorum;
pub use refusal::Refusal;
pub use step_up::{Assertion, Signed, StepUp};
pub use time::{InvalidTimeError, Timestamp};
pub use verdict::Verdict;
pub use wildcard::{fits_wildcard, wildcard_covers};
