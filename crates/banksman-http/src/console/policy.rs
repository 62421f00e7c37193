//! `/policy`: what is in force, what it says, and what it would say.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::Action;
use banksman_core::json::{CanonicalJson, Json, Object};
use banksman_core::wire::{PolicyView, RefusedPolicyView};
use banksman_engine::Explained;
use banksman_web::{LookedForRule, Notice, PolicyAnswer, PolicyPage, PolicyQuestion, PolicyRule, Say};

use super::desk::Desk;
use super::fields::Signed;
use super::session::Session;
use super::{Page, html};
use crate::App;

/// Who is asked about if nobody is named.
const ANYONE: &str = "agent";

pub(crate) async fn policy(State(app): State<App>, session: Session) -> Page {
    page(&app, &session, &PolicyQuestion::default(), Ok(None)).await
}

pub(crate) async fn explain(State(app): State<App>, Signed { session, fields }: Signed) -> Page {
    let text = |name: &str| fields.given(name).unwrap_or_default().to_owned();
    let question =
        PolicyQuestion { tool: text("tool"), kind: text("kind"), args: text("args"), agent: text("agent") };
    let explained = match action(&question) {
        Ok(action) => {
            let agent = if question.agent.trim().is_empty() { ANYONE } else { question.agent.trim() };
            Ok(Some(app.engine.explain(agent, &action).await?))
        }
        Err(problem) => Err(problem),
    };
    page(&app, &session, &question, explained).await
}

pub(crate) async fn looked_for(State(app): State<App>, session: Session) -> Page {
    let text = app.engine.policy_text();
    let rules: Vec<LookedForRule<'_>> = text
        .looked_for
        .iter()
        .map(|rule| LookedForRule {
            id: &rule.id,
            level: rule.level,
            reason: &rule.reason,
            advice: rule.advice.as_deref(),
        })
        .collect();
    let desk = Desk::of(&app, &session).await?;
    Ok(html(StatusCode::OK, banksman_web::looked_for(&desk.frame(None), &rules)))
}

/// The action that a question is about, or what is wrong with the question.
fn action(question: &PolicyQuestion) -> Result<Action, String> {
    let args = if question.args.trim().is_empty() { "{}" } else { question.args.trim() };
    let args = CanonicalJson::parse(args.as_bytes())
        .and_then(|args| args.to_json())
        .map_err(|error| format!("arguments: {error}"))?;
    let text = |text: &str| Json::String(text.trim().to_owned());
    let members = vec![
        ("tool".to_owned(), text(&question.tool)),
        ("kind".to_owned(), text(&question.kind)),
        ("args".to_owned(), args),
    ];
    let proposal = Object::from_members(members).map_err(|twin| format!("{twin} is there twice"))?;
    Action::from_json(Json::Object(proposal)).map_err(|error| error.to_string())
}

async fn page(
    app: &App,
    session: &Session,
    question: &PolicyQuestion,
    explained: Result<Option<Explained>, String>,
) -> Page {
    let policy = app.engine.policy_in_force();
    let refused = policy.refused.as_ref();
    let view = PolicyView {
        digest: policy.digest,
        source: policy.source.clone(),
        loaded_at: policy.loaded_at,
        refused: refused
            .map(|refused| RefusedPolicyView { at: refused.at, problem: refused.problem.clone() }),
    };
    let text = app.engine.policy_text();
    let rules: Vec<PolicyRule<'_>> = text
        .rules
        .iter()
        .map(|rule| PolicyRule {
            id: &rule.id,
            place: &rule.place,
            text: &rule.text,
            remark: rule.remark.as_deref(),
        })
        .collect();
    let (status, notice) = match &explained {
        Ok(_) => (StatusCode::OK, None),
        Err(problem) => (StatusCode::CONFLICT, Some(Notice::Refused(problem.clone()))),
    };
    let explained = explained.unwrap_or_default();
    let answer = explained.as_ref().map(answer);
    let page = PolicyPage { policy: &view, rules: &rules, question, answer: answer.as_ref() };
    let desk = Desk::of(app, session).await?;
    Ok(html(status, page.render(&desk.frame(notice))))
}

fn answer(explained: &Explained) -> PolicyAnswer<'_> {
    let judgement = &explained.judgement;
    let says = judgement.reasons.iter().map(|reason| Say {
        source: &reason.source,
        tier: reason.tier,
        risk: reason.risk,
        note: reason.note.as_deref(),
    });
    PolicyAnswer {
        verdict: &judgement.verdict,
        assessment: &explained.assessment,
        says: says.collect(),
        set_aside: &judgement.set_aside,
        frozen: explained.frozen,
    }
}
