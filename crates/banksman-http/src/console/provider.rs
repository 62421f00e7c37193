//! `/sign-in/provider`: to the identity provider, and back.

use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use banksman_core::Timestamp;
use banksman_engine::{EngineError, VouchedFor};
use banksman_identity::{open, seal};
use banksman_oidc::{Begun, Provider, ProviderError, Vouched};
use banksman_store::Subject;
use serde::{Deserialize, Serialize};

use super::visit::{Visit, own_page};
use super::{Page, session, sign_in, to};
use crate::App;
use crate::body::Params;
use crate::problem::{Code, ProblemError};

const COOKIE: &str = "banksman_provider";
const SECURE_COOKIE: &str = "__Host-banksman_provider";
const PURPOSE: &str = "a sign-in at the identity provider";

/// How long someone may take there.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct BeginParams {
    next: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct CallbackParams {
    code: String,
    state: String,
    iss: Option<String>,
    error: Option<String>,
}

/// What the browser keeps, sealed. It says itself until when it is good: whoever got hold of one must not be able to have
/// another browser finish it later.
#[derive(Serialize, Deserialize)]
struct Sealed {
    begun: Begun,
    until: i64,
}

/// What the browser kept, sealed by us, if it is not too old.
pub(crate) struct Kept(Option<Begun>);

impl FromRequestParts<App> for Kept {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let cookie = session::cookie(parts, session::named(app, COOKIE, SECURE_COOKIE));
        Ok(Self(cookie.and_then(|cookie| unsealed(app, &cookie))))
    }
}

fn provider(app: &App) -> Result<&Provider, ProblemError> {
    app.provider.as_ref().ok_or_else(|| {
        ProblemError::new(Code::NotFound, "no identity provider is configured: see docs/identity.md")
    })
}

fn unsealed(app: &App, cookie: &str) -> Option<Begun> {
    let bytes = open(&app.engine.derived_key(PURPOSE), PURPOSE, cookie).ok()?;
    let Sealed { begun, until } = serde_json::from_slice(&bytes).ok()?;
    (app.engine.now() < Timestamp::from_micros(until)).then_some(begun)
}

fn sealed(app: &App, begun: Begun) -> Result<String, ProblemError> {
    let mut nonce = [0; 12];
    getrandom::fill(&mut nonce).map_err(|_| ProblemError::new(Code::Internal, "no entropy"))?;
    let kept = Sealed { begun, until: app.engine.now().after(PATIENCE).as_micros() };
    serde_json::to_vec(&kept)
        .ok()
        .and_then(|kept| seal(&app.engine.derived_key(PURPOSE), nonce, PURPOSE, &kept).ok())
        .ok_or_else(|| ProblemError::new(Code::Internal, "the sign-in cannot be kept"))
}

fn cookie(app: &App, value: &str, seconds: u64) -> Result<HeaderValue, ProblemError> {
    session::set_cookie(app, session::named(app, COOKIE, SECURE_COOKIE), value, seconds)
}

pub(crate) async fn begin(
    State(app): State<App>,
    visit: Visit,
    Params(BeginParams { next }): Params<BeginParams>,
) -> Page {
    let provider = provider(&app)?;
    visit.may_try(&app)?;
    let next = own_page(&next);
    // The provider sends people to our public address, and only what that address set is there then.
    if !visit.is_at(&app) {
        return Ok(to(&format!("{}/sign-in/provider?next={next}", app.address.origin())));
    }
    let (address, begun) = match provider.begin(next, app.engine.now()).await {
        Ok(begun) => begun,
        Err(error) => return refused(&app, &visit, next, &error),
    };
    let mut response = to(&address);
    let kept = sealed(&app, begun)?;
    response.headers_mut().append(SET_COOKIE, cookie(&app, &kept, PATIENCE.as_secs())?);
    Ok(response)
}

fn refused(app: &App, visit: &Visit, next: &str, error: &ProviderError) -> Page {
    match error {
        // Where exactly it broke is for the log.
        ProviderError::Unreachable(why) | ProviderError::NotBelieved(why) => {
            tracing::warn!(%why, "a sign-in by the identity provider failed");
        }
        ProviderError::NotAdmitted => {}
    }
    let words = match error {
        ProviderError::Unreachable(_) => {
            "The identity provider cannot be reached now. Try again, or sign in another way."
        }
        ProviderError::NotBelieved(_) => "The identity provider's answer cannot be used. Begin again.",
        ProviderError::NotAdmitted => {
            "The identity provider knows you, but you have not been let in here. Ask an administrator."
        }
    };
    sign_in::page(app, visit, next, Some(words))
}

pub(crate) async fn callback(
    State(app): State<App>,
    visit: Visit,
    Kept(begun): Kept,
    Params(params): Params<CallbackParams>,
) -> Page {
    let provider = provider(&app)?;
    visit.may_try(&app)?;
    let Some(begun) = begun else {
        let words = "This sign-in was not begun in this browser, or too long ago. Begin again.";
        return sign_in::page(&app, &visit, "/", Some(words));
    };
    let next = own_page(&begun.next).to_owned();
    let vouched = match &params.error {
        Some(_) => Err(ProviderError::NotBelieved("the provider refused".into())),
        None => {
            provider
                .finish(&begun, &params.state, params.iss.as_deref(), &params.code, app.engine.now())
                .await
        }
    };
    let page = match vouched {
        Ok(vouched) => admit(&app, &visit, vouched, &next).await,
        Err(error) => refused(&app, &visit, &next, &error),
    };
    // What was begun is over, however it ended.
    let mut page = page?;
    page.headers_mut().append(SET_COOKIE, cookie(&app, "", 0)?);
    Ok(page)
}

async fn admit(app: &App, visit: &Visit, vouched: Vouched, next: &str) -> Page {
    let Vouched { issuer, subject, name, kind, roles } = vouched;
    let vouched = VouchedFor { subject: Subject { issuer, subject, set_aside: false }, name, kind, roles };
    match app.engine.sign_in_vouched(vouched, &visit.browser).await {
        Ok(token) => session::begin(app, to(next), &token).await,
        Err(EngineError::Unauthenticated) => {
            sign_in::page(app, visit, next, Some("You are locked out here. Ask an administrator."))
        }
        Err(EngineError::NotProved(why)) => sign_in::page(app, visit, next, Some(&why)),
        Err(error) => Err(error.into()),
    }
}
