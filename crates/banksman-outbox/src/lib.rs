//! From "people should know" to a message on someone's phone, and from a decision back to the agent's side.
//!
//! The engine leaves notices; [`plan`] turns each into deliveries, by policy's routes and people's preferences, without
//! a clock or I/O. Deliveries are rows: they are stored in the transaction that settles the notice, so none is lost and
//! none is planned twice. One worker for each channel carries them, so a channel that is down holds up nobody else; it
//! looks again at the action right before it sends, so what was decided or has expired meanwhile is not sent. Another
//! worker reads the audit log and sees to it that messages about what is settled say so, and that agents which asked
//! for it are called. What people answer on a channel comes back here: it is found out whose it is and whether it may be
//! decided there, and then it goes to the engine like any other decision. Nothing here decides anything.

mod timing;

mod config;
mod directory;
mod plan;

mod attend;
mod jobs;
mod outbox;
mod postman;
mod resolution_call;
mod resolutions;

pub use config::{Config, OpenedChannels};
pub use directory::{ChannelRules, Contact, Directory, Limits};
pub use jobs::{AgentCaller, JobLimits};
pub use outbox::{Outbox, TestError};
pub use plan::{Situation, plan};
pub use timing::Retries;
