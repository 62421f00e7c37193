//! The pages, drawn with everything that a hostile agent could write.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on stops; helpers here are test code too"
)]

mod doors;
mod gallery;
mod markup;
mod pages;
mod snapshot;
