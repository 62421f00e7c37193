//! The API over real sockets: the real router, a real store, real credentials.
//!
//! Modules mirror URLs. Every answer that passes through [`server::Server`] is also held against the OpenAPI
//! document ([`contract`]), so that no test can see something that the document does not say.
//!
//! The document itself is linted by a program that is not ours. It needs the network, so it is run by hand:
//!
//! ```sh
//! banksman serve --data /tmp/lint --listen 127.0.0.1:7501 &
//! curl -s http://127.0.0.1:7501/openapi.json > /tmp/openapi.json
//! npx @redocly/cli lint /tmp/openapi.json
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops; helpers here are test code too"
)]

mod client;
mod contract;
mod server;

mod access;
mod bad_input;
mod console;
mod errors;
mod exact;
mod hitl;
mod hooks;
mod meta;
mod openapi;
mod v1;
mod waiting;
