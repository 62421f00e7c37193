//! `/join`: accepting an invitation.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_engine::{EngineError, FirstFactor, NewPassword, PasskeyRegistration};
use banksman_web::{AppSecret, JoinPage};
use serde::Deserialize;

use super::visit::Visit;
use super::{Page, html, session, sign_in, to};
use crate::App;
use crate::body::{FormBody, Params};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct JoinParams {
    code: String,
}

#[derive(Default, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub(crate) struct JoinWithPassword {
    /// The code of the invitation.
    code: String,
    /// The new password.
    password: String,
    /// The secret that the page showed.
    totp_secret: String,
    /// The code that the app shows for it.
    totp_code: String,
}

#[derive(Default, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub(crate) struct JoinWithPasskey {
    /// The code of the invitation.
    code: String,
    /// The challenge that the page asked, in base64url.
    challenge: String,
    /// What the browser said, in base64url.
    client_data: String,
    /// What the authenticator said, in base64url.
    attestation: String,
    /// What its owner calls it.
    label: String,
}

/// A new secret for an app of someone.
pub(super) fn app_secret(app: &App, name: &str) -> Result<AppSecret, EngineError> {
    let secret = app.engine.new_totp_secret()?;
    Ok(AppSecret { uri: secret.uri(name), secret: secret.to_base32() })
}

async fn page(app: &App, visit: &Visit, code: &str, refused: Option<&str>) -> Page {
    let person = match app.engine.invited(code).await {
        Ok(person) => person,
        Err(EngineError::Unauthenticated) => {
            return Ok(html(StatusCode::FORBIDDEN, banksman_web::bad_code()));
        }
        Err(error) => return Err(error.into()),
    };
    let ask = visit.site(app).map(|site| app.engine.ask_for_passkey(site, &person)).transpose()?;
    let page = JoinPage {
        code,
        user: (&person.id.to_string(), &person.name),
        ask: ask.map(sign_in::ask),
        passkeys_at: app.address.site().map(|site| site.origin.as_str()),
        app: app_secret(app, &person.name)?,
        refused,
    };
    let status = if refused.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    Ok(html(status, page.render()))
}

pub(crate) async fn ask(State(app): State<App>, visit: Visit, Params(params): Params<JoinParams>) -> Page {
    page(&app, &visit, &params.code, None).await
}

async fn accept(app: &App, visit: &Visit, code: &str, factor: FirstFactor<'_>) -> Page {
    visit.may_try(app)?;
    let accepted = match app.engine.accept_invitation(code, factor, &visit.browser).await {
        Ok(accepted) => accepted,
        Err(EngineError::Unauthenticated) => return page(app, visit, code, None).await,
        Err(EngineError::Invalid(why) | EngineError::NotProved(why)) => {
            return page(app, visit, code, Some(&why)).await;
        }
        Err(error) => return Err(error.into()),
    };
    let answer = if accepted.recovery_codes.is_empty() {
        to("/")
    } else {
        html(StatusCode::OK, banksman_web::recovery_codes(&accepted.recovery_codes))
    };
    session::begin(app, answer, &accepted.session).await
}

pub(crate) async fn with_password(
    State(app): State<App>,
    visit: Visit,
    FormBody(form): FormBody<JoinWithPassword>,
) -> Page {
    let JoinWithPassword { code, password, totp_secret, totp_code } = form;
    let factor = FirstFactor::Password(NewPassword { password, totp_secret, totp_code });
    accept(&app, &visit, &code, factor).await
}

pub(crate) async fn with_passkey(
    State(app): State<App>,
    visit: Visit,
    FormBody(form): FormBody<JoinWithPasskey>,
) -> Page {
    let site = visit.must_have_site(&app)?;
    let JoinWithPasskey { code, challenge, client_data, attestation, label } = form;
    let registration = PasskeyRegistration { challenge, client_data, attestation, label };
    accept(&app, &visit, &code, FirstFactor::Passkey(site, registration)).await
}
