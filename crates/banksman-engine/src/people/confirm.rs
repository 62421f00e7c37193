//! Confirming that someone is a person of their own.
//!
//! Whoever invites someone holds the link that makes them, and could use it. Until an administrator who was not brought in by
//! the same hand has said that there is another person, the two do not count as two (see [`crate::rights::Behind`]).

use banksman_core::{PersonChange, PersonId, Standing};
use banksman_store::Person;

use super::{Amendment, By};
use crate::rights::Behind;
use crate::{Engine, EngineError};

impl Engine {
    /// Says that someone is a person of their own, and not whoever brought them in.
    ///
    /// # Errors
    /// If it is not the caller's to say, or there is nothing to confirm.
    pub async fn confirm_person(&self, by: By<'_>, id: PersonId) -> Result<Person, EngineError> {
        by.must_administer()?;
        self.amend_people(by, |folk| {
            let person = folk.by_id(id)?;
            if person.standing == Standing::Removed || person.brought_by.is_none() {
                return Err(EngineError::Invalid(format!(
                    "there is nothing to confirm: {:?} {}",
                    person.name,
                    if person.brought_by.is_none() { "counts as a person of their own" } else { "was removed" }
                )));
            }
            if by.name().is_some_and(|name| Behind::of(&folk.people).may_be_one(name, &person.name)) {
                return Err(EngineError::NotYours(format!(
                    "whoever brought {:?} in, and whoever came in by the same hand, cannot confirm them: ask another \
                     administrator, or use `banksman user confirm` on the server's machine",
                    person.name
                )));
            }
            let changed = Person { brought_by: None, ..person.clone() };
            Ok(Amendment::of(changed.clone(), PersonChange::Confirmed, changed))
        })
        .await
    }
}
