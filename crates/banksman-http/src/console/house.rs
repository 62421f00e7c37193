//! `/grants`, `/delegations`, `/freezes`, `/mode`: the house rules.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use banksman_core::wire::{DelegationBody, DelegationView, FreezeView, GrantBody, GrantView};
use banksman_core::{DelegationId, FreezeId, FreezeScope, GrantId, Status};
use banksman_engine::EngineError;
use banksman_store::{CaseQuery, EventQuery};
use banksman_web::{FreezeDraft, Notice, Said};
use serde::Deserialize;

use super::desk::Desk;
use super::fields::{Signed, Told, not_ours};
use super::session::Session;
use super::{Page, done, html};
use crate::App;
use crate::body::{IdPath, Params};
use crate::problem::ProblemError;

/// The four pages of the house.
#[derive(Clone, Copy)]
enum Room {
    Grants,
    Delegations,
    Freezes,
    Mode,
}

impl Room {
    fn path(self) -> &'static str {
        match self {
            Self::Grants => "/grants",
            Self::Delegations => "/delegations",
            Self::Freezes => "/freezes",
            Self::Mode => "/mode",
        }
    }

    async fn page(self, app: &App, session: &Session, notice: Option<Notice>) -> Page {
        self.drawn(app, session, notice, FreezeDraft::default()).await
    }

    async fn drawn(
        self,
        app: &App,
        session: &Session,
        notice: Option<Notice>,
        mut draft: FreezeDraft,
    ) -> Page {
        let status =
            if matches!(notice, Some(Notice::Refused(_))) { StatusCode::CONFLICT } else { StatusCode::OK };
        let desk = Desk::of(app, session).await?;
        let frame = desk.frame(notice);
        let page = match self {
            Self::Grants => {
                let grants: Vec<GrantView> = app.engine.grants().await?.iter().map(GrantView::from).collect();
                banksman_web::grants(&frame, &grants)
            }
            Self::Delegations => {
                let all: Vec<DelegationView> =
                    app.engine.delegations().await?.iter().map(DelegationView::from).collect();
                banksman_web::delegations(&frame, &all)
            }
            Self::Freezes => {
                let house = app.engine.house_rules().await?;
                let freezes: Vec<FreezeView> = house.freezes.iter().map(FreezeView::from).collect();
                draft.known = names_that_wait(app).await?;
                banksman_web::freezes(&frame, &freezes, &draft)
            }
            Self::Mode => banksman_web::mode(&frame, &app.engine.mode().await?),
        };
        Ok(html(status, page))
    }

    /// Back to the page if it was done, or the page with what was wrong.
    async fn answer<T>(
        self,
        app: &App,
        session: &Session,
        result: Result<T, EngineError>,
        said: Said,
    ) -> Result<Response, ProblemError> {
        match result {
            Ok(_) => Ok(done(session, self.path(), said)),
            Err(error) => {
                let (_, detail) = ProblemError::from(error).into_parts();
                self.page(app, session, Some(Notice::Refused(detail))).await
            }
        }
    }
}

pub(crate) async fn grants(State(app): State<App>, session: Session, Told(notice): Told) -> Page {
    Room::Grants.page(&app, &session, notice).await
}

pub(crate) async fn grant(State(app): State<App>, Signed { session, fields }: Signed) -> Page {
    let uses = match fields.written("uses").map(|uses| uses.trim().parse()) {
        None => None,
        Some(Ok(uses)) => Some(uses),
        Some(Err(_)) => {
            let wrong = Notice::Refused("uses is a number, or empty".into());
            return Room::Grants.page(&app, &session, Some(wrong)).await;
        }
    };
    let body = GrantBody {
        agent: fields.text("agent")?.to_owned(),
        tool: fields.text("tool")?.to_owned(),
        digest: None,
        args: None,
        session: fields.written("session"),
        expires_in_seconds: fields.parsed("for_seconds")?,
        uses,
    };
    let granted = app.engine.grant(&session.person, body).await;
    Room::Grants.answer(&app, &session, granted, Said::Granted).await
}

pub(crate) async fn revoke_grant(
    State(app): State<App>,
    IdPath(id): IdPath<GrantId>,
    Signed { session, .. }: Signed,
) -> Page {
    let revoked = app.engine.revoke_grant(&session.person, id).await;
    Room::Grants.answer(&app, &session, revoked, Said::GrantRevoked).await
}

pub(crate) async fn delegations(State(app): State<App>, session: Session, Told(notice): Told) -> Page {
    Room::Delegations.page(&app, &session, notice).await
}

pub(crate) async fn delegate(State(app): State<App>, Signed { session, fields }: Signed) -> Page {
    let roles = fields.written("roles").unwrap_or_default();
    let body = DelegationBody {
        from: fields.written("from"),
        to: fields.text("to")?.to_owned(),
        roles: roles.split(',').map(|role| role.trim().to_owned()).filter(|role| !role.is_empty()).collect(),
        starts_at: None,
        ends_at: None,
        for_seconds: Some(fields.parsed("for_seconds")?),
        reason: fields.written("reason"),
    };
    let delegated = app.engine.delegate(&session.person, body).await;
    Room::Delegations.answer(&app, &session, delegated, Said::Delegated).await
}

