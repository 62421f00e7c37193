//! Who comes in: authenticating, issuing and revoking credentials.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, Digest, Principal, PrincipalKind, Standing, Timestamp, TokenId};
use banksman_store::{Commit, ControlChange, Credential, Person};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::flight::SharedRead;
use crate::house::UnderRules;
use crate::people::SESSION_PREFIX;
use crate::rights::{Rights, limited, standing_for};
use crate::{Engine, EngineError, ids};

/// For how long a credential is believed without asking the store again. This delay concerns reading only: whatever
/// changes state asks again whenever the epoch, which a revocation raises, is another.
const BELIEVED_FOR: Duration = Duration::from_secs(1);

/// More than this many are not remembered at once.
const REMEMBERED: usize = 4096;

/// Credentials that were shown recently.
#[derive(Default)]
pub(crate) struct KnownCredentials {
    known: Mutex<HashMap<Digest, (Arc<Principal>, Timestamp)>>,
    rights: ArcSwap<Rights>,
    reading: SharedRead,
}

/// A credential to be issued.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Its kind.
    pub kind: PrincipalKind,
    /// Whose it is.
    pub name: String,
    /// For agents: the person whose agent it is.
    pub owner: Option<String>,
    /// For people: their roles.
    pub roles: Vec<String>,
    /// For how long.
    pub lifetime: Option<Duration>,
}

/// A credential that was just issued. The secret is shown this once and is not stored.
#[derive(Clone)]
pub struct IssuedToken {
    /// Its id.
    pub id: TokenId,
    /// The secret.
    pub secret: String,
}

impl std::fmt::Debug for IssuedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedToken").field("id", &self.id).field("secret", &"[hidden]").finish()
    }
}

/// What people, agents and roles may be called.
pub(crate) fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= 128 && !text.chars().any(char::is_control)
}

impl NewToken {
    fn validated(self) -> Result<Self, EngineError> {
        if !is_name(&self.name) {
            return Err(EngineError::Invalid(
                "a name has 1 to 128 characters and no control characters".into(),
            ));
        }
        if self.owner.is_some() && self.kind != PrincipalKind::Agent {
            return Err(EngineError::Invalid("only an agent has an owner".into()));
        }
        if self.owner.as_deref().is_some_and(|owner| !is_name(owner))
            || !self.roles.iter().all(|role| is_name(role))
        {
            return Err(EngineError::Invalid("owners and roles are names too".into()));
        }
        if !self.roles.is_empty() && self.kind == PrincipalKind::Agent {
            return Err(EngineError::Invalid("an agent has no roles: it never decides".into()));
        }
        Ok(self)
    }

    /// Says what it is, so that a leaked one can be found and recognised.
    fn prefix(&self) -> &'static str {
        match self.kind {
            PrincipalKind::Agent => "bkm_agent_",
            PrincipalKind::Reviewer => "bkm_reviewer_",
            PrincipalKind::Admin => "bkm_admin_",
        }
    }
}

impl Engine {
    /// Who shows this token. A session is no token: what a browser keeps opens no API.
    ///
    /// # Errors
    /// [`EngineError::Unauthenticated`] if nobody, or nobody any more.
    pub async fn authenticate(&self, secret: &str) -> Result<Arc<Principal>, EngineError> {
        if secret.starts_with(SESSION_PREFIX) {
            return Err(EngineError::Unauthenticated);
        }
        self.recognise(secret).await
    }

    /// Who shows this session. A token is no session: it cannot be put into a browser.
    ///
    /// # Errors
    /// [`EngineError::Unauthenticated`] if nobody, or nobody any more.
    pub async fn authenticate_session(&self, secret: &str) -> Result<Arc<Principal>, EngineError> {
        if !secret.starts_with(SESSION_PREFIX) {
            return Err(EngineError::Unauthenticated);
        }
        self.recognise(secret).await
    }

    async fn recognise(&self, secret: &str) -> Result<Arc<Principal>, EngineError> {
        let hash = Digest::of(secret.as_bytes());
        let now = self.clock.now();
        if let Some(principal) = self.credentials.recent(&hash, now) {
            return Ok(principal);
        }
        let credential = self.store.credential(hash).await?.filter(|credential| credential.is_live(now));
        let principal = match credential {
            Some(credential) if credential.kind.decides() => {
                limited(&credential, self.store.person(&credential.name).await?.as_ref())
            }
            Some(credential) => Some(credential.principal()),
            None => None,
        };
        match principal {
            Some(principal) => Ok(self.credentials.believe(hash, principal, now)),
            None => {
                self.credentials.forget(&hash);
                Err(EngineError::Unauthenticated)
            }
        }
    }

