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
        let key = app.engine.derived_key(PURPOSE);
        Ok(Self(cookie.and_then(|cookie| unsealed(&key, &cookie, app.engine.now()))))
    }
}

fn provider(app: &App) -> Result<&Provider, ProblemError> {
    app.provider.as_ref().ok_or_else(|| {
        ProblemError::new(Code::NotFound, "no identity provider is configured: see docs/identity.md")
    })
}

fn unsealed(key: &[u8; 32], cookie: &str, now: Timestamp) -> Option<Begun> {
    let bytes = open(key, PURPOSE, cookie).ok()?;
    let Sealed { begun, until } = serde_json::from_slice(&bytes).ok()?;
    (now < Timestamp::from_micros(until)).then_some(begun)
}

fn sealed(key: &[u8; 32], begun: Begun, now: Timestamp) -> Result<String, ProblemError> {
    let mut nonce = [0; 12];
    getrandom::fill(&mut nonce).map_err(|_| ProblemError::new(Code::Internal, "no entropy"))?;
    let kept = Sealed { begun, until: now.after(PATIENCE).as_micros() };
    serde_json::to_vec(&kept)
        .ok()
        .and_then(|kept| seal(key, nonce, PURPOSE, &kept).ok())
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
    let kept = sealed(&app.engine.derived_key(PURPOSE), begun, app.engine.now())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_kept_is_taken_in_time_and_only_if_we_sealed_it() {
        let text = r#"{"state":"s","nonce":"n","verifier":"v","next":"/audit"}"#;
        let begun: Begun = serde_json::from_str(text).unwrap();
        let begin = Timestamp::from_micros(1_000_000);
        let cookie = sealed(&[7; 32], begun, begin).unwrap();
        let taken = |key: [u8; 32], cookie: &str, seconds: u64| {
            unsealed(&key, cookie, begin.after(Duration::from_secs(seconds))).map(|begun| begun.next)
        };
        assert_eq!(taken([7; 32], &cookie, 599).as_deref(), Some("/audit"));
        assert_eq!(taken([7; 32], &cookie, 600), None, "too old");
        assert_eq!(taken([8; 32], &cookie, 1), None, "not ours");
        let old = seal(&[7; 32], [1; 12], PURPOSE, text.as_bytes()).unwrap();
        assert_eq!(taken([7; 32], &old, 1), None, "without a time");
    }
}
