//! Who comes in: authenticating, issuing and revoking credentials.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, Digest, Principal, PrincipalKind, Standing, Timestamp, TokenId};
use banksman_store::{Commit, CommitError, Conflict, ControlChange, Credential, Person};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::advance::TRIES;
use crate::people::SESSION_PREFIX;
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
    live: ArcSwap<LiveTokens>,
}

/// The credentials that were live under the house rules of an epoch, and when each ends.
#[derive(Default)]
struct LiveTokens {
    epoch: u64,
    ends: HashMap<TokenId, Option<Timestamp>>,
    /// The roles of people, by name.
    roles: HashMap<String, Vec<HeldRoles>>,
}

/// What one credential of a person lets them approve, and until when.
#[derive(Clone)]
struct HeldRoles {
    roles: Vec<String>,
    until: Option<Timestamp>,
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
        let credential = self.store.credential(hash).await?;
        match credential.filter(|credential| credential.is_live(now)) {
            Some(credential) => Ok(self.credentials.believe(hash, credential.principal(), now)),
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
        let now = self.clock.now();
        let credentials = self.store.credentials().await?;
        let held: Vec<&Credential> = credentials
            .iter()
            .filter(|held| held.kind.decides() && held.name == name && held.is_live(now))
            .collect();
        let person = self.store.people().await?.into_iter().find(|person| person.name == name);
        let mut roles: Vec<String> = held.iter().flat_map(|held| held.roles.iter().cloned()).collect();
        let principal = match (person, held.last()) {
            (Some(person), _) if person.standing != Standing::Active || !person.kind.decides() => {
                return Err(EngineError::Unauthenticated);
            }
            (Some(person), _) => {
                let token = standing_for(&person);
                roles.extend(person.roles);
                Principal { token, kind: person.kind, name: person.name, owner: None, roles: Vec::new() }
            }
            (None, Some(newest)) => newest.principal(),
            (None, None) => return Err(EngineError::Unauthenticated),
        };
        roles.sort();
        roles.dedup();
        // A reviewer wherever a decision is taken: nothing that only administrators do is done this way.
        Ok(Principal { kind: PrincipalKind::Reviewer, roles, ..principal })
    }

    /// Issues a credential.
    ///
    /// # Errors
    /// If it makes no sense, or cannot be stored.
    pub async fn issue_token(&self, new: NewToken, by: Actor) -> Result<IssuedToken, EngineError> {
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
        for _ in 0..TRIES {
            // The epoch before the credentials: whoever adds one in between raises it, and the guard fails.
            let epoch = self.store.control().await?.epoch;
            if !self.store.credentials().await?.is_empty() {
                return Ok(None);
            }
            let mut commit = Commit { control_epoch: Some(epoch), ..Commit::default() };
            let mut issued = Vec::with_capacity(new.len());
            for new in new {
                let (token, change, event) = mint(new.clone(), by.clone(), self.clock.now())?;
                issued.push(token);
                commit.control.push(change);
                commit.events.push(event);
            }
            match self.store.commit(commit).await {
                Ok(committed) => {
                    self.live.advance(committed.last_seq);
                    self.reload_control().await?;
                    return Ok(Some(issued));
                }
                Err(CommitError::Conflict(Conflict::ControlMoved)) => {}
                Err(error) => return Err(EngineError::unguarded(error)),
            }
        }
        Err(EngineError::Internal("the house rules kept changing".into()))
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
        let commit = Commit { control: vec![change], events: vec![event], ..Commit::default() };
        let committed = self.store.commit(commit).await.map_err(EngineError::unguarded)?;
        self.live.advance(committed.last_seq);
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
        if self.credentials.is_live(principal.token, epoch, now) {
            return Ok(());
        }
        let credentials = self.store.credentials().await?;
        let mut ends = HashMap::new();
        let mut roles: HashMap<String, Vec<_>> = HashMap::new();
        for credential in credentials.into_iter().filter(|credential| credential.is_live(now)) {
            ends.insert(credential.id, credential.expires_at);
            if credential.kind.decides() {
                let held = HeldRoles { roles: credential.roles, until: credential.expires_at };
                roles.entry(credential.name).or_default().push(held);
            }
        }
        // People have their roles also while no browser of theirs is signed in.
        for person in
            self.store.people().await?.into_iter().filter(|person| person.standing == Standing::Active)
        {
            ends.insert(standing_for(&person), None);
            let held = HeldRoles { roles: person.roles, until: None };
            roles.entry(person.name).or_default().push(held);
        }
        let valid = ends.contains_key(&principal.token);
        self.credentials.forget_all();
        self.credentials.live.rcu(|known| {
            if known.epoch > epoch {
                Arc::clone(known)
            } else {
                Arc::new(LiveTokens { epoch, ends: ends.clone(), roles: roles.clone() })
            }
        });
        if valid { Ok(()) } else { Err(EngineError::Unauthenticated) }
    }
}

/// What stands for a person of this house where they show no credential: live as long as they are active.
fn standing_for(person: &Person) -> TokenId {
    TokenId::from_bytes(person.id.to_bytes())
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
    /// Only a yes is an answer: a credential may be newer than what is known here.
    fn is_live(&self, token: TokenId, epoch: u64, now: Timestamp) -> bool {
        let live = self.live.load();
        live.epoch >= epoch && live.ends.get(&token).is_some_and(|end| end.is_none_or(|end| now < end))
    }

    /// The roles that a person has of their own, by any of their live credentials; nothing if there is no such person.
    ///
    /// For those who have just been confirmed: then what is known here is at least as new as the rules they go by.
    pub(crate) fn roles_of(&self, name: &str, now: Timestamp) -> Option<Vec<String>> {
        let live = self.live.load();
        let mut held = live
            .roles
            .get(name)?
            .iter()
            .filter(|held| held.until.is_none_or(|end| now < end))
            .map(|held| &held.roles)
            .peekable();
        held.peek()?;
        let mut roles: Vec<String> = held.flatten().cloned().collect();
        roles.sort();
        roles.dedup();
        Some(roles)
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
