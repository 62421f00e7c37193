//! The outbox over a real engine and a real store, with channels that do as they are told and a clock that stands still.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod config;
mod deliver;
mod jobs;
mod outage;
mod plan;
mod repeat;
mod settle;
mod world;
