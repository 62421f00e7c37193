//! People: who there is, what they may, and how they prove that it is them.
//!
//! Every change is computed on everyone as they are and guarded by the epoch of people, so of two that meet the second is
//! computed again: a link is used once, a code is used once, and no failed attempt is forgotten. What changes nobody's rights
//! leaves the epoch of the house rules alone: strangers who try to sign in make nobody else's commit start again.

mod accept;
mod browsers;
mod confirm;
mod desk;
mod factors;
mod links;
mod manage;
mod passkeys;
mod password;
mod sessions;
mod step_up;
mod vouched;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, PersonChange, PersonId, Principal, PrincipalKind, Standing, Timestamp};
use banksman_store::{Commit, ControlChange, Credential, Person};

pub use accept::{AcceptedInvitation, FirstFactor};
pub use browsers::BrowserMark;
pub use factors::NewPassword;
pub use links::IssuedLink;
pub use manage::NewPerson;
pub use passkeys::{PasskeyAnswer, PasskeyQuestion, PasskeyRegistration};
pub use password::PasswordAttempt;
pub use sessions::SessionInfo;
pub use step_up::StepUpQuestion;
pub use vouched::VouchedFor;

pub(crate) use desk::IdentityDesk;
pub(crate) use sessions::SESSION_PREFIX;

use crate::house::UnderRules;
use crate::{Engine, EngineError};

/// Who changes something about people.
#[derive(Debug, Clone, Copy)]
pub enum By<'a> {
    /// Someone at the machine.
    Operator,
    /// Someone who came in.
    Person(&'a Principal),
}

impl<'a> By<'a> {
    fn principal(&self) -> Option<&'a Principal> {
        match self {
            Self::Operator => None,
            Self::Person(principal) => Some(principal),
        }
    }

    fn actor(&self) -> Actor {
        match self {
            Self::Operator => Actor::Operator,
            Self::Person(principal) => Actor::from(*principal),
        }
    }

    /// People are looked after by administrators.
    fn must_administer(&self) -> Result<(), EngineError> {
        match self {
            Self::Operator | Self::Person(Principal { kind: PrincipalKind::Admin, .. }) => Ok(()),
            Self::Person(_) => Err(EngineError::NotYours("only administrators look after people".into())),
        }
    }

    fn name(&self) -> Option<&str> {
        self.principal().map(|principal| principal.name.as_str())
    }
}

/// Everyone, and all that they came in with, at one moment.
pub(crate) struct Folk {
    people: Vec<Person>,
    credentials: Vec<Credential>,
    now: Timestamp,
}

impl Folk {
    fn by_id(&self, id: PersonId) -> Result<&Person, EngineError> {
        self.people.iter().find(|person| person.id == id).ok_or(EngineError::NotFound)
    }

    fn by_name(&self, name: &str) -> Result<&Person, EngineError> {
        self.people.iter().find(|person| person.name == name).ok_or(EngineError::NotFound)
    }

    /// Someone who may come in.
    fn active(&self, name: &str) -> Result<&Person, EngineError> {
        self.by_name(name)
            .ok()
            .filter(|person| person.standing == Standing::Active)
            .ok_or(EngineError::Unauthenticated)
    }

    /// The credentials of a person that still work.
    fn live<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Credential> {
        self.credentials
            .iter()
            .filter(move |held| held.kind.decides() && held.name == name && held.is_live(self.now))
    }

    /// Ends the sessions of a person.
    fn end_sessions(&self, name: &str) -> Vec<ControlChange> {
        self.end_those(name, |held| held.session.is_some())
    }

    /// Ends the sessions of whoever asks, but for the one that they ask by.
    fn end_other_sessions(&self, asking: &Principal) -> Vec<ControlChange> {
        self.end_those(&asking.name, |held| held.session.is_some() && held.id != asking.token)
    }

    /// Ends everything that a person came in with, tokens too.
    fn end_all(&self, name: &str) -> Vec<ControlChange> {
        self.end_those(name, |_| true)
    }

