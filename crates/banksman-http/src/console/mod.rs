//! The review console: thin handlers that read a form, call one verb, and have `banksman-web` draw the page.
//!
//! Every decision works without scripts. A decision is bound to the version and digest that the page showed, a form to
//! the session that it was made for.

pub(crate) mod account;
pub(crate) mod action;
pub(crate) mod assets;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod decide;
pub(crate) mod house;
pub(crate) mod inbox;
pub(crate) mod join;
pub(crate) mod limits;
pub(crate) mod live;
pub(crate) mod overview;
pub(crate) mod people;
pub(crate) mod policy;
pub(crate) mod problems;
pub(crate) mod provider;
pub(crate) mod settings;
pub(crate) mod sign_in;

mod desk;
mod fields;
mod session;
mod visit;

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use banksman_core::ActionId;
use banksman_web::Said;

use self::fields::telling;
use self::session::Session;
use crate::problem::ProblemError;

pub(crate) use self::fields::PageForm;
pub(crate) use self::session::COOKIE_NAME;

type Page = Result<Response, ProblemError>;

/// Our own style, scripts and forms, and nothing else; no script may make markup of a text.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
     frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);

fn html(status: StatusCode, body: String) -> Response {
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    // Not no-referrer: with that, browsers send `Origin: null` with our own forms, which we then refuse.
    headers.insert("referrer-policy", HeaderValue::from_static("same-origin"));
    response
}

fn to(path: &str) -> Response {
    // Only our own paths come here, so there is nothing that a header could not hold.
    let location = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
}

/// Back to a page, which says that it was done.
fn done(session: &Session, path: &str, said: Said) -> Response {
    to(&telling(&session.csrf, path, said, None))
}

/// To a list, which says what was done with an action.
fn done_about(session: &Session, list: &str, id: ActionId, said: Said) -> Response {
    to(&telling(&session.csrf, list, said, Some(id)))
}
