//! `/account`: one's own ways to sign in, and the browsers that are signed in.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::TokenId;
use banksman_engine::{EngineError, NewPassword, PasskeyRegistration};
use banksman_web::{AccountPage, Notice, OwnPasskey, OwnSession, Said};

use super::desk::Desk;
use super::fields::{Signed, Told};
use super::session::Session;
use super::visit::Visit;
use super::{Page, done, html, join, session, sign_in, to};
use crate::App;
use crate::body::IdPath;
use crate::problem::{Code, ProblemError};

const HERE: &str = "/account";

pub(crate) async fn show(State(app): State<App>, session: Session, visit: Visit, Told(notice): Told) -> Page {
    page(&app, &session, &visit, notice).await
}

async fn page(app: &App, session: &Session, visit: &Visit, notice: Option<Notice>) -> Page {
    let person = app.engine.oneself(&session.person).await?;
    let person =
        person.ok_or_else(|| ProblemError::new(Code::NotFound, "there is no account behind this session"))?;
    let ask = visit.site(app).map(|site| app.engine.ask_for_passkey(site, &person)).transpose()?;
    let passkeys = person
        .passkeys
        .iter()
        .map(|passkey| OwnPasskey { id: &passkey.id, label: &passkey.label, added_at: passkey.added_at })
        .collect();
    let sessions = app.engine.sessions(&session.person).await?.into_iter().map(|own| OwnSession {
        id: own.id,
        method: own.method,
        browser: own.browser,
        since: own.since,
        is_this: own.is_this,
    });
    let page = AccountPage {
        id: person.id,
        ask: ask.map(sign_in::ask),
        passkeys_at: app.address.site().map(|site| site.origin.as_str()),
        app: join::app_secret(app, &person.name)?,
        passkeys,
        has_password: person.password.is_some(),
        recovery_codes: person.recovery.len(),
        sessions: sessions.collect(),
    };
    let refused = matches!(notice, Some(Notice::Refused(_)));
    let status = if refused { StatusCode::CONFLICT } else { StatusCode::OK };
    let desk = Desk::of(app, session).await?;
    Ok(html(status, page.render(&desk.frame(notice))))
}

/// The page with what was wrong.
async fn refused(app: &App, session: &Session, visit: &Visit, error: EngineError) -> Page {
    if matches!(error, EngineError::Unauthenticated) {
        return Err(error.into());
    }
    let (_, detail) = ProblemError::from(error).into_parts();
    page(app, session, visit, Some(Notice::Refused(detail))).await
}

async fn answer(
    app: &App,
    session: &Session,
    visit: &Visit,
    result: Result<(), EngineError>,
    said: Said,
) -> Page {
    match result {
        Ok(()) => Ok(done(session, HERE, said)),
        Err(error) => refused(app, session, visit, error).await,
    }
}

pub(crate) async fn add_passkey(
    State(app): State<App>,
    visit: Visit,
    Signed { session, fields }: Signed,
) -> Page {
    let site = visit.must_have_site(&app)?;
    let text = |name| fields.text(name).map(str::to_owned);
    let registration = PasskeyRegistration {
        challenge: text("challenge")?,
        client_data: text("client_data")?,
        attestation: text("attestation")?,
        label: fields.given("label").unwrap_or_default().to_owned(),
    };
    let added = app.engine.add_passkey(&session.person, site, registration).await;
    answer(&app, &session, &visit, added, Said::PasskeyAdded).await
}

pub(crate) async fn remove_passkey(
    State(app): State<App>,
    visit: Visit,
    Signed { session, fields }: Signed,
) -> Page {
    let removed = app.engine.drop_passkey(&session.person, fields.text("passkey")?).await;
    answer(&app, &session, &visit, removed, Said::PasskeyRemoved).await
}

async fn codes(app: &App, session: &Session, visit: &Visit, codes: Result<Vec<String>, EngineError>) -> Page {
    match codes {
        Ok(codes) => Ok(html(StatusCode::OK, banksman_web::recovery_codes(&codes))),
        Err(error) => refused(app, session, visit, error).await,
    }
}

pub(crate) async fn set_password(
    State(app): State<App>,
    visit: Visit,
    Signed { session, fields }: Signed,
) -> Page {
    let text = |name| fields.text(name).map(str::to_owned);
    let new = NewPassword {
        password: text("password")?,
        totp_secret: text("totp_secret")?,
        totp_code: text("totp_code")?,
    };
    let set = app.engine.set_password(&session.person, new).await;
    let is_set = set.is_ok();
    let page = codes(&app, &session, &visit, set).await?;
    // The marks of before went with the old password.
    if is_set { session::know(&app, page, &session.person).await } else { Ok(page) }
}

pub(crate) async fn renew_codes(
    State(app): State<App>,
    visit: Visit,
    Signed { session, .. }: Signed,
) -> Page {
    let renewed = app.engine.renew_recovery_codes(&session.person).await;
    codes(&app, &session, &visit, renewed).await
}

pub(crate) async fn remove_password(
    State(app): State<App>,
    visit: Visit,
    Signed { session, .. }: Signed,
) -> Page {
    let removed = app.engine.drop_password(&session.person).await;
    answer(&app, &session, &visit, removed, Said::PasswordRemoved).await
}

pub(crate) async fn end_session(
    State(app): State<App>,
    visit: Visit,
    IdPath(id): IdPath<TokenId>,
    Signed { session, .. }: Signed,
) -> Page {
    let ended = app.engine.end_session(&session.person, id).await;
    if matches!(ended, Err(EngineError::NotFound)) {
        return Err(EngineError::NotFound.into());
    }
    answer(&app, &session, &visit, ended, Said::SessionEnded).await
}

pub(crate) async fn sign_out_everywhere(State(app): State<App>, Signed { session, .. }: Signed) -> Page {
    app.engine.sign_out_everywhere(&session.person).await?;
    session::forget(&app, to("/"))
}
