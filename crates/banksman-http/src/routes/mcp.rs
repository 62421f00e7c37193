//! `/mcp`: the gateway in front of MCP servers.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use banksman_core::Principal;
use banksman_mcp::Gateway;
use serde_json::json;

use super::{Answer, ok};
use crate::App;
use crate::access::AgentCaller;
use crate::body::RawBody;
use crate::problem::{Code, ProblemError};

/// Where clients learn how to authenticate.
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// An agent that speaks MCP. Without a credential it is told where to learn about them, as the revision wants it.
pub(crate) struct McpCaller(Arc<Principal>);

impl FromRequestParts<App> for McpCaller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        match AgentCaller::from_request_parts(parts, app).await {
            Ok(AgentCaller(agent)) => Ok(Self(agent)),
            Err(problem) => {
                let mut response = problem.into_response();
                let base = app.address.reached_by(&parts.headers);
                let challenge = format!(
                    "Bearer realm=\"banksman\", resource_metadata=\"{base}{METADATA}{}\"",
                    parts.uri.path()
                );
                if response.headers().contains_key(WWW_AUTHENTICATE)
                    && let Ok(challenge) = HeaderValue::from_str(&challenge)
                {
                    response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
                }
                Err(response)
            }
        }
    }
}

/// `GET /.well-known/oauth-protected-resource`, and the same for one server.
pub(crate) async fn protected_resource(
    State(app): State<App>,
    upstream: Upstream,
    headers: HeaderMap,
) -> Answer {
    let path = upstream.map_or_else(|| "/mcp".to_owned(), |Path(name)| format!("/mcp/{name}"));
    ok(&json!({
        "resource": format!("{}{path}", app.address.reached_by(&headers)),
        "resource_name": "Banksman",
        "bearer_methods_supported": ["header"],
    }))
}

fn gateway<'a>(app: &'a App, upstream: Option<&str>) -> Result<&'a Arc<Gateway>, ProblemError> {
    let missing = || {
        ProblemError::new(
            Code::NotFound,
            "no such MCP server is configured here; `banksman serve --mcp FILE` names them",
        )
    };
    app.gateway.as_ref().filter(|gateway| gateway.serves(upstream)).ok_or_else(missing)
}

/// A server's name, at the endpoint of one; without, the endpoint is that of all of them.
type Upstream = Option<Path<String>>;

fn name(upstream: &Upstream) -> Option<&str> {
    upstream.as_ref().map(|Path(name)| name.as_str())
}

/// A message for a server.
pub(crate) async fn post(
    State(app): State<App>,
    McpCaller(agent): McpCaller,
    upstream: Upstream,
    headers: HeaderMap,
    body: RawBody,
) -> Answer {
    let upstream = name(&upstream);
    let response = gateway(&app, upstream)?.post(agent, upstream, headers, body.0).await;
    Ok(response.map(axum::body::Body::new))
}

/// What a server says on its own account.
pub(crate) async fn get(
    State(app): State<App>,
    McpCaller(agent): McpCaller,
    upstream: Upstream,
    headers: HeaderMap,
) -> Answer {
    let upstream = name(&upstream);
    let response = gateway(&app, upstream)?.get(agent, upstream, headers).await;
    Ok(response.map(axum::body::Body::new))
}

/// The end of a session.
pub(crate) async fn delete(
    State(app): State<App>,
    McpCaller(agent): McpCaller,
    upstream: Upstream,
    headers: HeaderMap,
) -> Answer {
    let upstream = name(&upstream);
    let response = gateway(&app, upstream)?.delete(agent, upstream, headers).await;
    Ok(response.map(axum::body::Body::new))
}
