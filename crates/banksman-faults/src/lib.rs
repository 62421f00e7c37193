//! What tests break things with: a PostgreSQL that can crash, and a line to it that can fail in every way.
//!
//! Nothing here knows Banksman. Threads and blocking sockets, because it has to work beside any runtime or none.

mod cluster;
mod programs;
mod proxy;
mod wire;

pub use cluster::Cluster;
pub use proxy::{Moment, Proxy, Trap, Weather};
