//! Why a verb did not do what it was asked.

use banksman_core::{ActionId, Case, Digest, IllegalModeChangeError, Refusal, Status, Timestamp};
use banksman_store::StoreError;

/// Why a verb did not do what it was asked. Surfaces turn each into their own words, in one place.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No such thing, or none that this caller may see.
    #[error("not found")]
    NotFound,
    /// The credential is no longer valid.
    #[error(
        "the credential is unknown, expired or revoked; `banksman token new` on the server's machine makes another"
    )]
    Unauthenticated,
    /// The lifecycle refuses.
    #[error("{refusal}")]
    Refused {
        /// Why.
        refusal: Refusal,
        /// The action as it stands.
        about: Box<About>,
    },
    /// An agent wants to claim, or to report, a call that the gateway runs.
    #[error(
        "this call goes through Banksman's MCP gateway, which claims it, runs it and records how it ended; its agent only \
         waits for the result"
    )]
    RunByGateway(Box<About>),
    /// Edited arguments do not follow the action's own schema, or are no arguments.
    #[error("the arguments are not valid: {0}")]
    InvalidArgs(String),
    /// Something else about the request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A grant that would let nothing through, and why.
    #[error("this cannot be granted: {0}")]
    NotGrantable(String),
    /// A key that was used for another request.
    #[error("this idempotency key was used before for a different request; a new request takes a new key")]
    IdempotencyKeyReused,
    /// The queue is full.
    #[error(
        "too many actions are waiting for people {scope}: at most {limit} may (`banksman serve {option}`); once people have \
         decided some, send the same request again"
    )]
    TooManyPending {
        /// Whose.
        scope: &'static str,
        /// How many may wait.
        limit: u64,
        /// What sets that.
        option: &'static str,
    },
    /// The items of the batch are not those that the reviewer saw.
    #[error("the batch is {current}; the decision was about other items")]
    BatchChanged {
        /// What it is now.
        current: Digest,
    },
    /// What an edit was judged by has changed since. Never seen outside: it is judged again.
    #[error("what the edit was judged by has changed")]
    Overtaken,
    /// It takes a role that the caller does not have.
    #[error("this takes one of these roles: {}", needed.join(", "))]
    MissingRole {
        /// Any of these.
        needed: Vec<String>,
    },
    /// It is for someone else to do.
    #[error("{0}")]
    NotYours(String),
    /// What was shown proves nothing.
    #[error("{0}")]
    NotProved(String),
    /// It takes someone who signed in just now.
    #[error("to change how you sign in, sign in again first: this session is older than 15 minutes")]
    SignInAgain,
    /// Too many attempts from a browser of the person's own.
    #[error("too many attempts to sign in; the next can be made at {until}")]
    HeldBack {
        /// When the next can be made.
        until: Timestamp,
    },
    /// Too many try to sign in at once.
    #[error("too many are signing in right now; try again in a moment")]
    TooManyAttempts,
    /// Policy wants to know why.
    #[error("say why: policy asks for a reason")]
    ReasonRequired,
    /// A change of mode that skips a step.
    #[error(transparent)]
    IllegalModeChange(#[from] IllegalModeChangeError),
    /// The store cannot be used now. Nothing was let through.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A bug or a broken machine. Nothing was let through.
    #[error("internal error: {0}")]
    Internal(String),
}

/// The action that a refusal is about, as it stands.
#[derive(Debug, Clone)]
pub struct About {
    /// Its id.
    pub id: ActionId,
    /// Where it stands.
    pub status: Status,
    /// Its version.
    pub version: u32,
    /// What would run.
    pub digest: Digest,
}

impl From<&Case> for About {
    fn from(case: &Case) -> Self {
        Self { id: case.id, status: case.status(), version: case.version, digest: case.submission.digest }
    }
}

impl EngineError {
    pub(crate) fn refused(refusal: Refusal, case: &Case) -> Self {
        Self::Refused { refusal, about: Box::new(case.into()) }
    }
}

impl EngineError {
    /// A commit that met a guard which it does not have, or which whoever made it has no answer to: a bug, and not a yes.
    pub(crate) fn unexpected_conflict(error: banksman_store::CommitError) -> Self {
        match error {
            banksman_store::CommitError::Unavailable(error) => Self::Store(error),
            banksman_store::CommitError::Conflict(conflict) => {
                Self::Internal(format!("a commit met a conflict that it cannot meet: {conflict:?}"))
            }
        }
    }
}
