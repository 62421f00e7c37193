//! `/actions/{id}`: one action, and editing it.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::audit::Event;
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Status};
use banksman_store::{EventQuery, Order};
use banksman_web::{ActionPage, EditPage, History, Notice, args_of_form};

use super::desk::Desk;
use super::fields::{Signed, Told};
use super::session::Session;
use super::{Page, html, to};
use crate::App;
use crate::body::IdPath;
use crate::problem::ProblemError;

/// How many earlier actions are shown, and among how many they are looked for.
const BEFORE: usize = 5;
const LOOKED_BACK: usize = 100;

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
    let (same_tool, any_tool) = before(app, session, &action).await?;
    let history = [
        History { of: "this agent with this tool", actions: &same_tool },
        History { of: "this agent", actions: &any_tool },
    ];
    let status =
        if matches!(notice, Some(Notice::Refused(_))) { StatusCode::CONFLICT } else { StatusCode::OK };
    let desk = Desk::of(app, session).await?;
    Ok(html(status, ActionPage { action: &action, history: &history }.render(&desk.frame(notice))))
}

pub(super) async fn view(app: &App, session: &Session, id: ActionId) -> Result<ActionView, ProblemError> {
    let case = app.engine.action(&session.person, id).await?;
    Ok(ActionView::seen_by(&session.person, &case))
}

/// What people answered this agent before: with the same tool, and with any. By the log's index of what was
/// resolved, because a list of actions by agent and tool would be looked for through the whole table.
async fn before(
    app: &App,
    session: &Session,
    action: &ActionView,
) -> Result<(Vec<ActionView>, Vec<ActionView>), ProblemError> {
    let query = EventQuery {
        after: None,
        order: Order::Descending,
        agent: Some(action.agent.clone()),
        resolutions_only: true,
        ..EventQuery::following(0, LOOKED_BACK)
    };
    let (mut same_tool, mut any_tool): (Vec<ActionId>, Vec<ActionId>) = Default::default();
    for stored in app.engine.events(query).await? {
        let Some(about) = Event::from_bytes(stored.body.as_bytes()).ok().and_then(|event| event.action)
        else {
            continue;
        };
        let wants =
            |found: &[ActionId]| found.len() < BEFORE && about.id != action.id && !found.contains(&about.id);
        if about.tool == action.tool && wants(&same_tool) {
            same_tool.push(about.id);
        }
        if wants(&any_tool) {
            any_tool.push(about.id);
        }
    }
    let mut views = (Vec::new(), Vec::new());
    for (ids, views) in [(same_tool, &mut views.0), (any_tool, &mut views.1)] {
        for id in ids {
            views.push(view(app, session, id).await?);
        }
    }
    Ok(views)
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
