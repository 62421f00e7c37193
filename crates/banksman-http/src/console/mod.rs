//! The first page that a person sees: sign in by one-time link, see what waits, approve or deny.
//!
//! Small on purpose and without scripts: the review console proper will be a crate of its own. What is here
//! already keeps to its rules: everything that an agent wrote is escaped and made visible, nothing runs, and a
//! decision is bound to the version and digest that the page showed.

mod page;
mod session;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use banksman_core::wire::DecisionRequest;
use banksman_core::{ActionId, Decision, Digest};
use banksman_store::CaseQuery;
use serde::Deserialize;

use self::session::{MaybeSession, Session};
use crate::App;
use crate::body::{FormBody, Params};
use crate::problem::{Code, ProblemError};

pub(crate) use self::session::{COOKIE_NAME, SignInCodes};

type Page = Result<Response, ProblemError>;

/// How many waiting actions one page shows.
const SHOWN: usize = 50;

/// Nothing but our own style sheet and forms to ourselves.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

fn html(status: StatusCode, body: String) -> Response {
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    response
}

fn to_home() -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
}

pub(crate) async fn home(State(app): State<App>, MaybeSession(session): MaybeSession) -> Page {
    match session {
        Some(session) => inbox(&app, &session, None).await,
        None => Ok(html(StatusCode::OK, page::signed_out())),
    }
}

async fn inbox(app: &App, session: &Session, remark: Option<&str>) -> Page {
    let waiting = app.engine.actions(CaseQuery::urgent(SHOWN)).await?;
    let total = app.engine.pending_count().await?;
    let status = if remark.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    Ok(html(status, page::inbox(session, &waiting, total, remark)))
}

#[derive(Deserialize, utoipa::ToSchema)]
pub(crate) struct SignInCode {
    /// The one-time code of a sign-in link.
    #[serde(default)]
    code: String,
}

pub(crate) async fn sign_in_page(Params(SignInCode { code }): Params<SignInCode>) -> Page {
    Ok(html(StatusCode::OK, page::sign_in(&code)))
}

pub(crate) async fn sign_in(
    State(app): State<App>,
    FormBody(SignInCode { code }): FormBody<SignInCode>,
) -> Page {
    let Some(name) = app.codes.redeem(&code) else {
        return Ok(html(StatusCode::FORBIDDEN, page::bad_code()));
    };
    let cookie = session::begin(&app, name).await?;
    let mut response = to_home();
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

#[derive(Deserialize, utoipa::ToSchema)]
pub(crate) struct SignOut {
    /// What the page carries and no other page knows.
    csrf: String,
}

pub(crate) async fn sign_out(
    State(app): State<App>,
    session: Session,
    FormBody(form): FormBody<SignOut>,
) -> Page {
    session.check(&form.csrf)?;
    session::end(&app, &session).await?;
    let mut response = to_home();
    response.headers_mut().insert(SET_COOKIE, session::no_cookie());
    Ok(response)
}

#[derive(Deserialize, utoipa::ToSchema)]
pub(crate) struct Decided {
    /// What the page carries and no other page knows.
    csrf: String,
    /// The action.
    id: String,
    /// The version that the page showed.
    version: u32,
    /// The digest that the page showed.
    digest: String,
    /// `approve` or `deny`.
    decision: String,
    /// Why.
    #[serde(default)]
    reason: String,
}

pub(crate) async fn decide(
    State(app): State<App>,
    session: Session,
    FormBody(form): FormBody<Decided>,
) -> Page {
    session.check(&form.csrf)?;
    let broken = |_| ProblemError::new(Code::InvalidRequest, "the form is not one of ours");
    let id: ActionId = form.id.parse().map_err(|_| broken(()))?;
    let digest: Digest = form.digest.parse().map_err(|_| broken(()))?;
    let decision: Decision = form.decision.parse().map_err(|_| broken(()))?;
    let reason = Some(form.reason).filter(|reason| !reason.trim().is_empty());
    let request = DecisionRequest {
        decision,
        version: form.version,
        digest,
        reason,
        args: None,
        message: None,
        remember: None,
    };
    match app.engine.decide(&session.person, id, request).await {
        Ok(_) => Ok(to_home()),
        Err(error) => {
            let (_, detail) = ProblemError::from(error).into_parts();
            inbox(&app, &session, Some(&detail)).await
        }
    }
}

pub(crate) async fn style() -> Response {
    let headers = [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "max-age=300")];
    (headers, include_str!("console.css")).into_response()
}
