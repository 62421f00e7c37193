//! The core, tried from outside: models that try to break its invariants, and bytes that must never change.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops; helpers here are test code too"
)]

mod fixture;
mod golden;
mod json;
mod model;
mod samples;
mod sequences;
mod shown;
mod spelling;
