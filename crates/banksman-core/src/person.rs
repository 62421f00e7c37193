//! People: how they stand with the house, how they came in, and what the audit log says about them.

use serde::{Deserialize, Serialize};

use crate::level::named;
use crate::{PrincipalKind, Timestamp, TokenId};

/// How a person stands with the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// May come in.
    Active,
    /// May not, for now.
    Locked,
    /// May not, ever again. The name stays taken, so that nobody else can be mistaken for them.
    Removed,
}

named!(Standing, "standing", "active, locked, removed", {
    Active => "active", Locked => "locked", Removed => "removed",
});

/// How someone showed who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SignInMethod {
    /// A link that works once.
    Link,
    /// A password and a code of an authenticator app.
    Password,
    /// A password and a recovery code.
    RecoveryCode,
    /// A passkey.
    Passkey,
    /// The word of an identity provider.
    Oidc,
}

named!(SignInMethod, "way to sign in", "link, password, recovery_code, passkey, oidc", {
    Link => "link", Password => "password", RecoveryCode => "recovery_code", Passkey => "passkey", Oidc => "oidc",
});

/// Something that a person can sign in with, as the audit log names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// A password.
    Password,
    /// An authenticator app.
    Totp,
    /// Codes for when the authenticator app is lost.
    RecoveryCodes,
    /// A passkey, with all that it takes to check what it signs: the log can be verified without the database.
    Passkey(PasskeyFact),
}

/// A passkey, as the audit log keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasskeyFact {
    /// The credential's id, in base64url.
    pub id: String,
    /// The public key as COSE, in base64url.
    pub key: String,
    /// The site that it is for.
    pub rp_id: String,
    /// What its owner calls it.
    pub label: String,
}

/// What changed about a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "names and fields are the documentation that auditors read")]
pub enum PersonChange {
    Added { kind: PrincipalKind, roles: Vec<String> },
    RightsChanged { kind: PrincipalKind, roles: Vec<String> },
    StandingChanged { standing: Standing },
    Invited { expires_at: Timestamp },
    LinkIssued { expires_at: Timestamp },
    Enrolled { factor: Factor },
    Withdrawn { factor: Factor },
    Reset,
    Confirmed,
    SignedIn { token: TokenId, method: SignInMethod },
    SignedOutEverywhere,
    HeldBack { failed: u32, until: Timestamp },
}

impl PersonChange {
    /// In a few words, for lists of events.
    #[must_use]
    pub fn words(&self) -> String {
        let rights = |kind: &PrincipalKind, roles: &[String]| {
            if roles.is_empty() { kind.to_string() } else { format!("{kind}, {}", roles.join(", ")) }
        };
        match self {
            Self::Added { kind, roles } => format!("added as {}", rights(kind, roles)),
            Self::RightsChanged { kind, roles } => format!("is now {}", rights(kind, roles)),
            Self::StandingChanged { standing } => format!("is now {standing}"),
            Self::Invited { .. } => "invited".into(),
            Self::LinkIssued { .. } => "got a sign-in link".into(),
            Self::Enrolled { factor } => format!("set up {}", factor.words()),
            Self::Withdrawn { factor } => format!("no longer has {}", factor.words()),
            Self::Reset => "has to begin anew: all ways to sign in were removed".into(),
            Self::Confirmed => "confirmed to be a person of their own".into(),
            Self::SignedIn { method, .. } => format!("signed in ({method})"),
            Self::SignedOutEverywhere => "signed out everywhere".into(),
            Self::HeldBack { failed, .. } => format!("held back after {failed} failed sign-ins"),
        }
    }
}

impl Factor {
    fn words(&self) -> String {
        match self {
            Self::Password => "a password".into(),
            Self::Totp => "an authenticator app".into(),
            Self::RecoveryCodes => "recovery codes".into(),
            Self::Passkey(passkey) => format!("the passkey {:?}", passkey.label),
        }
    }
}
