//! Who is calling, and whether they may.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use banksman_core::{Principal, PrincipalKind};

use crate::App;
use crate::problem::{Code, ProblemError};

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone, without a credential.
    Public,
    /// Agents.
    Agent,
    /// Reviewers and administrators.
    Person,
    /// Administrators.
    Admin,
    /// Anyone with a credential; the engine shows each only what is theirs.
    Anyone,
    /// People who signed in with a browser.
    Session,
}

impl Access {
    /// Whether a credential of this kind may call.
    #[must_use]
    pub fn admits(self, kind: PrincipalKind) -> bool {
        match (self, kind) {
            (Self::Public | Self::Anyone, _)
            | (Self::Agent, PrincipalKind::Agent)
            | (Self::Person, PrincipalKind::Reviewer | PrincipalKind::Admin)
            | (Self::Admin, PrincipalKind::Admin)
            | (Self::Session, PrincipalKind::Reviewer | PrincipalKind::Admin) => true,
            (Self::Agent, PrincipalKind::Reviewer | PrincipalKind::Admin)
            | (Self::Person | Self::Session, PrincipalKind::Agent)
            | (Self::Admin, PrincipalKind::Agent | PrincipalKind::Reviewer) => false,
        }
    }

    /// The name in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Agent => "agent",
            Self::Person => "reviewer, admin",
            Self::Admin => "admin",
            Self::Anyone => "agent, reviewer, admin",
            Self::Session => "a signed-in browser",
        }
    }
}

/// Authenticates the request, for a route with this access.
async fn admit(parts: &mut Parts, app: &App, access: Access) -> Result<Arc<Principal>, ProblemError> {
    let secret = parts
        .headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, secret)| secret.trim());
    let Some(secret) = secret else {
        return Err(ProblemError::new(Code::Unauthenticated, "send a token as `Authorization: Bearer …`"));
    };
    let principal = app.engine.authenticate(secret).await?;
    if access.admits(principal.kind) {
        Ok(principal)
    } else {
        let whose = match principal.kind {
            PrincipalKind::Agent => "an agent",
            PrincipalKind::Reviewer => "a reviewer",
            PrincipalKind::Admin => "an admin",
        };
        let detail = format!("this is for {}; the credential shown is that of {whose}", access.as_str());
        Err(ProblemError::new(Code::WrongKind, detail))
    }
}

macro_rules! caller {
    ($(#[$doc:meta])* $name:ident, $access:ident) => {
        $(#[$doc])*
        pub(crate) struct $name(pub(crate) Arc<Principal>);

        impl FromRequestParts<App> for $name {
            type Rejection = ProblemError;

            async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
                admit(parts, app, Access::$access).await.map(Self)
            }
        }
    };
}

caller!(
    /// An agent calls.
    AgentCaller, Agent
);
caller!(
    /// A reviewer or an administrator calls.
    PersonCaller, Person
);
caller!(
    /// An administrator calls.
    AdminCaller, Admin
);
caller!(
    /// Someone with any credential calls.
    AnyCaller, Anyone
);
