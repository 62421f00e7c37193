//! `/people`: who there is and what they may, for administrators.

use axum::extract::State;
use axum::http::StatusCode;
use banksman_core::wire::PersonView;
use banksman_core::{PersonId, PrincipalKind};
use banksman_engine::{By, EngineError, IssuedLink, NewPerson};
use banksman_store::Person;
use banksman_web::{Notice, PeoplePage, Said};

use super::desk::Desk;
use super::fields::{Fields, Signed, Told};
use super::session::Session;
use super::{Page, done, html};
use crate::App;
use crate::body::IdPath;
use crate::problem::ProblemError;

pub(crate) async fn show(State(app): State<App>, session: Session, Told(notice): Told) -> Page {
    page(&app, &session, notice, None).await
}

async fn page(app: &App, session: &Session, notice: Option<Notice>, link: Option<(&str, &str)>) -> Page {
    let people = app.engine.people(By::Person(&session.person)).await?;
    let people: Vec<PersonView> = people.iter().map(Person::view).collect();
    let refused = matches!(notice, Some(Notice::Refused(_)));
    let status = if refused { StatusCode::CONFLICT } else { StatusCode::OK };
    let desk = Desk::of(app, session).await?;
    Ok(html(status, PeoplePage { people: &people, link }.render(&desk.frame(notice))))
}

async fn refused(app: &App, session: &Session, error: EngineError) -> Page {
    match error {
        EngineError::Invalid(why) => page(app, session, Some(Notice::Refused(why)), None).await,
        other => Err(other.into()),
    }
}

async fn answer(app: &App, session: &Session, result: Result<Person, EngineError>, said: Said) -> Page {
    match result {
        Ok(_) => Ok(done(session, "/people", said)),
        Err(error) => refused(app, session, error).await,
    }
}

fn rights(fields: &Fields) -> Result<(PrincipalKind, Vec<String>), ProblemError> {
    let kind = if fields.given("admin").is_some() { PrincipalKind::Admin } else { PrincipalKind::Reviewer };
    let roles = fields.text("roles")?.split(',').map(|role| role.trim().to_owned());
    Ok((kind, roles.filter(|role| !role.is_empty()).collect()))
}

pub(crate) async fn add(State(app): State<App>, Signed { session, fields }: Signed) -> Page {
    let (kind, roles) = rights(&fields)?;
    let new = NewPerson {
        name: fields.text("name")?.trim().to_owned(),
        display_name: fields.written("display_name"),
        kind,
        roles,
    };
    match app.engine.add_person(By::Person(&session.person), new).await {
        Ok(person) => invited(&app, &session, person.id).await,
        Err(error) => refused(&app, &session, error).await,
    }
}

/// Makes an invitation and shows its link, this once.
async fn invited(app: &App, session: &Session, id: PersonId) -> Page {
    let by = By::Person(&session.person);
    let invited: Result<(Person, IssuedLink), EngineError> = async {
        let person = app.engine.person(by, id).await?;
        let link = app.engine.invite(by, id).await?;
        Ok((person, link))
    }
    .await;
    match invited {
        Ok((person, link)) => {
            page(app, session, None, Some((&person.name, &link.address(app.address.origin())))).await
        }
        Err(error) => refused(app, session, error).await,
    }
}

pub(crate) async fn invite(
    State(app): State<App>,
    IdPath(id): IdPath<PersonId>,
    Signed { session, .. }: Signed,
) -> Page {
    invited(&app, &session, id).await
}

pub(crate) async fn reset(
    State(app): State<App>,
    IdPath(id): IdPath<PersonId>,
    Signed { session, .. }: Signed,
) -> Page {
    match app.engine.reset_person(By::Person(&session.person), id).await {
        Ok(person) => invited(&app, &session, person.id).await,
        Err(error) => refused(&app, &session, error).await,
    }
}

pub(crate) async fn confirm(
    State(app): State<App>,
    IdPath(id): IdPath<PersonId>,
    Signed { session, .. }: Signed,
) -> Page {
    let confirmed = app.engine.confirm_person(By::Person(&session.person), id).await;
    answer(&app, &session, confirmed, Said::PersonConfirmed).await
}

pub(crate) async fn change_rights(
    State(app): State<App>,
    IdPath(id): IdPath<PersonId>,
    Signed { session, fields }: Signed,
) -> Page {
    let (kind, roles) = rights(&fields)?;
    let changed = app.engine.change_rights(By::Person(&session.person), id, kind, roles).await;
    answer(&app, &session, changed, Said::RightsChanged).await
}

pub(crate) async fn change_standing(
    State(app): State<App>,
    IdPath(id): IdPath<PersonId>,
    Signed { session, fields }: Signed,
) -> Page {
    let changed =
        app.engine.change_standing(By::Person(&session.person), id, fields.parsed("standing")?).await;
    answer(&app, &session, changed, Said::StandingChanged).await
}
