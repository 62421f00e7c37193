//! `/v1/people`: who there is and what they may, for administrators.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::PersonId;
use banksman_core::wire::{LinkView, List, PersonBody, PersonView, RightsBody, StandingBody};
use banksman_engine::{By, NewPerson};
use banksman_store::Person;

use crate::App;
use crate::access::AdminCaller;
use crate::body::{Body, IdPath};
use crate::problem::ProblemError;

type Answer<T> = Result<Json<T>, ProblemError>;

pub(crate) async fn list(State(app): State<App>, AdminCaller(by): AdminCaller) -> Answer<List<PersonView>> {
    let people = app.engine.people(By::Person(&by)).await?;
    Ok(Json(List { items: people.iter().map(Person::view).collect() }))
}

pub(crate) async fn show(
    State(app): State<App>,
    AdminCaller(by): AdminCaller,
    IdPath(id): IdPath<PersonId>,
) -> Answer<PersonView> {
    Ok(Json(app.engine.person(By::Person(&by), id).await?.view()))
}

pub(crate) async fn add(
    State(app): State<App>,
    AdminCaller(by): AdminCaller,
    Body(body): Body<PersonBody>,
) -> Result<(StatusCode, Json<LinkView>), ProblemError> {
    let PersonBody { name, display_name, kind, roles } = body;
    let person =
        app.engine.add_person(By::Person(&by), NewPerson { name, display_name, kind, roles }).await?;
    Ok((StatusCode::CREATED, Json(invited(&app, By::Person(&by), person.id).await?)))
}

async fn invited(app: &App, by: By<'_>, id: PersonId) -> Result<LinkView, ProblemError> {
    let link = app.engine.invite(by, id).await?;
    let person = app.engine.person(by, id).await?;
    Ok(LinkView {
        person: person.view(),
        link: link.address(app.address.origin()),
        expires_at: link.expires_at,
    })
}

pub(crate) async fn invite(
    State(app): State<App>,
    AdminCaller(by): AdminCaller,
    IdPath(id): IdPath<PersonId>,
) -> Answer<LinkView> {
    Ok(Json(invited(&app, By::Person(&by), id).await?))
}

pub(crate) async fn reset(
    State(app): State<App>,
    AdminCaller(by): AdminCaller,
    IdPath(id): IdPath<PersonId>,
) -> Answer<LinkView> {
    app.engine.reset_person(By::Person(&by), id).await?;
    Ok(Json(invited(&app, By::Person(&by), id).await?))
}

pub(crate) async fn confirm(
    State(app): State<App>,
    AdminCaller(by): AdminCaller,
    IdPath(id): IdPath<PersonId>,
) -> Answer<PersonView> {
    Ok(Json(app.engine.confirm_person(By::Person(&by), id).await?.view()))
}

pub(crate) async fn change_rights(
    State(app): State<App>,
    AdminCaller(by): AdminCaller,
    IdPath(id): IdPath<PersonId>,
    Body(RightsBody { kind, roles }): Body<RightsBody>,
) -> Answer<PersonView> {
    Ok(Json(app.engine.change_rights(By::Person(&by), id, kind, roles).await?.view()))
}

pub(crate) async fn change_standing(
    State(app): State<App>,
    AdminCaller(by): AdminCaller,
    IdPath(id): IdPath<PersonId>,
    Body(StandingBody { standing }): Body<StandingBody>,
) -> Answer<PersonView> {
    Ok(Json(app.engine.change_standing(By::Person(&by), id, standing).await?.view()))
}
