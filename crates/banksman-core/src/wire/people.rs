//! People, for administrators.

use serde::{Deserialize, Serialize};

use crate::{PersonId, PrincipalKind, Standing, Timestamp};

/// `POST /v1/people`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PersonBody {
    /// Their name: for signing in, in votes, and in the log. It can never be given to another.
    pub name: String,
    /// What pages call them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// `reviewer` or `admin`; a reviewer if left out.
    #[serde(default = "reviewer")]
    pub kind: PrincipalKind,
    /// What they may approve.
    #[serde(default)]
    pub roles: Vec<String>,
}

fn reviewer() -> PrincipalKind {
    PrincipalKind::Reviewer
}

/// `POST /v1/people/{id}/rights`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RightsBody {
    /// `reviewer` or `admin`.
    pub kind: PrincipalKind,
    /// What they may approve, all of it.
    pub roles: Vec<String>,
}

/// `POST /v1/people/{id}/standing`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StandingBody {
    /// How they stand from now on. Removing someone is for good.
    pub standing: Standing,
}

/// A person, without what they sign in with.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PersonView {
    /// Their id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: PersonId,
    /// Their name.
    pub name: String,
    /// What pages call them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Reviewer or administrator.
    pub kind: PrincipalKind,
    /// What they may approve.
    pub roles: Vec<String>,
    /// How they stand with the house.
    pub standing: Standing,
    /// Since when.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// Whether they have a password and an authenticator app.
    pub has_password: bool,
    /// What they call their passkeys.
    pub passkeys: Vec<String>,
    /// How many recovery codes they have left.
    pub recovery_codes: usize,
    /// The identity provider that vouches for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Who brought them in, as long as no other administrator has confirmed them: the two do not count as two people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought_by: Option<String>,
    /// While an invitation or a sign-in link waits for them: until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub link_expires_at: Option<Timestamp>,
}

/// A link that works once. It is shown this once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LinkView {
    /// Whom it is for.
    pub person: PersonView,
    /// The link.
    pub link: String,
    /// Until when it works.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
}