    fn end_those(&self, name: &str, which: impl Fn(&Credential) -> bool) -> Vec<ControlChange> {
        let ending = self.live(name).filter(|held| which(held));
        ending.map(|held| ControlChange::RevokeCredential { id: held.id, at: self.now }).collect()
    }

    /// What there is to write of someone. Whoever goes by people's rights has to look again only if those changed.
    fn written(&self, person: Person) -> ControlChange {
        let before = self.by_id(person.id);
        if before.is_ok_and(|before| person.may_the_same_as(before)) {
            ControlChange::NotePerson(Box::new(person))
        } else {
            ControlChange::PutPerson(Box::new(person))
        }
    }
}

/// What is to be changed about people.
pub(crate) struct Amendment<T> {
    people: Vec<Person>,
    control: Vec<ControlChange>,
    changes: Vec<(String, PersonChange)>,
    /// Who did it, if not who asked: whoever signs in is nobody until they have.
    actor: Option<Actor>,
    answer: T,
}

impl<T> Amendment<T> {
    fn of(person: Person, change: PersonChange, answer: T) -> Self {
        let changes = vec![(person.name.clone(), change)];
        Self { people: vec![person], control: Vec::new(), changes, actor: None, answer }
    }

    fn and(mut self, control: impl IntoIterator<Item = ControlChange>) -> Self {
        self.control.extend(control);
        self
    }

    fn also(mut self, person: &str, change: PersonChange) -> Self {
        self.changes.push((person.to_owned(), change));
        self
    }

    fn by(self, person: &Person) -> Self {
        Self { actor: Some(actor_of(person)), ..self }
    }
}

fn actor_of(person: &Person) -> Actor {
    let name = person.name.clone();
    match person.kind {
        PrincipalKind::Admin => Actor::Admin { name },
        PrincipalKind::Reviewer | PrincipalKind::Agent => Actor::Reviewer { name },
    }
}

impl Engine {
    /// Changes something about people: computed on everyone as they are, and again if that changes meanwhile.
    async fn amend_people<T: Send>(
        &self,
        by: By<'_>,
        plan: impl Fn(&Folk) -> Result<Amendment<T>, EngineError> + Send + Sync,
    ) -> Result<T, EngineError> {
        let (asking, plan) = (by.principal(), &plan);
        self.commit_under_rules(asking, move |rules| async move {
            let folk = Folk {
                people: self.store.people().await?,
                credentials: self.store.credentials().await?,
                now: self.clock.now(),
            };
            let Amendment { people, mut control, changes, actor, answer } = plan(&folk)?;
            let actor = actor.unwrap_or_else(|| by.actor());
            control.extend(people.into_iter().map(|person| folk.written(person)));
            let event =
                |(person, change)| Event::general(folk.now, actor.clone(), Fact::Person { person, change });
            let commit = Commit {
                // Whoever is at the machine goes by no rights that the house rules could take away.
                control_epoch: asking.map(|_| rules.epoch),
                people_epoch: Some(rules.people_epoch),
                control,
                events: changes.into_iter().map(event).collect(),
                ..Commit::default()
            };
            Ok(UnderRules::Write(Box::new(commit), answer))
        })
        .await
    }

    /// Everyone, also those who were removed.
    ///
    /// # Errors
    /// If it is not for the caller to know, or the store cannot be read.
    pub async fn people(&self, by: By<'_>) -> Result<Vec<Person>, EngineError> {
        by.must_administer()?;
        Ok(self.store.people().await?)
    }

    /// One person, for administrators.
    ///
    /// # Errors
    /// As [`Engine::people`], or if there is none such.
    pub async fn person(&self, by: By<'_>, id: PersonId) -> Result<Person, EngineError> {
        let people = self.people(by).await?;
        people.into_iter().find(|person| person.id == id).ok_or(EngineError::NotFound)
    }

    /// Oneself, if one is a person of this house and not only the holder of a token.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn oneself(&self, principal: &Principal) -> Result<Option<Person>, EngineError> {
        let person = self.store.person(&principal.name).await?;
        Ok(person.filter(|person| person.standing == Standing::Active))
    }
}
