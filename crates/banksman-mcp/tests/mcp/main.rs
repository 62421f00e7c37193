//! The gateway, over real sockets, between real clients and real servers.

mod calls;
mod client;
mod conformance;
mod conformant;
mod held;
mod peer;
mod world;
