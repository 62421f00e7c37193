//! Signing in by the word of an identity provider.

use banksman_core::{Factor, PersonChange, PersonId, PrincipalKind, SignInMethod, Standing};
use banksman_store::{Person, Subject};

use super::factors::fact;
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
    /// worth now, and if that changed, sessions with the old rights end. Whoever was reset is who they were; the invitation
    /// that went with it is over, and so is what was set up by it.
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
            let is_theirs = |subject: &Subject| subject.is(&vouched.subject);
            let known = folk.people.iter().find(|person| person.subject.as_ref().is_some_and(is_theirs));
            let (person, mut changes) = match known {
                Some(person) if person.standing != Standing::Active => {
                    return Err(EngineError::Unauthenticated);
                }
                Some(person) => came_back(person),
                None => newcomer(folk, &vouched, PersonId::from_parts(millis, entropy))?,
            };
            if (person.kind, &person.roles) != (vouched.kind, &vouched.roles) {
                changes
                    .push(PersonChange::RightsChanged { kind: vouched.kind, roles: vouched.roles.clone() });
            }
            // No session outlasts the rights or the factors that it began with.
            let mut ended = if changes.is_empty() { Vec::new() } else { folk.end_sessions(&person.name) };
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

/// Someone who comes by the provider again, and what they no longer have. If they had been reset, it is their way in from now on,
/// and nobody else's link is: whoever made that link may have accepted it, and would stay inside an account that is no longer
/// counted with theirs.
fn came_back(person: &Person) -> (Person, Vec<PersonChange>) {
    let Some(subject) = person.subject.clone().filter(|subject| subject.set_aside) else {
        return (person.clone(), Vec::new());
    };
    let had = [
        person.password.as_ref().map(|_| Factor::Password),
        person.totp.as_ref().map(|_| Factor::Totp),
        (!person.recovery.is_empty()).then_some(Factor::RecoveryCodes),
    ];
    let withdrawn = had.into_iter().flatten().chain(person.passkeys.iter().map(fact));
    let changes = withdrawn.map(|factor| PersonChange::Withdrawn { factor }).collect();
    let person = Person {
        subject: Some(Subject { set_aside: false, ..subject }),
        password: None,
        totp: None,
        recovery: Vec::new(),
        passkeys: Vec::new(),
        link: None,
        brought_by: None,
        ..person.clone()
    };
    (person, changes)
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
        subject: Some(vouched.subject.clone()),
        ..Person::new(id, vouched.name.clone(), vouched.kind, vouched.roles.clone(), folk.now)
    };
    let added = PersonChange::Added { kind: vouched.kind, roles: vouched.roles.clone() };
    Ok((person, vec![added]))
}
