//! `/sign-in`, `/sign-out`: the ways in, and out.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_engine::{EngineError, PasskeyAnswer, PasskeyQuestion, PasswordAttempt};
use banksman_web::{Ask, Said, SignInPage};
use serde::Deserialize;

use super::fields::{Signed, telling};
use super::visit::{Visit, own_page};
use super::{Page, html, session, to};
use crate::App;
use crate::body::{FormBody, Params};
use crate::problem::ProblemError;

#[derive(Deserialize, utoipa::ToSchema)]
pub(crate) struct SignInCode {
    /// The one-time code of a sign-in link.
    #[serde(default)]
    code: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SignInParams {
    code: String,
    next: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(default)]
#[derive(Default)]
pub(crate) struct PasswordForm {
    /// Who they say they are.
    name: String,
    /// Their password.
    password: String,
    /// The code of their authenticator app, or a recovery code.
    code: String,
    /// The page to go to then.
    next: String,
}

/// What a passkey answered, in a form.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(default)]
#[derive(Default)]
pub(crate) struct PasskeyForm {
    /// Which passkey, in base64url.
    passkey: String,
    /// What the browser said, in base64url.
    client_data: String,
    /// What the authenticator said, in base64url.
    authenticator_data: String,
    /// The signature, in base64url.
    signature: String,
    /// The page to go to then.
    next: String,
}

/// The sign-in page, for someone who is at the door.
pub(super) fn page(app: &App, visit: &Visit, next: &str, refused: Option<&str>) -> Page {
    let ask = visit.site(app).map(|site| app.engine.ask_who(site)).transpose()?.map(ask);
    let provider = app.provider.as_ref().map(|provider| provider.label());
    let passkeys_at = app.address.site().map(|site| site.origin.as_str());
    let page = SignInPage { ask, passkeys_at, provider, next: own_page(next), refused };
    let status = if refused.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    Ok(html(status, page.render()))
}

pub(super) fn ask(question: PasskeyQuestion) -> Ask {
    Ask { challenge: question.challenge, rp_id: question.rp_id, passkeys: question.passkeys }
}

pub(crate) async fn ask_how(
    State(app): State<App>,
    visit: Visit,
    Params(SignInParams { code, next }): Params<SignInParams>,
) -> Page {
    if code.is_empty() {
        page(&app, &visit, &next, None)
    } else {
        Ok(html(StatusCode::OK, banksman_web::sign_in(&code)))
    }
}

pub(crate) async fn by_link(
    State(app): State<App>,
    visit: Visit,
    FormBody(SignInCode { code }): FormBody<SignInCode>,
) -> Page {
    visit.may_try(&app)?;
    match app.engine.sign_in_with_link(&code, &visit.browser).await {
        Ok(token) => {
            let person = app.engine.authenticate_session(&token.secret).await?;
            let can_return = app.engine.oneself(&person).await?.is_some_and(|person| person.can_sign_in());
            let inbox = if can_return {
                "/".to_owned()
            } else {
                telling(&session::csrf(&token.secret), "/", Said::CameByLink, None)
            };
            session::begin(&app, to(&inbox), &token).await
        }
        Err(EngineError::Unauthenticated) => Ok(html(StatusCode::FORBIDDEN, banksman_web::bad_code())),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn by_password(
    State(app): State<App>,
    visit: Visit,
    FormBody(PasswordForm { name, password, code, next }): FormBody<PasswordForm>,
) -> Page {
    visit.may_try(&app)?;
    let (browser, mark) = (visit.browser.clone(), visit.mark.clone());
    let attempt = PasswordAttempt { name, password, code, browser, mark };
    match app.engine.sign_in_with_password(attempt).await {
        Ok(token) => session::begin(&app, to(own_page(&next)), &token).await,
        Err(EngineError::Unauthenticated) => {
            let words = "The name, the password or the code is wrong, or there were too many attempts: then wait, for a quarter of an hour at the most. A code works once.";
            page(&app, &visit, &next, Some(words))
        }
        Err(EngineError::HeldBack { until }) => {
            let seconds = until.since(app.engine.now()).as_secs() + 1;
            let words = format!(
                "Too many attempts. The next can be made in {seconds} s; until then, none is looked at."
            );
            page(&app, &visit, &next, Some(&words))
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn by_passkey(
    State(app): State<App>,
    visit: Visit,
    FormBody(form): FormBody<PasskeyForm>,
) -> Page {
    visit.may_try(&app)?;
    let site = visit.must_have_site(&app)?;
    let PasskeyForm { passkey, client_data, authenticator_data, signature, next } = form;
    let answer = PasskeyAnswer { id: passkey, client_data, authenticator_data, signature };
    match app.engine.sign_in_with_passkey(site, answer, &visit.browser).await {
        Ok(token) => session::begin(&app, to(own_page(&next)), &token).await,
        Err(EngineError::Unauthenticated) => {
            page(&app, &visit, &next, Some("This passkey is not set up here, or its owner may not sign in."))
        }
        Err(EngineError::NotProved(why)) => page(&app, &visit, &next, Some(&why)),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn sign_out(State(app): State<App>, Signed { session, .. }: Signed) -> Page {
    session::end(&app, &session).await.map_err(ProblemError::from)?;
    session::forget(&app, to("/"))
}
