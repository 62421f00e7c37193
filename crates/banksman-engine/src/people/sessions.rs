//! Browsers that signed in.

use std::time::Duration;

use banksman_core::{Digest, PersonChange, Principal, SignInMethod, Timestamp, TokenId};
use banksman_store::{ControlChange, Credential, Person, SessionMark};

use super::desk::secret;
use super::{Amendment, By, Folk};
use crate::{Engine, EngineError, IssuedToken, ids};

/// What the secret of a session begins with: it is no token, and no token is one.
pub(crate) const SESSION_PREFIX: &str = "bkm_session_";

/// How long a browser stays signed in.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);

/// How long after signing in someone may change how they sign in. A browser that was left open does not do.
const FRESH: Duration = Duration::from_secs(15 * 60);

/// What is kept of a browser's own words.
const BROWSER_CHARS: usize = 80;

/// A session, for its owner to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id.
    pub id: TokenId,
    /// How it was begun.
    pub method: SignInMethod,
    /// What the browser says that it is.
    pub browser: String,
    /// Since when.
    pub since: Timestamp,
    /// Until when.
    pub until: Option<Timestamp>,
    /// Whether it is the one that asks.
    pub is_this: bool,
}

/// A session to be begun: an id and a secret that nobody has seen before, so that none can be foisted on anyone.
pub(super) struct NewSession {
    entropy: u128,
    secret: String,
    hash: Digest,
    browser: String,
}

impl NewSession {
    pub(super) fn new(browser: &str) -> Result<Self, EngineError> {
        let (_, entropy) = ids::fresh(Timestamp::from_micros(0))?;
        let (secret, hash) = secret::<32>(SESSION_PREFIX)?;
        let browser = browser.chars().filter(|c| !c.is_control()).take(BROWSER_CHARS).collect();
        Ok(Self { entropy, secret, hash, browser })
    }

    /// Begins it with what the person may right now.
    pub(super) fn begin(
        &self,
        person: &Person,
        method: SignInMethod,
        now: Timestamp,
    ) -> (ControlChange, PersonChange, IssuedToken) {
        let id = TokenId::from_parts(now.as_millis(), self.entropy);
        let credential = Credential {
            id,
            secret_hash: self.hash,
            kind: person.kind,
            name: person.name.clone(),
            owner: None,
            roles: person.roles.clone(),
            created_at: now,
            expires_at: Some(now.after(LIFETIME)),
            revoked_at: None,
            session: Some(SessionMark { method, browser: self.browser.clone() }),
        };
        let token = IssuedToken { id, secret: self.secret.clone() };
        (ControlChange::AddCredential(credential), PersonChange::SignedIn { token: id, method }, token)
    }
}

impl Folk {
    /// The person who asks, if they signed in a moment ago.
    pub(super) fn freshly_signed_in(&self, principal: &Principal) -> Result<&Person, EngineError> {
        let person = self.active(&principal.name)?;
        let session = self.live(&principal.name).find(|held| held.id == principal.token);
        match session {
            Some(held) if held.session.is_some() && self.now.since(held.created_at) < FRESH => Ok(person),
            Some(_) | None => Err(EngineError::SignInAgain),
        }
    }
}

impl Engine {
    /// How long a session lasts.
    #[must_use]
    pub fn session_lifetime(&self) -> Duration {
        LIFETIME
    }

    /// The sessions of whoever asks, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn sessions(&self, principal: &Principal) -> Result<Vec<SessionInfo>, EngineError> {
        let now = self.clock.now();
        let info = |held: Credential| {
            let mark = held.session.filter(|_| held.name == principal.name)?;
            let is_this = held.id == principal.token;
            let (since, until) = (held.created_at, held.expires_at);
            Some(SessionInfo {
                id: held.id,
                method: mark.method,
                browser: mark.browser,
                since,
                until,
                is_this,
            })
        };
        let held = self.store.credentials().await?;
        let live = held.into_iter().filter(|held| held.is_live(now) && held.kind.decides());
        let mut sessions: Vec<SessionInfo> = live.filter_map(info).collect();
        sessions.reverse();
        Ok(sessions)
    }

    /// Ends one of one's own sessions.
    ///
    /// # Errors
    /// If it is not one's own.
    pub async fn end_session(&self, principal: &Principal, id: TokenId) -> Result<(), EngineError> {
        if !self.sessions(principal).await?.iter().any(|session| session.id == id) {
            return Err(EngineError::NotFound);
        }
        self.revoke_token(id, principal.into()).await
    }

    /// Ends all of one's own sessions, this one too.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub async fn sign_out_everywhere(&self, principal: &Principal) -> Result<(), EngineError> {
        self.amend_people(By::Person(principal), |folk| {
            let person = folk.by_name(&principal.name)?.clone();
            let ended = folk.end_sessions(&person.name);
            Ok(Amendment::of(person, PersonChange::SignedOutEverywhere, ()).and(ended))
        })
        .await
    }
}
