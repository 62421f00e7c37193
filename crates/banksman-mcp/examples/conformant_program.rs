//! The server that the official conformance suite wants to meet, over standard input and output.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    reason = "a program of the tests, that shares its server with them"
)]

#[path = "../tests/mcp/conformant.rs"]
mod conformant;
#[path = "../tests/mcp/conformant_tasks.rs"]
mod conformant_tasks;

use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let running = conformant::Conformant.serve(stdio()).await.unwrap();
    running.waiting().await.unwrap();
}
