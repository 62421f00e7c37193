//! `/v1/grants`, `/v1/freezes`, `/v1/delegations`, `/v1/mode`: the house rules.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use banksman_core::wire::{
    DelegationBody, DelegationView, FallbackBody, FreezeBody, FreezeView, GrantBody, GrantView, List,
    ModeBody,
};
use banksman_core::{DelegationId, FreezeId, FreezeScope, GrantId};

use super::{Answer, json, ok};
use crate::App;
use crate::access::{AnyCaller, PersonCaller};
use crate::body::{Body, IdPath};
use crate::problem::{Code, ProblemError};

pub(crate) async fn grants(State(app): State<App>, PersonCaller(_): PersonCaller) -> Answer {
    ok(&List { items: app.engine.grants().await?.iter().map(GrantView::from).collect() })
}

pub(crate) async fn grant(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    Body(body): Body<GrantBody>,
) -> Answer {
    let grant = app.engine.grant(&person, body).await?;
    json(StatusCode::CREATED, &GrantView::from(&grant))
}

pub(crate) async fn revoke_grant(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    IdPath(id): IdPath<GrantId>,
) -> Answer {
    app.engine.revoke_grant(&person, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn freezes(State(app): State<App>, PersonCaller(_): PersonCaller) -> Answer {
    let house = app.engine.house_rules().await?;
    ok(&List { items: house.freezes.iter().map(FreezeView::from).collect() })
}

pub(crate) async fn freeze(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    Body(body): Body<FreezeBody>,
) -> Answer {
    let scope = match (body.everything, body.agent, body.tool) {
        (true, None, None) => FreezeScope::Everything,
        (false, Some(agent), None) => FreezeScope::Agent(agent),
        (false, None, Some(tool)) => FreezeScope::Tool(tool),
        _ => {
            let detail = "say exactly one of \"everything\": true, \"agent\": NAME, \"tool\": NAME";
            return Err(ProblemError::new(Code::InvalidRequest, detail));
        }
    };
    // A freeze that names nothing would look like one that works.
    let names_nothing = match &scope {
        FreezeScope::Everything => false,
        FreezeScope::Agent(name) | FreezeScope::Tool(name) => name.trim().is_empty(),
    };
    if names_nothing {
        return Err(ProblemError::new(Code::InvalidRequest, "the name of what is frozen is empty"));
    }
    let reason = body.reason.unwrap_or_else(|| "no reason given".into());
    let freeze = app.engine.freeze(&person, scope, reason).await?;
    json(StatusCode::CREATED, &FreezeView::from(&freeze))
}

pub(crate) async fn unfreeze(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    IdPath(id): IdPath<FreezeId>,
) -> Answer {
    app.engine.unfreeze(&person, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn delegations(State(app): State<App>, PersonCaller(_): PersonCaller) -> Answer {
    ok(&List { items: app.engine.delegations().await?.iter().map(DelegationView::from).collect() })
}

pub(crate) async fn delegate(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    Body(body): Body<DelegationBody>,
) -> Answer {
    let delegation = app.engine.delegate(&person, body).await?;
    json(StatusCode::CREATED, &DelegationView::from(&delegation))
}

pub(crate) async fn revoke_delegation(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    IdPath(id): IdPath<DelegationId>,
) -> Answer {
    app.engine.revoke_delegation(&person, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn mode(State(app): State<App>, AnyCaller(_): AnyCaller) -> Answer {
    ok(&app.engine.mode().await?)
}

pub(crate) async fn change_mode(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    Body(body): Body<ModeBody>,
) -> Answer {
    app.engine.change_mode(&person, body.mode, body.reason).await?;
    ok(&app.engine.mode().await?)
}

pub(crate) async fn fall_back(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    Body(body): Body<FallbackBody>,
) -> Answer {
    app.engine.fall_back(&person, &body.reason).await?;
    ok(&app.engine.mode().await?)
}
