//! `/actions/{id}`: one action, and editing it.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::audit::{ActionRef, Event};
use banksman_core::redact::redacted;
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Status};
use banksman_store::{DeliveryQuery, EventQuery, Order, StoredEvent};
use banksman_web::{
    ActionPage, Draft, EarlierVersion, EditPage, Extent, History, Misfit, Notice, args_of_form,
};
use serde::Deserialize;

use super::desk::Desk;
use super::fields::{Signed, Told};
use super::session::Session;
use super::{Page, html, to};
use crate::App;
use crate::body::{IdPath, Params};
use crate::problem::ProblemError;
use crate::routes::notifications::delivery_view;

/// How many earlier actions are shown, and among how many they are looked for.
const BEFORE: usize = 5;
const LOOKED_BACK: usize = 100;

/// Among how many of the log's newest events the answers about a tool are looked for: first among few, which mostly is
/// enough. There is no index by tool, so each is a step along the log.
const LOOKED_THROUGH: [u64; 2] = [500, 10_000];

/// How many messages about it are shown.
const MOST_TOLD: usize = 50;

/// How many edits are shown.
const EDITS: usize = 5;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ActionParams {
    /// `yes`: every value, however many there are.
    all: String,
}

pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    IdPath(id): IdPath<ActionId>,
    Params(ActionParams { all }): Params<ActionParams>,
    Told(notice): Told,
) -> Page {
    let extent = if all == "yes" { Extent::Whole } else { Extent::Usual };
    draw(&app, &session, id, extent, notice).await
}

/// The page, with something to say first.
pub(super) async fn page(app: &App, session: &Session, id: ActionId, notice: Option<Notice>) -> Page {
    draw(app, session, id, Extent::Usual, notice).await
}

async fn draw(app: &App, session: &Session, id: ActionId, extent: Extent, notice: Option<Notice>) -> Page {
    let action = view(app, session, id).await?;
    let before = Before::of(app, session, &action).await?;
    let history = [
        History { of: "this agent with this tool", same_tool: true, actions: &before.both },
        History { of: "this tool, whoever asked", same_tool: true, actions: &before.tool },
        History { of: "this agent", same_tool: false, actions: &before.agent },
    ];
    let earlier = earlier(app, session, &action).await?;
    let status =
        if matches!(notice, Some(Notice::Refused(_))) { StatusCode::CONFLICT } else { StatusCode::OK };
    let desk = Desk::of(app, session).await?;
    let query = DeliveryQuery { action: Some(id), limit: MOST_TOLD, ..DeliveryQuery::default() };
    let mut told: Vec<_> = app.engine.deliveries(query).await?.iter().map(delivery_view).collect();
    told.reverse();
    let page = ActionPage { action: &action, extent, earlier: &earlier, history: &history, told: &told };
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

/// What people answered before, the newest first.
struct Before {
    /// This agent with this tool.
    both: Vec<ActionView>,
    /// Any agent with this tool.
    tool: Vec<ActionView>,
    /// This agent with any tool.
    agent: Vec<ActionView>,
}

impl Before {
    async fn of(app: &App, session: &Session, action: &ActionView) -> Result<Self, ProblemError> {
        let mine = of_agent(app, action).await?;
        let both = mine.iter().filter(|(_, tool)| *tool == action.tool).map(|(id, _)| *id);
        let tool = of_tool(app, action).await?;
        Ok(Self {
            both: newest(app, session, action, both).await?,
            tool: newest(app, session, action, tool).await?,
            agent: newest(app, session, action, mine.iter().map(|(id, _)| *id)).await?,
        })
    }
}

/// The first few different actions but this one, as this person gets to see them.
async fn newest(
    app: &App,
    session: &Session,
    action: &ActionView,
    ids: impl IntoIterator<Item = ActionId>,
) -> Result<Vec<ActionView>, ProblemError> {
    let mut chosen: Vec<ActionId> = Vec::new();
    for id in ids {
        if id != action.id && !chosen.contains(&id) && chosen.len() < BEFORE {
            chosen.push(id);
        }
    }
    let mut views = Vec::new();
    for id in chosen {
        views.push(view(app, session, id).await?);
    }
    Ok(views)
}

/// What was answered to this agent, and with which tool. By the log's index of what was resolved, because a list of
/// actions by agent and tool would be looked for through the whole table.
async fn of_agent(app: &App, action: &ActionView) -> Result<Vec<(ActionId, String)>, ProblemError> {
    let query = EventQuery {
        after: None,
        order: Order::Descending,
        agent: Some(action.agent.clone()),
        resolutions_only: true,
        ..EventQuery::following(0, LOOKED_BACK)
    };
    let events = app.engine.events(query).await?;
    Ok(events.iter().filter_map(about).map(|about| (about.id, about.tool)).collect())
}

/// What was answered about this tool lately, whoever asked. A stretch at the end of the log, by its place.
async fn of_tool(app: &App, action: &ActionView) -> Result<Vec<ActionId>, ProblemError> {
    let end = *app.engine.newest_event().borrow();
    let mut found = Vec::new();
    for stretch in LOOKED_THROUGH {
        let query = EventQuery {
            tool: Some(action.tool.clone()),
            resolutions_only: true,
            ..EventQuery::following(
                end.saturating_sub(stretch),
                usize::try_from(stretch).unwrap_or(usize::MAX),
            )
        };
        let events = app.engine.events(query).await?;
        found = events.iter().rev().take(LOOKED_BACK).filter_map(about).map(|about| about.id).collect();
        if found.len() > BEFORE {
            break;
        }
    }
    Ok(found)
}

/// The action that an event is about.
fn about(stored: &StoredEvent) -> Option<ActionRef> {
    Event::from_bytes(stored.body.as_bytes()).ok()?.action
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
