//! `/actions/{id}`: one action, and editing it.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Status};
use banksman_store::CaseQuery;
use banksman_web::{ActionPage, EditPage, History, Notice, args_of_form};

use super::desk::Desk;
use super::fields::{Signed, Told};
use super::session::Session;
use super::{Page, html, to};
use crate::App;
use crate::body::IdPath;
use crate::problem::ProblemError;

/// How many earlier actions are shown.
const BEFORE: usize = 5;

pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    IdPath(id): IdPath<ActionId>,
    Told(notice): Told,
) -> Page {
    page(&app, &session, id, notice).await
}

/// The page, with something to say first.
pub(super) async fn page(app: &App, session: &Session, id: ActionId, notice: Option<Notice>) -> Page {
    let action = view(app, session, id).await?;
    let ours = before(
        app,
        session,
        &action,
        CaseQuery {
            tool: Some(action.tool.clone()),
            agent: Some(action.agent.clone()),
            ..CaseQuery::newest(BEFORE + 1)
        },
    )
    .await?;
    let agent = before(
        app,
        session,
        &action,
        CaseQuery { agent: Some(action.agent.clone()), ..CaseQuery::newest(BEFORE + 1) },
    )
    .await?;
    let history = [
        History { of: "this agent with this tool", actions: &ours },
        History { of: "this agent", actions: &agent },
    ];
    let status =
        if matches!(notice, Some(Notice::Refused(_))) { StatusCode::CONFLICT } else { StatusCode::OK };
    let desk = Desk::of(app, session).await?;
    Ok(html(status, ActionPage { action: &action, history: &history }.render(&desk.frame(notice))))
}

async fn view(app: &App, session: &Session, id: ActionId) -> Result<ActionView, ProblemError> {
    let case = app.engine.action(&session.person, id).await?;
    Ok(ActionView::seen_by(&session.person, &case))
}

async fn before(
    app: &App,
    session: &Session,
    action: &ActionView,
    query: CaseQuery,
) -> Result<Vec<ActionView>, ProblemError> {
    let cases = app.engine.actions(query).await?;
    let others = cases.iter().filter(|case| case.id != action.id).take(BEFORE);
    Ok(others.map(|case| ActionView::seen_by(&session.person, case)).collect())
}

pub(crate) async fn edit(State(app): State<App>, session: Session, IdPath(id): IdPath<ActionId>) -> Page {
    let action = view(&app, &session, id).await?;
    if action.status != Status::Pending {
        return Ok(to(&format!("/actions/{id}")));
    }
    let desk = Desk::of(&app, &session).await?;
    let edit = EditPage { action: &action, draft: &action.args, preview: false };
    Ok(html(StatusCode::OK, edit.render(&desk.frame(None))))
}

pub(crate) async fn preview(
    State(app): State<App>,
    IdPath(id): IdPath<ActionId>,
    Signed { session, fields }: Signed,
) -> Page {
    let action = view(&app, &session, id).await?;
    if action.version.to_string() != fields.text("version")? || action.status != Status::Pending {
        let why = "the action changed while you were editing; look at it again";
        return page(&app, &session, id, Some(Notice::Refused(why.into()))).await;
    }
    let desk = Desk::of(&app, &session).await?;
    Ok(match args_of_form(fields.all()) {
        Ok(draft) => {
            let edit = EditPage { action: &action, draft: &draft, preview: true };
            html(StatusCode::OK, edit.render(&desk.frame(None)))
        }
        Err(problem) => {
            let edit = EditPage { action: &action, draft: &action.args, preview: false };
            html(StatusCode::CONFLICT, edit.render(&desk.frame(Some(Notice::Refused(problem)))))
        }
    })
}
