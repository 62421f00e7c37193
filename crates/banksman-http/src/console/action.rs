//! `/actions/{id}`: one action, and editing it.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::audit::{ActionRef, Event};
use banksman_core::redact::redacted;
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Status};
use banksman_store::{DeliveryQuery, EventQuery, Order, StoredEvent};
use banksman_web::{
    ActionPage, Draft, EarlierVersion, EditPage, Extent, History, Kept, Misfit, Notice, args_of_form,
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

/// How many earlier actions are shown, and among how many that people answered they are looked for.
const BEFORE: usize = 5;
const LOOKED_BACK: usize = 300;

/// What the log calls an answer by a person. What expired, lapsed or was withdrawn is none: an agent can make any number of
/// those, and would push a denial out of sight with them.
const ANSWERS: [&str; 2] = ["decided", "modified"];

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
    draw(&app, &session, id, extent, notice, &Kept::default()).await
}

/// The page, which says why something was not done, with what was written into its form.
pub(super) async fn refused(app: &App, session: &Session, id: ActionId, why: String, kept: &Kept) -> Page {
    draw(app, session, id, Extent::Usual, Some(Notice::Refused(why)), kept).await
}

async fn draw(
    app: &App,
    session: &Session,
    id: ActionId,
    extent: Extent,
    notice: Option<Notice>,
    kept: &Kept,
) -> Page {
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
    let page =
        ActionPage { action: &action, extent, earlier: &earlier, history: &history, told: &told, kept };
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
        let tool = of_tool(app, action).await?;
        let with_tool: Vec<&ActionRef> = mine.iter().filter(|about| about.tool == action.tool).collect();
        // The newest denial stays in sight, however much was approved since.
        let denied = with_tool.iter().find(|about| about.status == Status::Denied && about.id != action.id);
        let mut both = newest(action, with_tool.iter().map(|about| about.id));
        both.extend(denied.map(|about| about.id).filter(|id| !both.contains(id)));
        Ok(Self {
            both: views(app, session, both).await?,
            tool: views(app, session, newest(action, tool.iter().map(|about| about.id))).await?,
            agent: views(app, session, newest(action, mine.iter().map(|about| about.id))).await?,
        })
    }
}

/// The first few different actions but this one.
fn newest(action: &ActionView, ids: impl IntoIterator<Item = ActionId>) -> Vec<ActionId> {
    let mut chosen: Vec<ActionId> = Vec::new();
    for id in ids {
        if id != action.id && !chosen.contains(&id) && chosen.len() < BEFORE {
            chosen.push(id);
        }
    }
    chosen
}

/// Actions as this person gets to see them.
async fn views(app: &App, session: &Session, ids: Vec<ActionId>) -> Result<Vec<ActionView>, ProblemError> {
    let mut views = Vec::new();
    for id in ids {
        views.push(view(app, session, id).await?);
    }
    Ok(views)
}

/// What people answered to this agent, the newest first. By the log's index of what was resolved, because a list of actions
/// by agent and tool would be looked for through the whole table. Edits are rare, so that all of an agent's resolutions
/// would be read for a few of them: they are looked for at the end of the log only.
async fn of_agent(app: &App, action: &ActionView) -> Result<Vec<ActionRef>, ProblemError> {
    let [decided, modified] = ANSWERS.map(|kind| Some(kind.to_owned()));
    let agent = Some(action.agent.clone());
    let decided = EventQuery {
        after: None,
        order: Order::Descending,
        agent: agent.clone(),
        kind: decided,
        resolutions_only: true,
        ..EventQuery::following(0, LOOKED_BACK)
    };
    let [_, stretch] = LOOKED_THROUGH;
    let modified = EventQuery { agent, kind: modified, resolutions_only: true, ..the_last(app, stretch) };
    let mut events = app.engine.events(decided).await?;
    events.extend(app.engine.events(modified).await?);
    events.sort_by_key(|event| std::cmp::Reverse(event.seq));
    Ok(events.iter().filter_map(about).collect())
}

/// What people answered about this tool lately, whoever asked, the newest first. A stretch at the end of the log, by its
/// place.
async fn of_tool(app: &App, action: &ActionView) -> Result<Vec<ActionRef>, ProblemError> {
    let mut found = Vec::new();
    for stretch in LOOKED_THROUGH {
        let query =
            EventQuery { tool: Some(action.tool.clone()), resolutions_only: true, ..the_last(app, stretch) };
        let events = app.engine.events(query).await?;
        let answers = events.iter().rev().filter(|event| ANSWERS.contains(&event.kind.as_str()));
        found = answers.take(LOOKED_BACK).filter_map(about).collect();
        if found.len() > BEFORE {
            break;
        }
    }
    Ok(found)
}

/// Everything in the last so many places of the log.
fn the_last(app: &App, stretch: u64) -> EventQuery {
    let end = *app.engine.newest_event().borrow();
    EventQuery::following(end.saturating_sub(stretch), usize::try_from(stretch).unwrap_or(usize::MAX))
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
        return refused(&app, &session, id, why.into(), &Kept::default()).await;
    }
    let mut draft = args_of_form(fields.all(), &action.args, action.context.args_schema.as_ref());
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
