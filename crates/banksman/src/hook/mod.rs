//! Coding agents' hooks: what a host asks, in its dialect, and what it is answered.
//!
//! Hosts take a hook that crashes, is killed or takes too long for a yes. So everything here ends in an answer, and
//! the answer to everything that went wrong is no.

mod answer;
mod claims;
mod event;
mod permission;
mod watchdog;

pub(crate) use answer::{Answer, Form, Host};
pub(crate) use claims::{Claimed, Claims};
pub(crate) use event::{Call, Event, Report, likely_form};
pub(crate) use watchdog::Outlet;
