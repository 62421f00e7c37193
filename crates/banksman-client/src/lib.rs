//! A small blocking client of Banksman's HTTP API, used by the command line, the terminal inbox and hooks.
//!
//! It is typed with what [`banksman_core::wire`] says travels over HTTP, and knows nothing of stores or engines.
//! Blocking on purpose: each of its users asks one thing at a time, and a hook that starts thousands of times a
//! day should not start a runtime each time.
//!
//! ```no_run
//! use banksman_client::{ActionsQuery, Client};
//! use banksman_core::Status;
//!
//! # fn main() -> Result<(), banksman_client::ClientError> {
//! let client = Client::new("http://127.0.0.1:7447", "the token")?;
//! let query = ActionsQuery { status: Some(Status::Pending), ..ActionsQuery::default() };
//! for action in client.actions(&query)?.items {
//!     println!("{} {}", action.id, action.verdict.risk);
//! }
//! # Ok(())
//! # }
//! ```

mod error;
mod events;
mod query;
mod transport;

mod client;

#[cfg(test)]
mod tests;

pub use client::Client;
pub use error::ClientError;
pub use events::Events;
pub use query::{ActionsQuery, AuditQuery, PostQuery, Proposal};