    /// The agent of this name, by any credential of its that is still live: for work that is done in its name while it
    /// is away.
    ///
    /// # Errors
    /// [`EngineError::Unauthenticated`] if it has none left.
    pub async fn agent_named(&self, name: &str) -> Result<Principal, EngineError> {
        let now = self.clock.now();
        let credentials = self.store.credentials().await?;
        credentials
            .iter()
            .find(|held| held.kind == PrincipalKind::Agent && held.name == name && held.is_live(now))
            .map(Credential::principal)
            .ok_or(EngineError::Unauthenticated)
    }

    /// The person of this name, with the rights that the house and their live credentials give them: for what they do
    /// where they show none, and someone else vouches for who they are.
    ///
    /// # Errors
    /// [`EngineError::Unauthenticated`] if they have none left.
    pub async fn person_named(&self, name: &str) -> Result<Principal, EngineError> {
        // A reviewer wherever a decision is taken: nothing that only administrators do is done this way.
        let kind = PrincipalKind::Reviewer;
        let (token, mut roles) = match self.store.person(name).await? {
            Some(person) if person.standing == Standing::Active => (standing_for(&person), person.roles),
            Some(_) => return Err(EngineError::Unauthenticated),
            None => {
                let now = self.clock.now();
                let mut held = self.store.credentials().await?;
                held.retain(|held| held.kind.decides() && held.name == name && held.is_live(now));
                let newest = held.last().ok_or(EngineError::Unauthenticated)?.id;
                (newest, held.into_iter().flat_map(|held| held.roles).collect())
            }
        };
        roles.sort();
        roles.dedup();
        Ok(Principal { token, kind, name: name.to_owned(), owner: None, roles })
    }

    /// Issues a credential.
    ///
    /// # Errors
    /// If it makes no sense, would give a person of the house more than they may, or cannot be stored.
    pub async fn issue_token(&self, new: NewToken, by: Actor) -> Result<IssuedToken, EngineError> {
        if new.kind.decides()
            && let Some(person) = self.store.person(&new.name).await?
        {
            check_within(&new, &person)?;
        }
        let (issued, change, event) = mint(new, by, self.clock.now())?;
        self.change_house(change, event).await?;
        Ok(issued)
    }

    /// Issues credentials if there are none yet: all of them, and of any number of nodes that ask at once only to one.
    ///
    /// # Errors
    /// As [`Engine::issue_token`].
    pub async fn issue_first_tokens(
        &self,
        new: &[NewToken],
        by: &Actor,
    ) -> Result<Option<Vec<IssuedToken>>, EngineError> {
        self.commit_under_rules(None, move |rules| async move {
            if !self.store.credentials().await?.is_empty() {
                return Ok(UnderRules::Nothing(None));
            }
            let mut commit = Commit { control_epoch: Some(rules.epoch), ..Commit::default() };
            let mut issued = Vec::with_capacity(new.len());
            for new in new {
                let (token, change, event) = mint(new.clone(), by.clone(), self.clock.now())?;
                issued.push(token);
                commit.control.push(change);
                commit.events.push(event);
            }
            Ok(UnderRules::Write(Box::new(commit), Some(issued)))
        })
        .await
    }

    /// All credentials, without their secrets.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn tokens(&self) -> Result<Vec<Credential>, EngineError> {
        Ok(self.store.credentials().await?)
    }

    /// Revokes a credential, at once.
    ///
    /// # Errors
    /// If there is none such.
    pub async fn revoke_token(&self, id: TokenId, by: Actor) -> Result<(), EngineError> {
        let known = self.store.credentials().await?;
        let credential = known.iter().find(|credential| credential.id == id).ok_or(EngineError::NotFound)?;
        if credential.revoked_at.is_some() {
            return Ok(());
        }
        let now = self.clock.now();
        let event = Event::general(now, by, Fact::TokenRevoked { token: id });
        self.change_house(ControlChange::RevokeCredential { id, at: now }, event).await?;
        self.credentials.forget(&credential.secret_hash);
        Ok(())
    }

    /// Writes a change of the house rules that does not depend on what they were.
    pub(crate) async fn change_house(&self, change: ControlChange, event: Event) -> Result<(), EngineError> {
        self.commit_unguarded(Commit { control: vec![change], events: vec![event], ..Commit::default() })
            .await?;
        self.reload_control().await
    }

    /// Whether someone who came in a while ago is still welcome, for answers that go on for long.
    ///
    /// # Errors
    /// [`EngineError::Unauthenticated`] if not.
    pub async fn still_welcome(&self, principal: &Principal) -> Result<(), EngineError> {
        self.reload_control().await?;
        self.confirm(principal, self.control.load().epoch).await
    }

    /// Whether a credential that was shown a moment ago is valid under the house rules of `epoch`.
    ///
    /// A revocation may come between showing a credential and using it, and whoever guards the newest epoch would
    /// not notice. The store is asked after the epoch was read, so what it says of the credential is at least as
    /// new; and if it says something else later, the guard fails.
    pub(crate) async fn confirm(&self, principal: &Principal, epoch: u64) -> Result<(), EngineError> {
        let now = self.clock.now();
        let is_covered = || self.credentials.rights.load().cover(principal, epoch, now);
        if is_covered() {
            return Ok(());
        }
        self.credentials.reading.after_now(async || self.read_rights(now).await).await?;
        if is_covered() { Ok(()) } else { Err(EngineError::Unauthenticated) }
    }

    /// Reads what everyone may: once for all who ask at the same time.
    async fn read_rights(&self, now: Timestamp) -> Result<(), EngineError> {
        // The epoch first: what is read after it is at least as new.
        let epoch = self.control.load().epoch;
        let (credentials, people) = (self.store.credentials().await?, self.store.people().await?);
        self.credentials.forget_all();
        self.credentials.rights.store(Arc::new(Rights::of(epoch, &credentials, &people, now)));
        Ok(())
    }
}

