//! What the server says about itself.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde_json::json;

use super::{Answer, ok};
use crate::App;

pub(crate) async fn health() -> Answer {
    ok(&json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
}

pub(crate) async fn ready(State(app): State<App>) -> Answer {
    app.engine.ping().await?;
    ok(&json!({"status": "ready"}))
}

pub(crate) async fn openapi(State(app): State<App>) -> Answer {
    Ok(([(CONTENT_TYPE, "application/json")], app.openapi.clone()).into_response())
}

pub(crate) async fn jwks(State(app): State<App>) -> Answer {
    ok(&app.engine.jwks())
}
