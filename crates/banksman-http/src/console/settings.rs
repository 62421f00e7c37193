//! `/settings`, `/guide`: how someone likes the pages, and the first steps.

use std::time::Duration;

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use banksman_core::{Action, Actor, PrincipalKind, json};
use banksman_engine::{NewToken, ProposeRequest};
use banksman_web::{Preferences, Said};

use super::desk::Desk;
use super::fields::{Signed, Told};
use super::session::Session;
use super::{Page, done, html, to};
use crate::App;
use crate::problem::{Code, ProblemError};

/// The cookie that says how someone likes the pages.
pub(super) const PREFERENCES: &str = "banksman_likes";

/// As long as browsers keep one.
const KEPT_SECONDS: u64 = 400 * 24 * 3600;

/// Who asks for the sample, and for how long they may.
const SAMPLE_AGENT: &str = "sample";
const SAMPLE_LIFETIME: Duration = Duration::from_secs(60);

/// Something to decide about: an edit form with a choice, a list and a text, and nothing that anyone runs.
const SAMPLE: &str = r#"{
    "tool": "sample_send_email",
    "args": {"to": ["ada@example.com"], "subject": "Your refund", "body": "Hello Ada,\nthe refund of 48.50 EUR is on its way.\n", "priority": "normal"},
    "args_schema": {
        "type": "object", "required": ["to", "subject", "body"], "additionalProperties": false,
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "who gets it"},
            "subject": {"type": "string", "maxLength": 120},
            "body": {"type": "string"},
            "priority": {"enum": ["low", "normal", "high"]}
        }
    },
    "description": "A sample, made by the guide. Nobody will run it.",
    "rationale": "The customer asked when the money comes.",
    "evidence": {"ticket": "SUP-1204"},
    "reversible": false
}"#;

pub(crate) async fn settings(State(app): State<App>, session: Session, Told(notice): Told) -> Page {
    let desk = Desk::of(&app, &session).await?;
    Ok(html(StatusCode::OK, banksman_web::settings(&desk.frame(notice))))
}

pub(crate) async fn save(Signed { fields, .. }: Signed) -> Page {
    let text = |name: &str| fields.given(name).unwrap_or_default().replace('.', "");
    let likes = Preferences::from_text(&format!("{}.{}.{}", text("theme"), text("sort"), text("guide")));
    keeping(done("/settings", Said::SettingsSaved), likes)
}

pub(crate) async fn dismiss(Signed { session, .. }: Signed) -> Page {
    keeping(done("/", Said::GuideDismissed), Preferences { guide_done: true, ..session.preferences })
}

/// An answer that also has the browser keep what someone likes.
fn keeping(mut response: Response, likes: Preferences) -> Page {
    let cookie = format!(
        "{PREFERENCES}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={KEPT_SECONDS}",
        likes.to_text()
    );
    let cookie = HeaderValue::from_str(&cookie)
        .map_err(|_| ProblemError::new(Code::Internal, "the cookie cannot be written"))?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

pub(crate) async fn guide(State(app): State<App>, session: Session, headers: HeaderMap) -> Page {
    let desk = Desk::of(&app, &session).await?;
    Ok(html(StatusCode::OK, banksman_web::guide(&desk.frame(None), &app.address.reached_by(&headers))))
}

/// Proposes the sample, as an agent that exists for that moment: who asks comes from a credential, here too.
pub(crate) async fn sample(State(app): State<App>, Signed { session, .. }: Signed) -> Page {
    let broken = |problem: String| ProblemError::new(Code::Internal, format!("the sample: {problem}"));
    let proposal = json::parse(SAMPLE.as_bytes()).map_err(|error| broken(error.to_string()))?;
    let action = Action::from_json(proposal).map_err(|error| broken(error.to_string()))?;
    let by = Actor::from(&*session.person);
    let token = NewToken {
        kind: PrincipalKind::Agent,
        name: SAMPLE_AGENT.into(),
        owner: None,
        roles: Vec::new(),
        lifetime: Some(SAMPLE_LIFETIME),
    };
    let issued = app.engine.issue_token(token, by.clone()).await?;
    let agent = app.engine.authenticate(&issued.secret).await?;
    let proposed = app.engine.propose(&agent, ProposeRequest::of(action)).await;
    app.engine.revoke_token(issued.id, by).await?;
    let id = proposed?.case.id;
    Ok(to(&format!("/actions/{id}?said={}", Said::SampleMade.code())))
}
