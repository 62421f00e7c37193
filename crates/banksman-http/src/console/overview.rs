//! `/overview`: what waits now, and what happened lately.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_web::{OverviewPage, Waiting, Window};
use serde::Deserialize;

use super::desk::Desk;
use super::session::Session;
use super::{Page, html};
use crate::App;
use crate::body::Params;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OverviewParams {
    window: String,
}

pub(crate) async fn overview(
    State(app): State<App>,
    session: Session,
    Params(params): Params<OverviewParams>,
) -> Page {
    let window = Window::from_text(&params.window);
    let (parts, hours_each) = window.parts();
    let counts = app.engine.statistics(parts, hours_each).await?;
    let pending = app.engine.pending_counts().await?;
    let page = OverviewPage {
        window,
        lately: &counts.lately,
        behind: counts.behind,
        waiting: Waiting {
            by_risk: &pending.by_risk,
            by_tier: &pending.by_tier,
            by_tool: &pending.by_tool,
            by_agent: &pending.by_agent,
        },
    };
    let desk = Desk::of(&app, &session).await?;
    Ok(html(StatusCode::OK, page.render(&desk.frame(None))))
}
