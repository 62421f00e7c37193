//! Signing in by the word of an identity provider.

use banksman_core::{PersonChange, PersonId, PrincipalKind, SignInMethod, Standing};
use banksman_store::{Failures, Person, Subject};

use super::sessions::NewSession;
use super::{Amendment, By, Folk};
use crate::credentials::is_name;
use crate::{Engine, EngineError, IssuedToken, ids};

/// Someone whom a provider vouches for, and what they may by the operator's table.
#[derive(Debug, Clone)]
pub struct VouchedFor {
    /// Who they are to the provider.
    pub subject: Subject,
    /// Their name here, if they are new.
    pub name: String,
    /// Reviewer or administrator.
    pub kind: PrincipalKind,
    /// What they may approve.
    pub roles: Vec<String>,
}

impl Engine {
    /// Signs in someone whom a provider vouches for. Whoever is new is added; what they may is what the provider's word is
    /// worth now, and if that changed, sessions with the old rights end.
    ///
    /// # Errors
    /// If they are locked or removed, or their name belongs to someone else here: a provider does not choose who is whom.
    pub async fn sign_in_vouched(
        &self,
        vouched: VouchedFor,
        browser: &str,
    ) -> Result<IssuedToken, EngineError> {
        if !is_name(&vouched.name) || vouched.name.trim() != vouched.name {
            return Err(EngineError::NotProved("the provider's name for you cannot be a name here".into()));
        }
        let (millis, entropy) = ids::fresh(self.clock.now())?;
        let session = NewSession::new(browser)?;
        self.amend_people(By::Operator, |folk| {
            let known = folk.people.iter().find(|person| person.subject.as_ref() == Some(&vouched.subject));
            let (person, mut changes) = match known {
                Some(person) if person.standing != Standing::Active => {
                    return Err(EngineError::Unauthenticated);
                }
                Some(person) => (person.clone(), Vec::new()),
                None => newcomer(folk, &vouched, PersonId::from_parts(millis, entropy))?,
            };
            let mut ended = Vec::new();
            if (person.kind, &person.roles) != (vouched.kind, &vouched.roles) {
                ended = folk.end_sessions(&person.name);
                changes
                    .push(PersonChange::RightsChanged { kind: vouched.kind, roles: vouched.roles.clone() });
            }
            let person = Person { kind: vouched.kind, roles: vouched.roles.clone(), ..person };
            let (control, signed_in, token) = session.begin(&person, SignInMethod::Oidc, folk.now);
            changes.push(signed_in);
            let changes = changes.into_iter().map(|change| (person.name.clone(), change)).collect();
            ended.push(control);
            let amendment = Amendment {
                people: vec![person.clone()],
                control: ended,
                changes,
                actor: None,
                answer: token,
            };
            Ok(amendment.by(&person))
        })
        .await
    }
}

/// Someone whom nobody here knew. A name that is anybody's, also of a token only, is not given to them.
fn newcomer(
    folk: &Folk,
    vouched: &VouchedFor,
    id: PersonId,
) -> Result<(Person, Vec<PersonChange>), EngineError> {
    let taken =
        folk.by_name(&vouched.name).is_ok() || folk.credentials.iter().any(|held| held.name == vouched.name);
    if taken {
        return Err(EngineError::NotProved(format!(
            "the name {:?} belongs to someone else here; ask an administrator",
            vouched.name
        )));
    }
    let person = Person {
        id,
        name: vouched.name.clone(),
        display_name: None,
        kind: vouched.kind,
        roles: vouched.roles.clone(),
        standing: Standing::Active,
        created_at: folk.now,
        password: None,
        totp: None,
        recovery: Vec::new(),
        passkeys: Vec::new(),
        subject: Some(vouched.subject.clone()),
        link: None,
        failures: Failures::default(),
    };
    let added = PersonChange::Added { kind: vouched.kind, roles: vouched.roles.clone() };
    Ok((person, vec![added]))
}
