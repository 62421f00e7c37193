//! People, and what they can show to prove that it is them.

use std::fmt;

use banksman_core::wire::PersonView;
use banksman_core::{Digest, PersonId, PrincipalKind, Standing, Timestamp};
use serde::{Deserialize, Serialize};

/// A person as they are stored. Nothing here lets anyone in who reads it: passwords and codes are hashes, the secret of an
/// authenticator app is sealed under a key that is not in the database, passkeys are public.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Their id.
    pub id: PersonId,
    /// Their name, by which they sign in and are known in votes and in the log. Nobody else ever gets it.
    pub name: String,
    /// What pages call them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Reviewer or administrator.
    pub kind: PrincipalKind,
    /// What they may approve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// How they stand with the house.
    pub standing: Standing,
    /// Since when.
    pub created_at: Timestamp,
    /// The argon2id hash of their password, in the PHC format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Hidden>,
    /// Their authenticator app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totp: Option<Totp>,
    /// Hashes of recovery codes that were not used yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<Digest>,
    /// Their passkeys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passkeys: Vec<Passkey>,
    /// Who they are to an identity provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The one link that lets them in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Who brought them in: whoever made the link by which they came holds the same link. Gone once somebody else has
    /// confirmed that they are another person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought_by: Option<String>,
    /// Sign-ins with a password that failed since the last that did not, from wherever.
    #[serde(default)]
    pub failures: Failures,
    /// The same from browsers that they had signed in with before. Strangers have none of these, and so do not hold them back.
    #[serde(default, skip_serializing_if = "Failures::is_none")]
    pub own_failures: Failures,
}

/// An authenticator app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totp {
    /// Its secret, sealed.
    pub sealed: Hidden,
    /// The step of the last code that was used: neither it nor an older one is taken again.
    pub last_step: u64,
}

/// A passkey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkey {
    /// The credential's id, in base64url.
    pub id: String,
    /// The public key as COSE, in base64url.
    pub key: String,
    /// The site that it is for.
    pub rp_id: String,
    /// How many signatures it counted last; many count none.
    pub count: u32,
    /// What its owner calls it.
    pub label: String,
    /// Since when.
    pub added_at: Timestamp,
}

/// Who someone is to an identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The provider.
    pub issuer: String,
    /// Its name for them, which it never gives to another.
    pub subject: String,
    /// After a reset: they are still known by it, but it is no way in that counts before they come by it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub set_aside: bool,
}

impl Subject {
    /// Whether it is the same person of the same provider.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.issuer == other.issuer && self.subject == other.subject
    }
}

/// A link that works once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The SHA-256 of its code, which has 192 random bits.
    pub hash: Digest,
    /// Until when it works.
    pub expires_at: Timestamp,
    /// What for.
    pub purpose: LinkPurpose,
}

/// What a link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkPurpose {
    /// Sets up a first way to sign in.
    Invitation,
    /// Signs in.
    SignIn,
}

/// Sign-ins that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Failures {
    /// How many in a row.
    pub count: u32,
    /// When the next may be tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

impl Failures {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A text that is stored and never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

impl Person {
    /// What administrators see of them.
    #[must_use]
    pub fn view(&self) -> PersonView {
        PersonView {
            id: self.id,
            name: self.name.clone(),
            display_name: self.display_name.clone(),
            kind: self.kind,
            roles: self.roles.clone(),
            standing: self.standing,
            created_at: self.created_at,
            has_password: self.password.is_some(),
            passkeys: self.passkeys.iter().map(|passkey| passkey.label.clone()).collect(),
            recovery_codes: self.recovery.len(),
            provider: self.provider().map(|subject| subject.issuer.clone()),
            brought_by: self.brought_by.clone(),
            link_expires_at: self.link.as_ref().map(|link| link.expires_at),
        }
    }

    /// Whether they have any way to sign in by themselves.
    #[must_use]
    pub fn can_sign_in(&self) -> bool {
        !self.passkeys.is_empty()
            || (self.password.is_some() && self.totp.is_some())
            || self.provider().is_some()
    }

    /// Who they are to an identity provider, if that is a way in of theirs.
    fn provider(&self) -> Option<&Subject> {
        self.subject.as_ref().filter(|subject| !subject.set_aside)
    }

    /// Someone new, who has nothing to sign in with yet.
    #[must_use]
    pub fn new(id: PersonId, name: String, kind: PrincipalKind, roles: Vec<String>, now: Timestamp) -> Self {
        Self {
            id,
            name,
            display_name: None,
            kind,
            roles,
            standing: Standing::Active,
            created_at: now,
            password: None,
            totp: None,
            recovery: Vec::new(),
            passkeys: Vec::new(),
            subject: None,
            link: None,
            brought_by: None,
            failures: Failures::default(),
            own_failures: Failures::default(),
        }
    }

    /// Whether somebody who goes by what people may has to look again.
    #[must_use]
    pub fn may_the_same_as(&self, before: &Self) -> bool {
        self.kind == before.kind
            && self.roles == before.roles
            && self.standing == before.standing
            && self.brought_by == before.brought_by
    }
}
