//! `/`: what waits, and what has been.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Status};
use banksman_store::{CaseQuery, Order, SortBy};
use banksman_web::{InboxFilter, InboxPage, Notice, Sort};
use serde::Deserialize;

use super::desk::Desk;
use super::fields::Told;
use super::session::{MaybeSession, Session};
use super::visit::Visit;
use super::{Page, html, sign_in};
use crate::App;
use crate::body::Params;
use crate::problem::ProblemError;
use crate::query::parsed;

/// How many cards one page has: it has to load on a phone.
const CARDS: usize = 25;

/// Among how many of the newest actions a list of what has ended is looked for.
const LOOKED_AT: usize = 20_000;

/// Among how many waiting actions words are looked for at a time, by urgency: each has to be read, and a page is to be
/// there within 50 ms.
const SEARCHED: usize = 3_000;

/// How many that hold the words are looked at again: they may be in what this person does not get to see, or in names that
/// nobody wrote.
const READ_FOR_WORDS: usize = 100;

/// For how long the inbox says that something may have run: whoever looked cannot put it away.
const LATELY: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InboxParams {
    q: String,
    status: Option<String>,
    risk: Option<String>,
    tier: Option<String>,
    tool: String,
    agent: String,
    sort: String,
    after: Option<String>,
}

impl InboxParams {
    fn into_filter(self, usual: Sort) -> Result<InboxFilter, ProblemError> {
        Ok(InboxFilter {
            status: parsed("status", self.status)?,
            risk: parsed("risk", self.risk)?,
            tier: parsed("tier", self.tier)?,
            tool: self.tool,
            agent: self.agent,
            search: self.q.trim().to_owned(),
            sort: if self.sort.is_empty() { usual } else { Sort::from_text(&self.sort) },
            after: parsed("after", self.after)?,
        })
    }
}

pub(crate) async fn home(
    State(app): State<App>,
    MaybeSession(session): MaybeSession,
    visit: Visit,
    Params(params): Params<InboxParams>,
    Told(notice): Told,
) -> Page {
    match session {
        Some(session) => {
            let filter = params.into_filter(session.preferences.sort)?;
            list(&app, &session, &filter, notice).await
        }
        None => sign_in::page(&app, &visit, "/", None),
    }
}

async fn list(app: &App, session: &Session, filter: &InboxFilter, notice: Option<Notice>) -> Page {
    let waiting = filter.status() == Status::Pending;
    let found = find(app, session, filter).await?;
    let desk = Desk::of(app, session).await?;
    let counts =
        if waiting { app.engine.pending_counts().await?.by_risk.clone() } else { Default::default() };
    let list = InboxPage {
        filter,
        actions: &found.actions,
        next: found.next,
        among: match (waiting, filter.search.is_empty()) {
            (true, true) => None,
            (true, false) => found.next.map(|_| SEARCHED),
            (false, _) => Some(LOOKED_AT),
        },
        by_risk: &counts,
        total: desk.pending(),
        may_have_run: if waiting { may_have_run(app).await? } else { 0 },
    };
    Ok(html(StatusCode::OK, list.render(&desk.frame(notice))))
}

/// How many actions of the last day ended without an outcome.
async fn may_have_run(app: &App) -> Result<usize, ProblemError> {
    let unknown = CaseQuery { status: Some(Status::Unknown), ..CaseQuery::newest(CARDS) };
    let now = app.engine.now();
    let cases = app.engine.actions(unknown).await?;
    Ok(cases.iter().filter(|case| now.since(case.created_at) < LATELY).count())
}

/// A page of a list, and where the next one begins.
struct Found {
    actions: Vec<ActionView>,
    next: Option<ActionId>,
}

async fn find(app: &App, session: &Session, filter: &InboxFilter) -> Result<Found, ProblemError> {
    if let Ok(id) = filter.search.parse::<ActionId>() {
        let named = app.engine.action(&session.person, id).await.ok();
        let actions = named.iter().map(|case| ActionView::seen_by(&session.person, case)).collect();
        return Ok(Found { actions, next: None });
    }
    let query = store_query(filter);
    let cases = app.engine.actions(query.clone()).await?;
    let mut actions: Vec<ActionView> = cases
        .iter()
        .map(|case| ActionView::seen_by(&session.person, case))
        .filter(|action| filter.wants(action))
        .collect();
    let next = if actions.len() > CARDS {
        actions.truncate(CARDS);
        actions.last().map(|action| action.id)
    } else if cases.len() == query.limit {
        cases.last().map(|case| case.id)
    } else if filter.search.is_empty() || filter.status() != Status::Pending {
        None
    } else {
        // The words may be further on, and looking goes on from where it stopped.
        app.engine.place(query, SEARCHED).await?
    };
    if !filter.search.is_empty() {
        filter.arrange(&mut actions);
    }
    Ok(Found { actions, next })
}

fn store_query(filter: &InboxFilter) -> CaseQuery {
    let status = filter.status();
    let waiting = status == Status::Pending;
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let words = filter.words();
    CaseQuery {
        status: Some(status),
        tier: filter.tier,
        risk: filter.risk,
        tool: text(&filter.tool),
        agent: text(&filter.agent),
        after: filter.after,
        sort: match filter.sort {
            _ if !waiting => SortBy::Age,
            _ if !filter.search.is_empty() => SortBy::Urgency,
            Sort::Urgency => SortBy::Urgency,
            Sort::Deadline => SortBy::Deadline,
            Sort::Risk => SortBy::Risk,
        },
        order: if waiting { Order::Ascending } else { Order::Descending },
        among: if waiting { SEARCHED } else { LOOKED_AT },
        limit: if filter.search.is_empty() { CARDS + 1 } else { READ_FOR_WORDS },
        words,
    }
}
