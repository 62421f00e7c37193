//! The gateway, over real sockets, between real clients and real servers.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops; helpers here are test code too"
)]

mod batches;
mod between;
mod calls;
mod client;
mod conformance;
mod conformant;
mod conformant_tasks;
mod docs;
mod headers;
mod held;
mod hostile;
mod mood;
mod others;
mod patience;
mod peer;
mod places;
mod programs;
mod resumed;
mod rounds;
mod running;
mod shared;
mod slow;
mod stateless;
mod subscribed;
mod two_faced;
mod unsent;
mod world;
