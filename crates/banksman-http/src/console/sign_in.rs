//! `/sign-in`, `/sign-out`: the way in and out.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use serde::Deserialize;

use super::fields::Signed;
use super::{Page, html, session, to};
use crate::App;
use crate::body::{FormBody, Params};

#[derive(Deserialize, utoipa::ToSchema)]
pub(crate) struct SignInCode {
    /// The one-time code of a sign-in link.
    #[serde(default)]
    code: String,
}

pub(crate) async fn ask(Params(SignInCode { code }): Params<SignInCode>) -> Page {
    Ok(html(StatusCode::OK, banksman_web::sign_in(&code)))
}

pub(crate) async fn sign_in(
    State(app): State<App>,
    FormBody(SignInCode { code }): FormBody<SignInCode>,
) -> Page {
    let Some(name) = app.codes.redeem(&code) else {
        return Ok(html(StatusCode::FORBIDDEN, banksman_web::bad_code()));
    };
    let cookie = session::begin(&app, name).await?;
    let mut response = to("/");
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

pub(crate) async fn sign_out(State(app): State<App>, Signed { session, .. }: Signed) -> Page {
    session::end(&app, &session).await?;
    let mut response = to("/");
    response.headers_mut().insert(SET_COOKIE, session::no_cookie());
    Ok(response)
}
