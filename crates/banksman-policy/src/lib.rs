//! What an action demands: policy files in, verdicts out.
//!
//! A policy is YAML that a security team can read. It is read once, into the types of [`file`]; compiled once, into a
//! [`Policy`] that is indexed by tool; and then asked, for an action, what reading it found, and what is true around
//! it: [`Policy::judge`]. Values in, values out: no clock, no I/O, no state.
//!
//! **The strictest wins.** Every rule that matches raises; their order means nothing. The one way down is `accepts`,
//! which sets findings aside by name for the actions that its rule matches. Nothing lowers a block. A rule that cannot
//! be decided (an expression that fails, an argument of another type) counts as matching for what it raises, and as
//! not matching for what it accepts.
//!
//! Modules are in the order of a policy's life: read, compiled, asked, explained.

pub mod file;

mod load;

mod arguments;
mod budget;
mod compile;
mod condition;
mod draft;
mod expression;
mod free;
mod glob;
mod index;
mod regex_reach;
mod satisfiable;
mod window;

mod cases;
mod diff;
mod facts;
mod import;
mod judge;
mod listing;
mod meters;
mod people;
mod preset;
mod reference;
mod remarks;
mod replay;
mod route;
mod schema;
mod shadow;
mod templates;
mod tinman;
mod triage;

pub use cases::CaseResult;
pub use compile::{DEFAULT_POLICY, Policy};
pub use diff::{Difference, Effect, differences};
pub use facts::Facts;
pub use import::Imported;
pub use judge::{Judgement, Reason};
pub use listing::ListedRule;
pub use meters::{Ending, Meters};
pub use people::{AllowRemember, Enforcement, Fallback, HousePolicy, ModeGate};
pub use preset::Preset;
pub use reference::reference;
pub use remarks::Remark;
pub use replay::{Contradiction, HumanAnswer, Replay, Replayed};
pub use route::Leg;
pub use schema::Document;
pub use templates::Template;
pub use tinman::matrix_tier;
pub use triage::{Means, Model, TriagePlan, Webhook};
pub use window::{Metering, Windows};
