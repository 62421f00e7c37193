//! Links that work once: to accept an invitation, or to sign in.

use std::time::Duration;

use banksman_core::{Digest, PersonChange, PersonId, SignInMethod, Standing, Timestamp};
use banksman_store::{Link, LinkPurpose, Person};

use super::desk::secret;
use super::sessions::NewSession;
use super::{Amendment, By, Folk};
use crate::{Engine, EngineError, IssuedToken};

/// An invitation may lie in a mailbox over a weekend.
const INVITATION: Duration = Duration::from_secs(72 * 3600);

/// A sign-in link is used at once.
const SIGN_IN: Duration = Duration::from_secs(15 * 60);

/// A link that was just made. Its code is shown this once and is not stored.
#[derive(Clone)]
pub struct IssuedLink {
    /// What the address carries.
    pub code: String,
    /// What it is for.
    pub purpose: LinkPurpose,
    /// Until when it works.
    pub expires_at: Timestamp,
}

impl IssuedLink {
    /// The address, on the server at `url`.
    #[must_use]
    pub fn address(&self, url: &str) -> String {
        let page = match self.purpose {
            LinkPurpose::Invitation => "join",
            LinkPurpose::SignIn => "sign-in",
        };
        format!("{}/{page}?code={}", url.trim_end_matches('/'), self.code)
    }
}

impl std::fmt::Debug for IssuedLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedLink").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}

impl Engine {
    /// Makes the link that lets a person set up their first way to sign in. It replaces any link before it.
    ///
    /// # Errors
    /// If it is not the caller's to do, they are locked or removed, or they can sign in already.
    pub async fn invite(&self, by: By<'_>, id: PersonId) -> Result<IssuedLink, EngineError> {
        by.must_administer()?;
        self.issue_link(by, id, LinkPurpose::Invitation, INVITATION).await
    }

    /// Makes a link that signs a person in. Only whoever is at the machine may: it opens another's account.
    ///
    /// # Errors
    /// If they are locked or removed.
    pub async fn sign_in_link(&self, id: PersonId) -> Result<IssuedLink, EngineError> {
        self.issue_link(By::Operator, id, LinkPurpose::SignIn, SIGN_IN).await
    }

    async fn issue_link(
        &self,
        by: By<'_>,
        id: PersonId,
        purpose: LinkPurpose,
        lifetime: Duration,
    ) -> Result<IssuedLink, EngineError> {
        let (code, hash) = secret::<24>("")?;
        self.amend_people(by, |folk| {
            let person = folk.by_id(id)?;
            if person.standing != Standing::Active {
                return Err(EngineError::Invalid(format!("{:?} is {}", person.name, person.standing)));
            }
            if purpose == LinkPurpose::Invitation && person.can_sign_in() {
                return Err(EngineError::Invalid(format!(
                    "{:?} can sign in already; to let them begin anew, reset them first",
                    person.name
                )));
            }
            let expires_at = folk.now.after(lifetime);
            let link = Link { hash, expires_at, purpose };
            let mut changed = Person { link: Some(link), ..person.clone() };
            if purpose == LinkPurpose::Invitation {
                // Whoever makes the link could be the one who comes by it. Who is at the machine could be anyone anyway.
                changed.brought_by = by.name().map(str::to_owned);
            }
            let change = match purpose {
                LinkPurpose::Invitation => PersonChange::Invited { expires_at },
                LinkPurpose::SignIn => PersonChange::LinkIssued { expires_at },
            };
            Ok(Amendment::of(changed, change, IssuedLink { code: code.clone(), purpose, expires_at }))
        })
        .await
    }

    /// Signs in whoever shows the code of a sign-in link; the code is gone afterwards.
    ///
    /// # Errors
    /// [`EngineError::Unauthenticated`] if it is none, or none any more.
    pub async fn sign_in_with_link(&self, code: &str, browser: &str) -> Result<IssuedToken, EngineError> {
        let session = NewSession::new(browser)?;
        self.amend_people(By::Operator, |folk| {
            let person = holder(folk, code, LinkPurpose::SignIn)?;
            let changed = Person { link: None, ..person.clone() };
            let (control, change, token) = session.begin(person, SignInMethod::Link, folk.now);
            Ok(Amendment::of(changed, change, token).and([control]).by(person))
        })
        .await
    }

    /// Whom an invitation is for, while it can be accepted.
    ///
    /// # Errors
    /// [`EngineError::Unauthenticated`] if it is none, or none any more.
    pub async fn invited(&self, code: &str) -> Result<Person, EngineError> {
        let folk =
            Folk { people: self.store.people().await?, credentials: Vec::new(), now: self.clock.now() };
        holder(&folk, code, LinkPurpose::Invitation).cloned()
    }
}

/// Whose link has this code.
pub(super) fn holder<'a>(
    folk: &'a Folk,
    code: &str,
    purpose: LinkPurpose,
) -> Result<&'a Person, EngineError> {
    let hash = Digest::of(code.as_bytes());
    let works = |link: &Link| link.hash == hash && link.purpose == purpose && folk.now < link.expires_at;
    folk.people
        .iter()
        .find(|person| person.standing == Standing::Active && person.link.as_ref().is_some_and(works))
        .ok_or(EngineError::Unauthenticated)
}
