//! What tests break things with: a PostgreSQL that can crash, a line to it that can fail in every way, a small disk,
//! and a web service with bad manners.
//!
//! And one way to say that a test cannot run here.
//!
//! Nothing here knows Banksman. Threads and blocking sockets, because it has to work beside any runtime or none.

mod cluster;
mod disk;
mod programs;
mod proxy;
mod service;
mod skip;
mod wire;

pub use cluster::Cluster;
pub use disk::SmallDisk;
pub use proxy::{Moment, Proxy, Trap, Weather};
pub use service::{Conduct, Heard, Service};
pub use skip::{NO_SKIPS, has_curl, packages, skip, skip_without_small_disk};
