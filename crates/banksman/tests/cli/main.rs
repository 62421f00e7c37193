//! The command line from outside, as scripts and people meet it: the real binary, real folders, real sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops; helpers here are test code too"
)]

mod backup;
mod chance;
mod crew;
mod installation;
mod policy;
mod policy_tools;
mod pty;
mod raw;

mod help;
mod offline;

mod commands;
mod degraded;
mod documented;
mod gated;
mod gateway;
mod hooks;
mod hostile;
mod kill;
mod mcp;
mod mcp_outcomes;
mod nodes;
mod people;
mod proof;
mod quickstart;
mod refunds;
mod resume;
mod server;
mod stopping;
mod store_copy;
mod token;
mod torture;
mod triage;
mod user;
mod watch;
