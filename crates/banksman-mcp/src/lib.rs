//! Banksman in front of MCP servers.
//!
//! Clients speak to the gateway as to the servers themselves. What is not a `tools/call` passes through as it is; a call
//! becomes an action of the engine, and runs, is held for people, or never runs. The gateway owns the wire: it decides on
//! what was sent and forwards the bytes that were sent, because a typed model would drop, round and reorder.
//!
//! Modules are listed in the order of a call's way: what was sent, where it can go, who decides, how it is run, and how
//! waiting for people looks to a client.

mod config;
mod span;

mod body;
mod headers;
mod message;
mod names;
mod questions;
mod raw;
mod seal;
mod sse;

mod catalogue;
mod changes;
mod definition;
mod eras;
mod parked;
mod pauses;
mod pins;
mod session;
mod upstream;

mod aggregate;
mod batch;
mod gateway;
mod labels;
mod lists;
mod owners;
mod relay;
mod stream;
mod visit;

mod call;
mod callers;
mod errand;
mod hold;
mod open_stream;
mod outcome;
mod param_headers;
mod plain;
mod present;
mod recover;
mod rounds;
mod tasks;
mod wait_tool;
mod ways;
mod words;

mod claimed;
mod program;
mod scan;
mod stdio;

pub use body::{Body, BrokenBodyError};
pub use config::Config;
pub use gateway::{Gateway, GatewayError};
pub use pins::accept;
pub use plain::result_of;
pub use scan::{ScannedTool, scan};
pub use stdio::{Gate, GateError, Proxy, Standing};
