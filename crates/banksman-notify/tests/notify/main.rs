//! Channels over real sockets, against services that behave like the real ones, and worse.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops; helpers here are test code too"
)]

mod fixture;

mod email;
mod failures;
mod gallery;
mod line;
mod peers;
mod slack;
mod smtp;
mod webhook;
