//! Browser sessions: a one-time code becomes a cookie, and a form has to prove that it is ours.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use banksman_core::{Actor, Digest, Principal, PrincipalKind};
use banksman_engine::{EngineError, NewToken};
use banksman_web::Preferences;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::settings::PREFERENCES;
use crate::App;
use crate::problem::{Code, ProblemError};

const CODE_LIFETIME: Duration = Duration::from_secs(15 * 60);
const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 3600);
pub(crate) const COOKIE_NAME: &str = "banksman_session";

/// One-time codes that have not been used yet. They live as long as this process: a restart voids them.
#[derive(Default)]
pub(crate) struct SignInCodes {
    codes: Mutex<HashMap<Digest, (String, Instant)>>,
}

impl SignInCodes {
    pub(crate) fn issue(&self, name: &str) -> std::io::Result<String> {
        let mut random = [0u8; 24];
        getrandom::fill(&mut random).map_err(|error| std::io::Error::other(error.to_string()))?;
        let code = URL_SAFE_NO_PAD.encode(random);
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.insert(Digest::of(code.as_bytes()), (name.to_owned(), Instant::now()));
        Ok(code)
    }

    /// Whom the code signs in; it is gone afterwards.
    pub(crate) fn redeem(&self, code: &str) -> Option<String> {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, (_, issued)| issued.elapsed() < CODE_LIFETIME);
        codes.remove(&Digest::of(code.as_bytes())).map(|(name, _)| name)
    }
}

/// Someone who signed in with a browser.
pub(crate) struct Session {
    pub(crate) person: Arc<Principal>,
    /// What our own forms carry and no other page can know.
    pub(crate) csrf: String,
    /// How they like the pages, as their browser says.
    pub(crate) preferences: Preferences,
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

/// Begins a session and gives the cookie for it.
pub(super) async fn begin(app: &App, name: String) -> Result<HeaderValue, ProblemError> {
    let token = NewToken {
        kind: PrincipalKind::Admin,
        name,
        owner: None,
        roles: Vec::new(),
        lifetime: Some(SESSION_LIFETIME),
    };
    let issued = app.engine.issue_token(token, Actor::Operator).await?;
    let cookie = format!(
        "{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}",
        issued.secret,
        SESSION_LIFETIME.as_secs()
    );
    HeaderValue::from_str(&cookie)
        .map_err(|_| ProblemError::new(Code::Internal, "the cookie cannot be written"))
}

pub(super) async fn end(app: &App, session: &Session) -> Result<(), EngineError> {
    app.engine.revoke_token(session.person.token, Actor::from(&*session.person)).await
}

pub(super) fn no_cookie() -> HeaderValue {
    HeaderValue::from_static("banksman_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
}

/// The session of the request, if it has one.
pub(crate) struct MaybeSession(pub(crate) Option<Session>);

impl FromRequestParts<App> for MaybeSession {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let Some(secret) = cookie(parts, COOKIE_NAME) else { return Ok(Self(None)) };
        let person = match app.engine.authenticate(&secret).await {
            Ok(person) if person.kind.decides() => person,
            Ok(_) | Err(EngineError::Unauthenticated) => return Ok(Self(None)),
            Err(error) => return Err(error.into()),
        };
        let csrf = Digest::of(format!("csrf:{secret}").as_bytes()).to_string();
        let preferences = cookie(parts, PREFERENCES).unwrap_or_default();
        Ok(Self(Some(Session { person, csrf, preferences: Preferences::from_text(&preferences) })))
    }
}

impl FromRequestParts<App> for Session {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let MaybeSession(session) = MaybeSession::from_request_parts(parts, app).await?;
        session.ok_or_else(|| ProblemError::new(Code::Unauthenticated, "sign in first"))
    }
}

fn cookie(parts: &Parts, wanted: &str) -> Option<String> {
    parts.headers.get_all(COOKIE).iter().find_map(|header| {
        header.to_str().ok()?.split(';').find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == wanted).then(|| value.to_owned())
        })
    })
}
