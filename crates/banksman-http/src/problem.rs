//! Every error, as a problem document (RFC 9457) with a stable code. This is the one place that maps them.

use std::sync::Arc;

use axum::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use banksman_core::wire::Problem;
use banksman_core::{ActionError, Refusal};
use banksman_engine::{About, EngineError};

macro_rules! codes {
    ($($variant:ident => $code:literal, $status:ident, $title:literal;)+) => {
        /// The stable codes of this API. Each is explained in `docs/errors.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "docs/errors.md explains each, and a test compares the two")]
        pub enum Code { $($variant),+ }

        /// Every code.
        pub const CODES: &[Code] = &[$(Code::$variant),+];

        impl Code {
            /// The code on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }

            /// The HTTP status that goes with it.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status),+ }
            }

            /// The code in words.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }
        }
    };
}

codes! {
    InvalidJson => "invalid_json", BAD_REQUEST, "The body is not acceptable JSON";
    InvalidRequest => "invalid_request", UNPROCESSABLE_ENTITY, "The request makes no sense";
    InvalidAction => "invalid_action", UNPROCESSABLE_ENTITY, "The body is not an action";
    InvalidArgs => "invalid_args", UNPROCESSABLE_ENTITY, "The arguments are not valid";
    IdempotencyKeyReused => "idempotency_key_reused", UNPROCESSABLE_ENTITY, "The idempotency key was used for something else";
    ReasonRequired => "reason_required", UNPROCESSABLE_ENTITY, "A reason is required";
    MessageRequired => "message_required", UNPROCESSABLE_ENTITY, "A message is required";
    RememberNotAllowed => "remember_not_allowed", UNPROCESSABLE_ENTITY, "This cannot be remembered";
    ModificationBlocked => "modification_blocked", UNPROCESSABLE_ENTITY, "Policy blocks the edited action";
    Unauthenticated => "unauthenticated", UNAUTHORIZED, "No valid credential";
    NotSigned => "not_signed", UNAUTHORIZED, "The signature is missing, wrong or old";
    WrongKind => "wrong_credential", FORBIDDEN, "The credential is of the wrong kind";
    Blocked => "blocked", FORBIDDEN, "Policy blocks this action";
    Denied => "denied", FORBIDDEN, "A reviewer said no";
    SelfApproval => "self_approval", FORBIDDEN, "Nobody approves their own";
    NotIndependent => "not_independent", FORBIDDEN, "These do not count as two people yet";
    MissingRole => "missing_role", FORBIDDEN, "A role is missing";
    NotYours => "not_yours", FORBIDDEN, "It is for someone else to do";
    RunByGateway => "run_by_gateway", FORBIDDEN, "The gateway runs this call itself";
    StepUpRequired => "step_up_required", FORBIDDEN, "The touch of a passkey is required";
    StepUpMismatch => "step_up_mismatch", FORBIDDEN, "The passkey signed something else";
    NotProved => "not_proved", FORBIDDEN, "That proves nothing";
    SignInAgain => "sign_in_again", FORBIDDEN, "Sign in again first";
    NotAuthorised => "not_authorised", FORBIDDEN, "The action is not authorised";
    OriginNotAllowed => "origin_not_allowed", FORBIDDEN, "The origin is not allowed";
    NotFound => "not_found", NOT_FOUND, "Not found";
    MethodNotAllowed => "method_not_allowed", METHOD_NOT_ALLOWED, "The method is not allowed here";
    StaleVersion => "stale_version", CONFLICT, "The version is stale";
    DigestMismatch => "digest_mismatch", CONFLICT, "The digest does not match";
    Expired => "expired", CONFLICT, "The hold has expired";
    AlreadyDecided => "already_decided", CONFLICT, "Already decided";
    AlreadyVoted => "already_voted", CONFLICT, "Already approved by this person";
    AlreadyClaimed => "already_claimed", CONFLICT, "Already claimed";
    AlreadyRecorded => "already_recorded", CONFLICT, "Another outcome is recorded";
    NotClaimed => "not_claimed", CONFLICT, "The action was not claimed";
    PreconditionFailed => "precondition_failed", CONFLICT, "A precondition does not hold";
    Lapsed => "lapsed", CONFLICT, "The authorisation has lapsed";
    Frozen => "frozen", CONFLICT, "Frozen";
    IllegalModeChange => "illegal_mode_change", CONFLICT, "The mode cannot change like that";
    BodyTooSlow => "body_too_slow", REQUEST_TIMEOUT, "The body came too slowly";
    BodyTooLarge => "body_too_large", PAYLOAD_TOO_LARGE, "The body is too large";
    HostNotAllowed => "host_not_allowed", MISDIRECTED_REQUEST, "The host is not allowed";
    TooManyAttempts => "too_many_attempts", TOO_MANY_REQUESTS, "Too many attempts to sign in";
    TooManyPending => "too_many_pending", TOO_MANY_REQUESTS, "Too many actions are pending";
    Unavailable => "unavailable", SERVICE_UNAVAILABLE, "The store cannot be used now";
    Internal => "internal", INTERNAL_SERVER_ERROR, "Something is broken";
}

impl Code {
    /// In how many seconds to try again, where that may help.
    pub(crate) fn retry_after(self) -> Option<&'static str> {
        match self {
            Self::TooManyPending | Self::TooManyAttempts => Some("30"),
            Self::Unavailable => Some("2"),
            _ => None,
        }
    }
}

/// An error on its way out.
#[derive(Debug)]
pub(crate) struct ProblemError {
    code: Code,
    problem: Box<Problem>,
}

