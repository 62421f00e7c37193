//! The engine over a real store, with a clock that the tests set.
//!
//! Modules stand in the order of an action's life. Every test ends with [`world::World::close`], which checks that
//! state and audit agree.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops; helpers here are test code too"
)]

mod faulty;
mod world;

mod credentials;

mod admission;
mod batches;
mod joining;
mod propose;
mod tiers;

mod decide;
mod delegations;
mod escalation;
mod grants;
mod modify;
mod redaction;
mod solo;

mod cancel;
mod claim;
mod forwarded;
mod freeze;
mod modes;
mod observing;
mod time;

mod resolutions;
mod spend;
mod triage;
mod waiting;

mod ledger;
mod windows;
mod workers;

mod faults;
mod races;
