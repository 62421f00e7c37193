//! Browser sessions: a cookie says who it is, and a form has to prove that it is ours.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use banksman_core::{Actor, Digest, Principal};
use banksman_engine::{BrowserMark, EngineError, IssuedToken};
use banksman_web::Preferences;

use super::settings::PREFERENCES;
use crate::App;
use crate::problem::{Code, ProblemError};

pub(crate) const COOKIE_NAME: &str = "banksman_session";

/// Over TLS. Browsers take a cookie of this name only from the very host, over TLS and for all of it, so that no
/// neighbouring host can foist one on us.
const SECURE_NAME: &str = "__Host-banksman_session";

/// What a browser is known by that someone signed in with before. It opens nothing: it only keeps strangers who guess at a
/// password from holding its owner back.
const KNOWN: &str = "banksman_known";
const SECURE_KNOWN: &str = "__Host-banksman_known";

/// Someone who signed in with a browser.
pub(crate) struct Session {
    pub(crate) person: Arc<Principal>,
    /// What our own forms carry and no other page can know.
    pub(crate) csrf: String,
    /// How they like the pages, as their browser says.
    pub(crate) preferences: Preferences,
    /// Whether they sent a form: the page that answers it must not be loaded again as it came.
    pub(super) sent_form: bool,
}

impl Session {
    pub(crate) fn check(&self, csrf: &str) -> Result<(), ProblemError> {
        if csrf == self.csrf {
            Ok(())
        } else {
            Err(ProblemError::new(
                Code::OriginNotAllowed,
                "the form is not from this session; load the page again",
            ))
        }
    }
}

/// Gives a browser its session. Its secret is a new one, whatever cookie the browser came with.
pub(super) async fn begin(
    app: &App,
    mut response: Response,
    session: &IssuedToken,
) -> Result<Response, ProblemError> {
    let seconds = app.engine.session_lifetime().as_secs();
    response.headers_mut().append(SET_COOKIE, written(app, &session.secret, seconds)?);
    let person = app.engine.authenticate_session(&session.secret).await?;
    know(app, response, &person).await
}

/// Gives a browser the mark by which it is known from now on.
pub(super) async fn know(
    app: &App,
    mut response: Response,
    person: &Principal,
) -> Result<Response, ProblemError> {
    if let Some(BrowserMark { mark, lifetime }) = app.engine.browser_mark(person).await? {
        let name = named(app, KNOWN, SECURE_KNOWN);
        response.headers_mut().append(SET_COOKIE, set_cookie(app, name, &mark, lifetime.as_secs())?);
    }
    Ok(response)
}

fn written(app: &App, value: &str, seconds: u64) -> Result<HeaderValue, ProblemError> {
    set_cookie(app, named(app, COOKIE_NAME, SECURE_NAME), value, seconds)
}

/// What a cookie is called here.
pub(super) fn named(app: &App, plain: &'static str, secure: &'static str) -> &'static str {
    if app.address.is_secure() { secure } else { plain }
}

/// Lax rather than Strict: whoever follows a link from a chat to an action is who they are. Nothing changes by following a
/// link, and every form proves that it is ours.
pub(super) fn set_cookie(
    app: &App,
    name: &str,
    value: &str,
    seconds: u64,
) -> Result<HeaderValue, ProblemError> {
    let secure = if app.address.is_secure() { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&cookie)
        .map_err(|_| ProblemError::new(Code::Internal, "the cookie cannot be written"))
}

/// The mark of the browser that makes the request, if it has one.
pub(super) fn mark(parts: &Parts, app: &App) -> Option<String> {
    cookie(parts, named(app, KNOWN, SECURE_KNOWN))
}

pub(super) async fn end(app: &App, session: &Session) -> Result<(), EngineError> {
    app.engine.revoke_token(session.person.token, Actor::from(&*session.person)).await
}

/// Takes the session from the browser.
pub(super) fn forget(app: &App, mut response: Response) -> Result<Response, ProblemError> {
    response.headers_mut().append(SET_COOKIE, written(app, "", 0)?);
    Ok(response)
}

/// What the forms of a session carry.
pub(super) fn csrf(secret: &str) -> String {
    Digest::of(format!("csrf:{secret}").as_bytes()).to_string()
}

/// The cookie of the request, which nobody has looked up yet.
pub(super) fn secret(parts: &Parts, app: &App) -> Option<String> {
    cookie(parts, named(app, COOKIE_NAME, SECURE_NAME))
}

/// The session of the request, if it has one.
pub(crate) struct MaybeSession(pub(crate) Option<Session>);

impl FromRequestParts<App> for MaybeSession {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let Some(secret) = secret(parts, app) else { return Ok(Self(None)) };
        let person = match app.engine.authenticate_session(&secret).await {
            Ok(person) if person.kind.decides() => person,
            Ok(_) | Err(EngineError::Unauthenticated) => return Ok(Self(None)),
            Err(error) => return Err(error.into()),
        };
        let csrf = csrf(&secret);
        let preferences = cookie(parts, PREFERENCES).unwrap_or_default();
        let preferences = Preferences::from_text(&preferences);
        Ok(Self(Some(Session { person, csrf, preferences, sent_form: parts.method == Method::POST })))
    }
}

impl FromRequestParts<App> for Session {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let MaybeSession(session) = MaybeSession::from_request_parts(parts, app).await?;
        session.ok_or_else(|| ProblemError::new(Code::Unauthenticated, "sign in first"))
    }
}

/// The value of a cookie.
pub(super) fn cookie(parts: &Parts, wanted: &str) -> Option<String> {
    parts.headers.get_all(COOKIE).iter().find_map(|header| {
        header.to_str().ok()?.split(';').find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == wanted).then(|| value.to_owned())
        })
    })
}
