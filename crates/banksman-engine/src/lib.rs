//! What Banksman does, one file per verb.
//!
//! A verb loads what it needs, asks the pure parts (`banksman-core`, the policy), and commits state, audit event
//! and outbox row in one transaction. It never decides anything itself. Modules are listed in the order of an
//! action's life; the workers at the end do what time and the outbox demand.

mod clock;
mod engine;
mod error;
mod flight;
mod ids;
mod live;
mod memory;
mod retry;
mod signer;

mod in_force;
mod policy;

mod credentials;
mod people;
mod rights;

mod admission;
mod consider;
mod propose;
mod propose_batch;
mod read;
mod schema;
mod statistics;
mod tally;
mod triage;
mod wait;

mod advance;
mod decide;
mod decide_batch;
mod edit;

mod cancel;
mod claim;
mod outcome;
mod spend;

mod delegations;
mod grants;
mod house;
mod modes;
mod regression;
mod resolutions;

mod post;
mod resume;

mod abandoned_commits;
mod dispatcher;
mod follower;
mod ledger;
mod timekeeper;

pub use admission::QueueLimits;
pub use claim::Claimed;
pub use clock::{Clock, SteadyClock, SystemClock};
pub use consider::Explained;
pub use credentials::{IssuedToken, NewToken};
pub use decide_batch::ItemAnswer;
pub use dispatcher::{LogSink, NoticeSink};
pub use engine::{Engine, EngineConfig};
pub use error::{About, EngineError};
pub use in_force::{LookedFor, PolicyInForce, PolicyText, RefusedPolicy, RuleText};
pub use ledger::Proof;
pub use people::{
    AcceptedInvitation, BrowserMark, By, FirstFactor, IssuedLink, NewPassword, NewPerson, PasskeyAnswer,
    PasskeyQuestion, PasskeyRegistration, PasswordAttempt, SessionInfo, StepUpQuestion, VouchedFor,
};
pub use policy::Judge;
pub use post::Decider;
pub use propose::{ProposeRequest, Proposed};
pub use propose_batch::{BatchRequest, ProposedBatch};
pub use resolutions::Resolutions;
pub use resume::ResumeTarget;
pub use signer::Signer;
pub use statistics::Counts;
pub use triage::{Evaluator, TriageQuestion};
