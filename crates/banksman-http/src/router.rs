//! Every route, in one place: who may call it, what it takes, what it answers.

mod actions;
mod channels;
mod console;
mod gateway;
mod house;
mod meta;
mod notifications;
mod people;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{from_fn, map_response};
use axum::routing::{MethodFilter, MethodRouter, on};

use crate::console::problems;
use crate::openapi::Operation;
use crate::problem::{Code, ProblemError};
use crate::{Access, App};

/// Why a decision may not count, in whatever words it was sent.
const DECIDING: &[Code] = &[
    Code::NotFound,
    Code::StaleVersion,
    Code::DigestMismatch,
    Code::Expired,
    Code::AlreadyDecided,
    Code::AlreadyVoted,
    Code::SelfApproval,
    Code::NotIndependent,
    Code::MissingRole,
    Code::ReasonRequired,
    Code::StepUpRequired,
    Code::Frozen,
];

/// A route and everything that is said about it.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) operation: Operation,
    handler: MethodRouter<App>,
}

/// A route, for those who want to know which there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteInfo {
    /// The method.
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
}

fn route<H, T>(method: Method, path: &'static str, access: Access, handler: H, operation: Operation) -> Route
where
    H: Handler<T, App>,
    T: 'static,
{
    let filter = match method {
        Method::POST => MethodFilter::POST,
        Method::DELETE => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    };
    Route { method, path, access, operation, handler: on(filter, handler) }
}

fn get<H, T>(path: &'static str, access: Access, handler: H, operation: Operation) -> Route
where
    H: Handler<T, App>,
    T: 'static,
{
    route(Method::GET, path, access, handler, operation)
}

fn post<H, T>(path: &'static str, access: Access, handler: H, operation: Operation) -> Route
where
    H: Handler<T, App>,
    T: 'static,
{
    route(Method::POST, path, access, handler, operation)
}

fn delete<H, T>(path: &'static str, access: Access, handler: H, operation: Operation) -> Route
where
    H: Handler<T, App>,
    T: 'static,
{
    route(Method::DELETE, path, access, handler, operation)
}

/// Every route of this server.
pub(crate) fn routes() -> Vec<Route> {
    [
        actions::routes(),
        house::routes(),
        meta::routes(),
        people::api(),
        gateway::routes(),
        channels::routes(),
        notifications::routes(),
        console::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Which routes there are, and who may call them.
#[must_use]
pub fn route_table() -> Vec<RouteInfo> {
    routes()
        .into_iter()
        .map(|Route { method, path, access, .. }| RouteInfo { method, path, access })
        .collect()
}

/// The application as a service, behind the check of hosts and origins that [`crate::serve`] does.
pub(crate) fn router(app: App) -> Router {
    let mut router = Router::new();
    for Route { path, handler, .. } in routes() {
        router = router.route(path, handler);
    }
    let over_tls = app.address.is_secure();
    let router = router
        .fallback(no_route.layer(from_fn(problems::for_people)))
        .method_not_allowed_fallback(no_method.layer(from_fn(problems::for_people)))
        .with_state(app);
    if over_tls { router.layer(map_response(console::only_over_tls)) } else { router }
}

async fn no_route() -> ProblemError {
    ProblemError::new(Code::NotFound, "there is no such route; /openapi.json lists them")
}

async fn no_method() -> ProblemError {
    ProblemError::new(Code::MethodNotAllowed, "this path has other methods; /openapi.json lists them")
}
