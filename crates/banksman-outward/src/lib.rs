//! Calls to the outside: webhooks, Slack, LINE, and whatever wakes an agent up.
//!
//! Who names an address may want us to call another than it seems: the machine's own, a neighbour's, the cloud's
//! metadata. So a name is resolved first, every address that it has is checked, and the connection goes to one that was
//! checked; no redirect is followed, no proxy is asked. And whoever answers may want to keep us: a call has one time
//! limit for everything, and an answer is read up to a limit.

mod client;
mod reach;

pub use client::{Answer, Call, CallError, Outward};
pub use reach::Reach;
