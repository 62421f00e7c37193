//! All servers behind one endpoint.

use http::{Response, StatusCode};

use crate::body::{self, Body};
use crate::gateway::Gateway;
use crate::session::Session;
use crate::visit::Visit;

pub(crate) async fn answer(_visit: Visit) -> Response<Body> {
    body::empty(StatusCode::NOT_IMPLEMENTED)
}

pub(crate) async fn listen(_gateway: &Gateway, _session: Option<Session>) -> Response<Body> {
    body::empty(StatusCode::METHOD_NOT_ALLOWED)
}

pub(crate) async fn end(_gateway: &Gateway, _session: &Session) {}