pub(crate) async fn revoke_delegation(
    State(app): State<App>,
    IdPath(id): IdPath<DelegationId>,
    Signed { session, .. }: Signed,
) -> Page {
    let revoked = app.engine.revoke_delegation(&session.person, id).await;
    Room::Delegations.answer(&app, &session, revoked, Said::DelegationRevoked).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FreezeParams {
    agent: String,
    tool: String,
}

pub(crate) async fn freezes(
    State(app): State<App>,
    session: Session,
    Params(FreezeParams { agent, tool }): Params<FreezeParams>,
    Told(notice): Told,
) -> Page {
    let draft = FreezeDraft { agent, tool, ..FreezeDraft::default() };
    Room::Freezes.drawn(&app, &session, notice, draft).await
}

/// How many of what waits is looked at for names.
const LOOKED_AT: usize = 100;

/// Among how many of the log's newest events a name is looked for that nothing that waits has.
const LOOKED_THROUGH: u64 = 10_000;

/// Names of agents and tools, each once.
async fn names_that_wait(app: &App) -> Result<Vec<String>, ProblemError> {
    let waiting =
        CaseQuery { status: Some(Status::Pending), limit: LOOKED_AT, ..CaseQuery::newest(LOOKED_AT) };
    let cases = app.engine.actions(waiting).await?;
    let names: BTreeSet<String> =
        cases.into_iter().flat_map(|case| [case.agent, case.submission.action.tool.clone()]).collect();
    Ok(names.into_iter().collect())
}

/// Whether anything that waits, or happened lately, is of the agent or tool that is frozen. A slip in a name freezes nothing
/// and looks as if it did.
async fn is_known(app: &App, scope: &FreezeScope) -> Result<bool, ProblemError> {
    let (agent, tool) = match scope {
        FreezeScope::Everything => return Ok(true),
        FreezeScope::Agent(name) => (Some(name.clone()), None),
        FreezeScope::Tool(name) => (None, Some(name.clone())),
    };
    let waiting = CaseQuery {
        status: Some(Status::Pending),
        agent: agent.clone(),
        tool: tool.clone(),
        ..CaseQuery::newest(1)
    };
    if !app.engine.actions(waiting).await?.is_empty() {
        return Ok(true);
    }
    let from = app.engine.newest_event().borrow().saturating_sub(LOOKED_THROUGH);
    let happened = EventQuery { agent, tool, ..EventQuery::following(from, 1) };
    Ok(!app.engine.events(happened).await?.is_empty())
}

pub(crate) async fn freeze(State(app): State<App>, Signed { session, fields }: Signed) -> Page {
    let name = fields.written("name");
    let scope = match (fields.text("scope")?, name) {
        ("everything", _) => FreezeScope::Everything,
        ("agent", Some(name)) => FreezeScope::Agent(name),
        ("tool", Some(name)) => FreezeScope::Tool(name),
        // A freeze that names nothing would look like one that works.
        ("agent" | "tool", None) => {
            let nameless = Notice::Refused("the name of what is frozen is empty".into());
            return Room::Freezes.page(&app, &session, Some(nameless)).await;
        }
        _ => return Err(not_ours()),
    };
    let reason = fields.written("reason").unwrap_or_else(|| "no reason given".into());
    let frozen = app.engine.freeze(&session.person, scope.clone(), reason).await;
    // Only then, and whatever comes of it: nothing comes before the freeze.
    let said = if is_known(&app, &scope).await.unwrap_or(true) { Said::Frozen } else { Said::FrozenUnseen };
    Room::Freezes.answer(&app, &session, frozen, said).await
}

pub(crate) async fn lift(
    State(app): State<App>,
    IdPath(id): IdPath<FreezeId>,
    Signed { session, .. }: Signed,
) -> Page {
    let lifted = app.engine.unfreeze(&session.person, id).await;
    Room::Freezes.answer(&app, &session, lifted, Said::Unfrozen).await
}

pub(crate) async fn mode(State(app): State<App>, session: Session, Told(notice): Told) -> Page {
    Room::Mode.page(&app, &session, notice).await
}

pub(crate) async fn change_mode(State(app): State<App>, Signed { session, fields }: Signed) -> Page {
    let changed =
        app.engine.change_mode(&session.person, fields.parsed("mode")?, fields.written("reason")).await;
    Room::Mode.answer(&app, &session, changed, Said::ModeChanged).await
}

pub(crate) async fn fall_back(State(app): State<App>, Signed { session, fields }: Signed) -> Page {
    let fallen = app.engine.fall_back(&session.person, fields.text("reason")?).await;
    Room::Mode.answer(&app, &session, fallen, Said::FellBack).await
}
