//! Banksman's HTTP API: thin handlers over the engine.
//!
//! Every route is in [`router`], with who may call it and what it takes and answers; the authorisation table and
//! the OpenAPI document are made from the same list. Every error becomes a problem document in [`problem`].

mod access;
mod address;
mod app;
mod attending;
mod body;
mod console;
mod hooks;
mod hosts;
mod openapi;
mod prefer;
mod problem;
mod query;
mod router;
mod routes;
mod server;

pub use access::Access;
pub use address::PublicAddress;
pub use app::{App, AppConfig, Hosts};
pub use hooks::Hooks;
pub use openapi::document;
pub use problem::{CODES, Code};
pub use router::{RouteInfo, route_table};
pub use server::{listen, serve};
