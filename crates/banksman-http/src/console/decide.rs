//! `/decide`, `/cancel`: the buttons.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::json::CanonicalJson;
use banksman_core::wire::DecisionRequest;
use banksman_core::{ActionId, Decision, GrantMatch, Refusal, Remember, Status};
use banksman_engine::{EngineError, PasskeyAnswer, StepUpQuestion};
use banksman_web::{Kept, Said, Signs, StepUpPage};

use super::desk::Desk;
use super::fields::{Fields, Signed, not_ours};
use super::session::Session;
use super::visit::Visit;
use super::{Page, action, done_about, html, sign_in};
use crate::App;
use crate::problem::ProblemError;

pub(crate) async fn decide(State(app): State<App>, visit: Visit, Signed { session, fields }: Signed) -> Page {
    let id: ActionId = fields.parsed("id")?;
    if fields.given("decision") == Some("none") {
        // Enter in a field, where no script keeps it from sending the form.
        return Ok(super::to(&format!("/actions/{id}")));
    }
    let message = fields.written("message");
    let pressed = fields.parsed("decision")?;
    // Words for the agent that stand in the form go to the agent, whichever of its buttons denies.
    let decision = if pressed == Decision::Deny && message.is_some() { Decision::Respond } else { pressed };
    let request = DecisionRequest {
        decision,
        version: fields.parsed("version")?,
        digest: fields.parsed("digest")?,
        reason: fields.written("reason"),
        args: edited(&fields, decision)?,
        message: message.filter(|_| decision == Decision::Respond),
        remember: remember(&fields, decision)?,
    };
    let decided = match signed(&fields) {
        Some((nonce, answer)) => {
            let site = visit.must_have_site(&app)?;
            app.engine.decide_signed(&session.person, site, id, request, nonce, answer).await
        }
        None => match (app.engine.decide(&session.person, id, request.clone()).await, visit.site(&app)) {
            // Everything is in order but for the touch: ask for it, and send the same form again with it.
            (Err(EngineError::Refused { refusal: Refusal::StepUpRequired, .. }), Some(site)) => {
                match app.engine.ask_to_sign(&session.person, site, id, &request).await {
                    Ok(question) => return touch(&app, &session, id, &request, question, &fields).await,
                    Err(error) => Err(error),
                }
            }
            (decided, _) => decided,
        },
    };
    match decided {
        Ok(case) => {
            let said = match (decision, case.status()) {
                (Decision::Respond, _) => Said::Responded,
                (Decision::Deny, _) => Said::Denied,
                (Decision::Approve | Decision::Modify, Status::Pending) => Said::Recorded,
                (Decision::Approve | Decision::Modify, _) => Said::Approved,
            };
            Ok(done_about(&session, &list_of(&fields), id, said))
        }
        Err(error) => {
            let (_, detail) = ProblemError::from(error).into_parts();
            action::refused(&app, &session, id, detail, &kept(&fields)).await
        }
    }
}

/// What was written into the form.
fn kept(fields: &Fields) -> Kept {
    let text = |name| fields.written(name).unwrap_or_default();
    Kept { reason: text("reason"), message: text("message") }
}

/// The list that the form stood in, if it says so, and else the inbox. The form's word is only believed as far as it is a
/// question that a list of ours asks: it becomes part of an address.
fn list_of(fields: &Fields) -> String {
    let is_ours = |pair: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.%".contains(&byte);
        pair.split_once('=').is_some_and(|(name, value)| LIST.contains(&name) && value.bytes().all(plain))
    };
    match fields.given("list") {
        Some(list) if list.split('&').all(is_ours) => format!("/?{list}"),
        Some(_) | None => "/".to_owned(),
    }
}

/// What lists are asked for by.
const LIST: [&str; 8] = ["q", "status", "risk", "tier", "tool", "agent", "sort", "after"];

/// The page that asks for the touch of a passkey.
async fn touch(
    app: &App,
    session: &Session,
    id: ActionId,
    request: &DecisionRequest,
    question: StepUpQuestion,
    fields: &Fields,
) -> Page {
    let action = action::view(app, session, id).await?;
    let page = StepUpPage {
        action: &action,
        decision: request.decision,
        signs: Signs {
            digest: question.digest,
            version: question.version,
            args: request.args.as_ref().unwrap_or(&action.args),
        },
        nonce: &question.nonce,
        ask: sign_in::ask(question.question),
        fields: fields.all(),
    };
    let desk = Desk::of(app, session).await?;
    Ok(html(StatusCode::OK, page.render(&desk.frame(None))))
}

/// What a passkey signed, if the form has been through its hands.
fn signed(fields: &Fields) -> Option<(String, PasskeyAnswer)> {
    let text = |name| fields.given(name).unwrap_or_default().to_owned();
    fields.written("signature")?;
    let answer = PasskeyAnswer {
        id: text("passkey"),
        client_data: text("client_data"),
        authenticator_data: text("authenticator_data"),
        signature: text("signature"),
    };
    Some((text("nonce"), answer))
}

pub(crate) async fn cancel(State(app): State<App>, Signed { session, fields }: Signed) -> Page {
    let id: ActionId = fields.parsed("id")?;
    match app.engine.cancel(&session.person, id, fields.written("reason")).await {
        Ok(_) => Ok(done_about(&session, "/", id, Said::Cancelled)),
        Err(error) => {
            let (_, detail) = ProblemError::from(error).into_parts();
            action::refused(&app, &session, id, detail, &Kept::default()).await
        }
    }
}

/// The arguments that an edit showed, exactly.
fn edited(fields: &Fields, decision: Decision) -> Result<Option<CanonicalJson>, ProblemError> {
    if decision != Decision::Modify {
        return Ok(None);
    }
    CanonicalJson::parse(fields.text("args")?.as_bytes()).map(Some).map_err(|_| not_ours())
}

/// What to remember, if the reviewer asked for it.
fn remember(fields: &Fields, decision: Decision) -> Result<Option<Remember>, ProblemError> {
    let matches = match fields.given("remember").filter(|_| decision == Decision::Approve) {
        None | Some("") => return Ok(None),
        Some("exact") => GrantMatch::Exact,
        Some("args") => GrantMatch::Args,
        Some("tool") => GrantMatch::Tool,
        Some(_) => return Err(not_ours()),
    };
    let like = || fields.beginning("like:").filter(|(_, pattern)| !pattern.is_empty());
    let args = match matches {
        GrantMatch::Args => like().map(|(name, pattern)| (name.to_owned(), pattern.to_owned())).collect(),
        GrantMatch::Exact | GrantMatch::Tool => BTreeMap::new(),
    };
    Ok(Some(Remember {
        matches,
        args,
        all_sessions: fields.given("all_sessions").is_some(),
        expires_in_seconds: fields.parsed("remember_for")?,
        uses: None,
    }))
}
