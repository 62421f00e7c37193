//! What policies mean, from the outside.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on stops; helpers here are test code too"
)]

mod diff;
mod docs;
mod import;
mod meaning;
mod mistakes;
mod people;
mod remarks;
mod replay;
mod schema;
mod strictness;
mod templates;
mod unclear;