impl ProblemError {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        let problem = Problem {
            kind: format!("urn:banksman:error:{}", code.as_str()),
            title: code.title().to_owned(),
            status: code.status().as_u16(),
            detail: detail.into(),
            code: code.as_str().to_owned(),
            action: None,
            action_status: None,
            current_version: None,
            current_digest: None,
            decided_by: None,
            message: None,
        };
        Self { code, problem: Box::new(problem) }
    }

    pub(crate) fn about(mut self, about: &About) -> Self {
        self.problem.action = Some(about.id);
        self.problem.action_status = Some(about.status);
        self.problem.current_version = Some(about.version);
        self.problem.current_digest = Some(about.digest);
        self
    }

    /// With who decided, and their words for the agent.
    pub(crate) fn decided(mut self, by: &str, message: Option<&str>) -> Self {
        self.problem.decided_by = Some(by.to_owned());
        self.problem.message = message.map(str::to_owned);
        self
    }

    /// The stable code and the words, for answers that carry several.
    pub(crate) fn into_parts(self) -> (String, String) {
        (self.problem.code, self.problem.detail)
    }
}

fn code_of(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::StaleVersion { .. } => Code::StaleVersion,
        Refusal::DigestMismatch { .. } => Code::DigestMismatch,
        Refusal::Expired { .. } => Code::Expired,
        Refusal::AlreadyDecided { .. } => Code::AlreadyDecided,
        Refusal::AlreadyVoted { .. } => Code::AlreadyVoted,
        Refusal::SelfApproval => Code::SelfApproval,
        Refusal::NotIndependent { .. } => Code::NotIndependent,
        Refusal::MissingRole { .. } => Code::MissingRole,
        Refusal::ReasonRequired => Code::ReasonRequired,
        Refusal::StepUpRequired => Code::StepUpRequired,
        Refusal::StepUpMismatch => Code::StepUpMismatch,
        Refusal::MessageRequired => Code::MessageRequired,
        Refusal::RememberNotAllowed { .. } => Code::RememberNotAllowed,
        Refusal::ModificationBlocked { .. } => Code::ModificationBlocked,
        Refusal::Frozen { .. } => Code::Frozen,
        Refusal::NotAuthorised { .. } => Code::NotAuthorised,
        Refusal::AlreadyClaimed { .. } => Code::AlreadyClaimed,
        Refusal::PreconditionFailed { .. } | Refusal::OtherPreconditions => Code::PreconditionFailed,
        Refusal::Lapsed { .. } => Code::Lapsed,
        Refusal::NotClaimed { .. } => Code::NotClaimed,
        Refusal::AlreadyRecorded { .. } => Code::AlreadyRecorded,
        // The surfaces never send these; if one does, it is our mistake and not the caller's.
        Refusal::WrongDecision { .. } | Refusal::NotDue { .. } => Code::Internal,
    }
}

impl From<EngineError> for ProblemError {
    fn from(error: EngineError) -> Self {
        let detail = error.to_string();
        match error {
            EngineError::NotFound => Self::new(Code::NotFound, "there is nothing by that id"),
            EngineError::Unauthenticated => Self::new(Code::Unauthenticated, detail),
            EngineError::Refused { refusal, about } => {
                let mut problem = Self::new(code_of(&refusal), detail).about(&about);
                if let Refusal::AlreadyDecided { by, .. } = refusal {
                    problem.problem.decided_by = by;
                }
                problem
            }
            EngineError::RunByGateway(about) => Self::new(Code::RunByGateway, detail).about(&about),
            EngineError::InvalidArgs(_) => Self::new(Code::InvalidArgs, detail),
            EngineError::Invalid(_) => Self::new(Code::InvalidRequest, detail),
            EngineError::NotGrantable(_) => Self::new(Code::RememberNotAllowed, detail),
            EngineError::IdempotencyKeyReused => Self::new(Code::IdempotencyKeyReused, detail),
            EngineError::TooManyPending { .. } => Self::new(Code::TooManyPending, detail),
            EngineError::BatchChanged { current } => {
                let mut problem = Self::new(Code::DigestMismatch, detail);
                problem.problem.current_digest = Some(current);
                problem
            }
            EngineError::MissingRole { .. } => Self::new(Code::MissingRole, detail),
            EngineError::NotYours(_) => Self::new(Code::NotYours, detail),
            EngineError::NotProved(_) => Self::new(Code::NotProved, detail),
            EngineError::SignInAgain => Self::new(Code::SignInAgain, detail),
            EngineError::TooManyAttempts | EngineError::HeldBack { .. } => {
                Self::new(Code::TooManyAttempts, detail)
            }
            EngineError::ReasonRequired => Self::new(Code::ReasonRequired, detail),
            EngineError::IllegalModeChange(_) => Self::new(Code::IllegalModeChange, detail),
            EngineError::Store(error) => {
                tracing::error!(%error, "the store failed a request");
                // What exactly broke is for the log: the message may hold paths.
                Self::new(
                    Code::Unavailable,
                    "the store cannot be used now; nothing was let through; try again",
                )
            }
            error @ (EngineError::Internal(_) | EngineError::Overtaken) => {
                tracing::error!(%error, "internal error");
                Self::new(
                    Code::Internal,
                    "something is broken; nothing was let through; see the server's log",
                )
            }
        }
    }
}

impl From<ActionError> for ProblemError {
    fn from(error: ActionError) -> Self {
        Self::new(Code::InvalidAction, error.to_string())
    }
}

impl IntoResponse for ProblemError {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = (self.code.status(), body).into_response();
        // For pages, which say the same to a person.
        response.extensions_mut().insert(Arc::<Problem>::from(self.problem));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match self.code {
            Code::Unauthenticated => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"banksman\""));
            }
            // What is still to come of the body would be taken for the next request.
            Code::BodyTooSlow => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        if let Some(seconds) = self.code.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(seconds));
        }
        response
    }
}
