//! The routes of the MCP gateway, and harombe's for what it holds.

use axum::http::Method;

use super::{DECIDING, Route, route};
use crate::Access::{Agent, Anyone, Person, Public};
use crate::openapi::{Operation, Parameter};
use crate::problem::Code;
use crate::routes::{hitl, mcp};

/// What every route of the gateway may answer: whatever the server behind it does.
fn mcp_operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(id, summary)
        .with(Parameter::header("Mcp-Session-Id", "the session, once there is one"))
        .answers_with(200, "A message", "application/json")
        .answers_with(200, "Messages", "text/event-stream")
        .answers_with(400, "No message", "application/json")
        .answers_with(404, "No such server or session", "application/json")
        .answers_nothing(405, "The server does not do that")
        .answers_with(502, "The server behind the gateway does not answer", "application/json")
        .fails(&[Code::BodyTooSlow, Code::BodyTooLarge, Code::NotFound])
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        route(
            Method::POST,
            "/mcp",
            Agent,
            mcp::post,
            mcp_operation(
                "mcpPost",
                "Speak to the MCP servers behind the gateway: to the only one, or to all of them",
            )
            .answers_with(
                202,
                "Heard; or, for clients that only post JSON, held",
                "application/json",
            ),
        ),
        route(
            Method::GET,
            "/mcp",
            Agent,
            mcp::get,
            mcp_operation("mcpGet", "Hear what the MCP servers say on their own account"),
        ),
        route(
            Method::DELETE,
            "/mcp",
            Agent,
            mcp::delete,
            mcp_operation("mcpDelete", "End an MCP session").answers_nothing(204, "Ended"),
        ),
        route(
            Method::POST,
            "/mcp/{upstream}",
            Agent,
            mcp::post,
            mcp_operation("mcpPostOne", "Speak to one MCP server behind the gateway").answers_with(
                202,
                "Heard; or, for clients that only post JSON, held",
                "application/json",
            ),
        ),
        route(
            Method::GET,
            "/mcp/{upstream}",
            Agent,
            mcp::get,
            mcp_operation("mcpGetOne", "Hear what one MCP server says on its own account"),
        ),
        route(
            Method::DELETE,
            "/mcp/{upstream}",
            Agent,
            mcp::delete,
            mcp_operation("mcpDeleteOne", "End a session with one MCP server").answers_nothing(204, "Ended"),
        ),
        route(
            Method::GET,
            "/.well-known/oauth-protected-resource",
            Public,
            mcp::protected_resource,
            Operation::new("protectedResource", "How MCP clients authenticate (RFC 9728)").answers_with(
                200,
                "By a bearer token",
                "application/json",
            ),
        ),
        route(
            Method::GET,
            "/.well-known/oauth-protected-resource/mcp",
            Public,
            mcp::protected_resource,
            Operation::new("protectedResourceMcp", "The same, under the endpoint's own name").answers_with(
                200,
                "By a bearer token",
                "application/json",
            ),
        ),
        route(
            Method::GET,
            "/.well-known/oauth-protected-resource/mcp/{upstream}",
            Public,
            mcp::protected_resource,
            Operation::new("protectedResourceOne", "The same, for one server").answers_with(
                200,
                "By a bearer token",
                "application/json",
            ),
        ),
        route(
            Method::GET,
            "/hitl/pending",
            Person,
            hitl::list,
            Operation::new("hitlPending", "What waits, in harombe's words")
                .with(Parameter::query("cursor", "continue behind the last page"))
                .with(Parameter::limit())
                .answers_with(200, "A list, and how many wait altogether", "application/json"),
        ),
        route(
            Method::GET,
            "/hitl/pending/{id}",
            Anyone,
            hitl::show,
            Operation::new("hitlStatus", "Where one request stands, in harombe's words")
                .answers_with(200, "It", "application/json")
                .fails(&[Code::NotFound]),
        ),
        route(
            Method::POST,
            "/hitl/decide/{id}",
            Person,
            hitl::decide,
            Operation::new("hitlDecide", "Approve or deny, in harombe's words")
                .takes::<hitl::Decided>()
                .answers_with(200, "Decided", "application/json")
                .fails(DECIDING),
        ),
        route(
            Method::GET,
            "/hitl/result/{id}",
            Anyone,
            hitl::result,
            Operation::new("hitlResult", "The result of a held call, in harombe's words")
                .answers_with(200, "The answer of the tool's server", "application/json")
                .answers_with(202, "Not yet", "application/json")
                .answers_with(403, "It did not run, and why", "application/json")
                .fails(&[Code::NotFound]),
        ),
    ]
}
