//! `/actions/{id}`: one action, and editing it.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::audit::Event;
use banksman_core::redact::redacted;
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Status};
use banksman_store::{DeliveryQuery, EventQuery, Order};
use banksman_web::{ActionPage, Draft, EarlierVersion, EditPage, History, Misfit, Notice, args_of_form};

use super::desk::Desk;
use super::fields::{Signed, Told};
use super::session::Session;
use super::{Page, html, to};
use crate::App;
use crate::body::IdPath;
use crate::problem::ProblemError;
use crate::routes::post::delivery_view;

/// How many earlier actions are shown, and among how many they are looked for.
const BEFORE: usize = 5;
const LOOKED_BACK: usize = 100;

/// How many messages about it are shown.
const MOST_TOLD: usize = 50;

/// How many edits are shown.
const EDITS: usize = 5;

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
        History { of: "this agent with this tool", same_tool: true, actions: &same_tool },
        History { of: "this agent", same_tool: false, actions: &any_tool },
    ];
    let earlier = earlier(app, session, &action).await?;
    let status =
        if matches!(notice, Some(Notice::Refused(_))) { StatusCode::CONFLICT } else { StatusCode::OK };
    let desk = Desk::of(app, session).await?;
    let query = DeliveryQuery { action: Some(id), limit: MOST_TOLD, ..DeliveryQuery::default() };
    let mut told: Vec<_> = app.engine.deliveries(query).await?.iter().map(delivery_view).collect();
    told.reverse();
    let page = ActionPage { action: &action, earlier: &earlier, history: &history, told: &told };
    Ok(html(status, page.render(&desk.frame(notice))))
}

pub(super) async fn view(app: &App, session: &Session, id: ActionId) -> Result<ActionView, ProblemError> {
    let case = app.engine.action(&session.person, id).await?;
    Ok(ActionView::seen_by(&session.person, &case))
}

/// What would have run before each of the last edits. What either version keeps from people is kept of both.
async fn earlier(
    app: &App,
    session: &Session,
    action: &ActionView,
) -> Result<Vec<EarlierVersion>, ProblemError> {
    let mut versions = Vec::new();
    for version in (1..action.version).rev().take(EDITS) {
        let before = app.engine.earlier_version(&session.person, action.id, version).await?;
        let mut hidden = before.verdict.redact.clone();
        hidden.extend(action.verdict.redact.iter().cloned());
        versions.push(EarlierVersion { version, args: redacted(&before.action.args, &hidden) });
    }
    Ok(versions)
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
    let draft = Draft::untouched(&action.args);
    let edit = EditPage { action: &action, draft: &draft, preview: false };
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
    let mut draft = args_of_form(fields.all(), action.context.args_schema.as_ref());
    if draft.misfits.is_empty() && !draft.asks_for_more {
        let misfits = app.engine.misfits(&session.person, id, &draft.args).await?;
        draft.misfits = misfits.into_iter().map(|(pointer, problem)| Misfit { pointer, problem }).collect();
    }
    let fits = draft.misfits.is_empty();
    let status = if fits { StatusCode::OK } else { StatusCode::CONFLICT };
    let edit = EditPage { action: &action, draft: &draft, preview: fits && !draft.asks_for_more };
    let desk = Desk::of(&app, &session).await?;
    Ok(html(status, edit.render(&desk.frame(None))))
}
