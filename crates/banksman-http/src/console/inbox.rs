//! `/`: what waits, and what has been.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::Status;
use banksman_core::wire::ActionView;
use banksman_store::{CaseQuery, Order};
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

/// How many actions one look goes through. What a store cannot search or sort by (words, risk, deadlines) is searched and
/// sorted among these, and the page says so if there are more.
const LOOKED_AT: usize = 300;

/// How many cards one page has: it has to load on a phone.
const CARDS: usize = 25;

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
    page: Option<String>,
}

impl InboxParams {
    fn page(&mut self) -> Result<usize, ProblemError> {
        Ok(parsed("page", self.page.take())?.unwrap_or(1).clamp(1, LOOKED_AT / CARDS))
    }

    fn into_filter(self) -> Result<InboxFilter, ProblemError> {
        Ok(InboxFilter {
            status: parsed("status", self.status)?,
            risk: parsed("risk", self.risk)?,
            tier: parsed("tier", self.tier)?,
            tool: self.tool,
            agent: self.agent,
            search: self.q,
            sort: Sort::from_text(&self.sort),
        })
    }
}

pub(crate) async fn home(
    State(app): State<App>,
    MaybeSession(session): MaybeSession,
    visit: Visit,
    Params(mut params): Params<InboxParams>,
    Told(notice): Told,
) -> Page {
    match session {
        Some(session) => {
            let page = params.page()?;
            list(&app, &session, &params.into_filter()?, page, notice).await
        }
        None => sign_in::page(&app, &visit, "/", None),
    }
}

async fn list(
    app: &App,
    session: &Session,
    filter: &InboxFilter,
    page: usize,
    notice: Option<Notice>,
) -> Page {
    let status = filter.status.unwrap_or(Status::Pending);
    let waiting = status == Status::Pending;
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let query = CaseQuery {
        status: Some(status),
        tier: filter.tier,
        tool: text(&filter.tool),
        agent: text(&filter.agent),
        after: None,
        order: if waiting { Order::Ascending } else { Order::Descending },
        urgent_first: waiting,
        limit: LOOKED_AT + 1,
    };
    let cases = app.engine.actions(query).await?;
    let more = cases.len() > LOOKED_AT;
    let looked_at = cases.len().min(LOOKED_AT);
    let mut actions: Vec<ActionView> = cases
        .iter()
        .take(LOOKED_AT)
        .map(|case| ActionView::seen_by(&session.person, case))
        .filter(|action| filter.wants(action))
        .collect();
    filter.arrange(&mut actions);
    let pages = actions.len().div_ceil(CARDS).max(1);
    let page = page.min(pages);
    let shown = actions.chunks(CARDS).nth(page - 1).unwrap_or_default();
    let desk = Desk::of(app, session).await?;
    let list = InboxPage {
        filter,
        actions: shown,
        matching: &actions,
        page,
        pages,
        looked_at,
        more,
        total: desk.pending(),
    };
    Ok(html(StatusCode::OK, list.render(&desk.frame(notice))))
}
