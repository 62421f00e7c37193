//! Looking after people: adding them, changing what they may, locking them out.

use banksman_core::{PersonChange, PersonId, PrincipalKind, Standing};
use banksman_store::{Failures, Person};

use super::{Amendment, By, Folk};
use crate::credentials::is_name;
use crate::{Engine, EngineError, ids};

/// A person to be added.
#[derive(Debug, Clone)]
pub struct NewPerson {
    /// Their name: for signing in, in votes, and in the log.
    pub name: String,
    /// What pages call them.
    pub display_name: Option<String>,
    /// Reviewer or administrator.
    pub kind: PrincipalKind,
    /// What they may approve.
    pub roles: Vec<String>,
}

impl NewPerson {
    fn validated(&self) -> Result<(), EngineError> {
        let invalid = |problem: &str| Err(EngineError::Invalid(problem.into()));
        if !is_name(&self.name) || self.name.trim() != self.name {
            return invalid("a name has 1 to 128 characters, no control characters, and no spaces around it");
        }
        if self.display_name.as_deref().is_some_and(|name| !is_name(name)) {
            return invalid("a display name has 1 to 128 characters and no control characters");
        }
        check_rights(self.kind, &self.roles)
    }
}

fn check_rights(kind: PrincipalKind, roles: &[String]) -> Result<(), EngineError> {
    if !kind.decides() {
        return Err(EngineError::Invalid("a person is a reviewer or an admin; agents have tokens".into()));
    }
    if !roles.iter().all(|role| is_name(role)) {
        return Err(EngineError::Invalid("a role has 1 to 128 characters and no control characters".into()));
    }
    Ok(())
}

impl Engine {
    /// Adds a person. They cannot sign in before they are invited.
    ///
    /// # Errors
    /// If it is not the caller's to do, the name is taken, or it makes no sense.
    pub async fn add_person(&self, by: By<'_>, new: NewPerson) -> Result<Person, EngineError> {
        by.must_administer()?;
        new.validated()?;
        let (millis, entropy) = ids::fresh(self.clock.now())?;
        self.amend_people(by, |folk| {
            if folk.by_name(&new.name).is_ok() {
                let taken =
                    format!("there is, or was, a person by the name of {:?}: choose another", new.name);
                return Err(EngineError::Invalid(taken));
            }
            let id = PersonId::from_parts(millis, entropy);
            let person = Person {
                display_name: new.display_name.clone(),
                ..Person::new(id, new.name.clone(), new.kind, new.roles.clone(), folk.now)
            };
            let added = PersonChange::Added { kind: new.kind, roles: new.roles.clone() };
            Ok(Amendment::of(person.clone(), added, person))
        })
        .await
    }

    /// Changes what a person may. Their sessions end: whoever comes in again comes in with the new rights. Tokens stay, and
    /// give no more than the person may.
    ///
    /// # Errors
    /// If it is not the caller's to do, or nobody would be left to look after the house.
    pub async fn change_rights(
        &self,
        by: By<'_>,
        id: PersonId,
        kind: PrincipalKind,
        roles: Vec<String>,
    ) -> Result<Person, EngineError> {
        by.must_administer()?;
        check_rights(kind, &roles)?;
        self.amend_people(by, |folk| {
            let person = another(folk, by, id)?;
            if kind != PrincipalKind::Admin {
                must_leave_an_admin(folk, by, person)?;
            }
            let changed = Person { kind, roles: roles.clone(), ..person.clone() };
            let change = PersonChange::RightsChanged { kind, roles: roles.clone() };
            let ended = folk.end_sessions(&person.name);
            Ok(Amendment::of(changed.clone(), change, changed).and(ended))
        })
        .await
    }

    /// Locks a person out, lets them in again, or removes them for good. What they came in with ends at once, tokens too.
    ///
    /// # Errors
    /// If it is not the caller's to do, nobody would be left to look after the house, or they were removed.
    pub async fn change_standing(
        &self,
        by: By<'_>,
        id: PersonId,
        standing: Standing,
    ) -> Result<Person, EngineError> {
        by.must_administer()?;
        self.amend_people(by, |folk| {
            let person = another(folk, by, id)?;
            if person.standing == Standing::Removed {
                return Err(EngineError::Invalid(format!(
                    "{:?} was removed, which is for good",
                    person.name
                )));
            }
            let (failures, own_failures) = (Failures::default(), Failures::default());
            let mut changed = Person { standing, failures, own_failures, ..person.clone() };
            let mut ended = Vec::new();
            match standing {
                Standing::Active => {}
                Standing::Locked => {
                    must_leave_an_admin(folk, by, person)?;
                    ended = folk.end_all(&person.name);
                }
                Standing::Removed => {
                    must_leave_an_admin(folk, by, person)?;
                    ended = folk.end_all(&person.name);
                    forget_factors(&mut changed);
                }
            }
            changed.link = None;
            let change = PersonChange::StandingChanged { standing };
            Ok(Amendment::of(changed.clone(), change, changed).and(ended))
        })
        .await
    }

    /// Takes every way in from a person, tokens too, for when they lost theirs or someone else has it. Whoever an identity
    /// provider vouches for can come back by it, as the same person.
    ///
    /// # Errors
    /// If it is not the caller's to do.
    pub async fn reset_person(&self, by: By<'_>, id: PersonId) -> Result<Person, EngineError> {
        by.must_administer()?;
        self.amend_people(by, |folk| {
            let person = another(folk, by, id)?;
            let mut changed = person.clone();
            forget_factors(&mut changed);
            let ended = folk.end_all(&person.name);
            Ok(Amendment::of(changed.clone(), PersonChange::Reset, changed).and(ended))
        })
        .await
    }
}

/// The person that a change is about: nobody changes their own rights, so that it always takes two to widen them.
fn another<'a>(folk: &'a Folk, by: By<'_>, id: PersonId) -> Result<&'a Person, EngineError> {
    let person = folk.by_id(id)?;
    if by.name() == Some(&person.name) {
        return Err(EngineError::NotYours(
            "nobody changes their own rights: ask another administrator, or use `banksman user` on the server's machine"
                .into(),
        ));
    }
    Ok(person)
}

/// Whoever has the data folder can always add another; over the network, the last one stays.
fn must_leave_an_admin(folk: &Folk, by: By<'_>, without: &Person) -> Result<(), EngineError> {
    let is_admin =
        |person: &&Person| person.kind == PrincipalKind::Admin && person.standing == Standing::Active;
    let left = folk.people.iter().filter(is_admin).any(|person| person.id != without.id);
    if left || !is_admin(&without) || matches!(by, By::Operator) {
        Ok(())
    } else {
        Err(EngineError::Invalid(
            "nobody would be left to look after the house: add another administrator first".into(),
        ))
    }
}

fn forget_factors(person: &mut Person) {
    person.password = None;
    person.totp = None;
    person.recovery.clear();
    person.passkeys.clear();
    // Who they are to a provider stays known: else its word would make another person of them, who counts beside them.
    if let Some(subject) = &mut person.subject {
        subject.set_aside = true;
    }
    person.link = None;
    person.failures = Failures::default();
    person.own_failures = Failures::default();
}