/// A token never gives more than its owner may. It would be held to that when it is shown; whoever makes it should know.
fn check_within(new: &NewToken, person: &Person) -> Result<(), EngineError> {
    let name = &person.name;
    if person.standing != Standing::Active {
        return Err(EngineError::Invalid(format!(
            "{name:?} is {}: there are no tokens for them",
            person.standing
        )));
    }
    let beyond: Vec<&str> =
        new.roles.iter().filter(|role| !person.roles.contains(role)).map(String::as_str).collect();
    let is_admin_only = new.kind == PrincipalKind::Admin && person.kind != PrincipalKind::Admin;
    if is_admin_only || !beyond.is_empty() {
        let what =
            if is_admin_only { "an administrator".to_owned() } else { format!("of {}", beyond.join(", ")) };
        return Err(EngineError::Invalid(format!(
            "{name:?} is not {what}, and a token never gives more than its owner may: change their rights first (`banksman \
             user roles`)"
        )));
    }
    Ok(())
}

/// A new credential, and what there is to store of it.
fn mint(
    new: NewToken,
    by: Actor,
    now: Timestamp,
) -> Result<(IssuedToken, ControlChange, Event), EngineError> {
    let new = new.validated()?;
    let mut random = [0u8; 32];
    ids::fill(&mut random)?;
    let secret = format!("{}{}", new.prefix(), URL_SAFE_NO_PAD.encode(random));
    let (millis, entropy) = ids::fresh(now)?;
    let id = TokenId::from_parts(millis, entropy);
    let credential = Credential {
        id,
        secret_hash: Digest::of(secret.as_bytes()),
        kind: new.kind,
        name: new.name.clone(),
        owner: new.owner,
        roles: new.roles.clone(),
        created_at: now,
        expires_at: new.lifetime.map(|lifetime| now.after(lifetime)),
        revoked_at: None,
        session: None,
    };
    let fact = Fact::TokenIssued { token: id, kind: new.kind, name: new.name, roles: new.roles };
    let event = Event::general(now, by, fact);
    Ok((IssuedToken { id, secret }, ControlChange::AddCredential(credential), event))
}

impl KnownCredentials {
    /// The roles that a person has of their own; nothing if there is no such person.
    ///
    /// For those who have just been confirmed: then what is known here is at least as new as the rules they go by.
    pub(crate) fn roles_of(&self, name: &str, now: Timestamp) -> Option<Vec<String>> {
        self.rights.load().roles_of(name, now)
    }

    /// Who brought a person in, if nobody independent has confirmed them. For those who have just been confirmed, too.
    pub(crate) fn behind(&self, name: &str) -> Option<String> {
        self.rights.load().behind(name)
    }

    fn recent(&self, hash: &Digest, now: Timestamp) -> Option<Arc<Principal>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (principal, at) = known.get(hash)?;
        // A clock that went backwards makes everything look recent: then ask again.
        (now >= *at && now.since(*at) < BELIEVED_FOR).then(|| Arc::clone(principal))
    }

    fn believe(&self, hash: Digest, principal: Principal, now: Timestamp) -> Arc<Principal> {
        let principal = Arc::new(principal);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(hash, (Arc::clone(&principal), now));
        principal
    }

    fn forget(&self, hash: &Digest) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(hash);
    }

    pub(crate) fn forget_all(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
