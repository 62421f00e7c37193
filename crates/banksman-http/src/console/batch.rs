//! `/batches/{id}`: many actions under one pair of eyes.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::wire::{ActionView, BatchDecisionRequest, BatchView, ItemDecision};
use banksman_core::{BatchId, Decision, Status, batch_digest};
use banksman_web::{BatchPage, Notice, Said, needs_own_page};

use super::desk::Desk;
use super::fields::{Signed, Told, not_ours};
use super::session::Session;
use super::{Page, done, html};
use crate::App;
use crate::body::IdPath;
use crate::problem::ProblemError;

pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    IdPath(id): IdPath<BatchId>,
    Told(notice): Told,
) -> Page {
    page(&app, &session, id, &[], notice).await
}

async fn view(app: &App, session: &Session, id: BatchId) -> Result<BatchView, ProblemError> {
    let batch = app.engine.batch(&session.person, id).await?;
    Ok(BatchView {
        id,
        digest: batch_digest(batch.cases.iter().map(|case| (&case.id, &case.submission.digest))),
        agent: batch.record.agent.clone(),
        created_at: batch.record.created_at,
        items: batch.cases.iter().map(|case| ActionView::seen_by(&session.person, case)).collect(),
    })
}

async fn page(
    app: &App,
    session: &Session,
    id: BatchId,
    refused: &[(String, String)],
    notice: Option<Notice>,
) -> Page {
    let batch = view(app, session, id).await?;
    let failed = !refused.is_empty() || matches!(notice, Some(Notice::Refused(_)));
    let status = if failed { StatusCode::CONFLICT } else { StatusCode::OK };
    let desk = Desk::of(app, session).await?;
    Ok(html(status, BatchPage { batch: &batch, refused }.render(&desk.frame(notice))))
}

pub(crate) async fn decide(
    State(app): State<App>,
    IdPath(id): IdPath<BatchId>,
    Signed { session, fields }: Signed,
) -> Page {
    let all: Option<Decision> = match fields.given("all") {
        None | Some("") => None,
        Some("approve") => Some(Decision::Approve),
        Some("deny") => Some(Decision::Deny),
        Some(_) => return Err(not_ours()),
    };
    let reason = fields.written("reason");
    let mut decisions = Vec::new();
    let mut decide = |id, decision| {
        decisions.push(ItemDecision { id, decision, reason: reason.clone(), message: None });
    };
    // The digest says that the items are those that were seen. What is no longer pending was decided by someone else.
    let batch = view(&app, &session, id).await?;
    let open = batch.items.iter().filter(|item| item.status == Status::Pending);
    match all {
        // As the button says: not those that want a page of their own.
        Some(Decision::Approve) => open
            .filter(|item| needs_own_page(item).is_none())
            .for_each(|item| decide(item.id, Decision::Approve)),
        Some(decision) => open.for_each(|item| decide(item.id, decision)),
        None => {
            for (item, choice) in fields.beginning("item:").filter(|(_, choice)| !choice.is_empty()) {
                let item = item.parse().map_err(|_| not_ours())?;
                decide(item, choice.parse().map_err(|_| not_ours())?);
            }
        }
    }
    let alone = |item: &ActionView| {
        let approved = decisions.iter().any(|decided| decided.id == item.id && decided.decision.approves());
        needs_own_page(item).filter(|_| approved)
    };
    if let Some((item, why)) = batch.items.iter().find_map(|item| Some((item.id, alone(item)?))) {
        let why = format!("{item} is approved on its own page: {why}. Nothing was decided.");
        return page(&app, &session, id, &[], Some(Notice::Refused(why))).await;
    }
    if decisions.is_empty() {
        let nothing = Notice::Refused("nothing was chosen".into());
        return page(&app, &session, id, &[], Some(nothing)).await;
    }
    let request = BatchDecisionRequest { digest: fields.parsed("digest")?, decisions };
    let answers = match app.engine.decide_batch(&session.person, id, request).await {
        Ok(answers) => answers,
        Err(error) => {
            let (_, detail) = ProblemError::from(error).into_parts();
            return page(&app, &session, id, &[], Some(Notice::Refused(detail))).await;
        }
    };
    let refused: Vec<(String, String)> = answers
        .into_iter()
        .filter_map(|item| Some((item.id.to_string(), ProblemError::from(item.answer.err()?).into_parts().1)))
        .collect();
    if refused.is_empty() {
        return Ok(done(&session, &format!("/batches/{id}"), Said::BatchDecided));
    }
    page(&app, &session, id, &refused, None).await
}
