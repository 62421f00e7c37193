//! What proves who someone is, without the secret itself.

use banksman_core::{Digest, Principal, PrincipalKind, SignInMethod, Timestamp, TokenId};
use serde::{Deserialize, Serialize};

/// A credential as it is stored: the SHA-256 of the secret, never the secret.
///
/// The secrets are 256 random bits, so a fast hash is enough: there is nothing to guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its id.
    pub id: TokenId,
    /// The SHA-256 of the secret.
    pub secret_hash: Digest,
    /// Its kind.
    pub kind: PrincipalKind,
    /// Whose it is.
    pub name: String,
    /// For agents: the person whose agent it is.
    pub owner: Option<String>,
    /// For people: their roles.
    pub roles: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// For a browser that signed in: how.
    pub session: Option<SessionMark>,
}

/// How a browser signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMark {
    /// In which way.
    pub method: SignInMethod,
    /// What the browser says that it is, for its owner to recognise it by.
    pub browser: String,
}

impl Credential {
    /// Whether it can be used now.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Who shows it.
    #[must_use]
    pub fn principal(&self) -> Principal {
        Principal {
            token: self.id,
            kind: self.kind,
            name: self.name.clone(),
            owner: self.owner.clone(),
            roles: self.roles.clone(),
        }
    }
}
