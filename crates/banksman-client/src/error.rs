//! What can go wrong between asking and having an answer.

use std::io;

use banksman_core::wire::Problem;

/// Why there is no answer, or not the wanted one.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection came about: the request was certainly not seen.
    #[error("cannot reach the server at {url}: is `banksman serve` running?")]
    Unreachable {
        /// The server's address, as configured.
        url: String,
        /// Why not.
        source: Box<ureq::Error>,
    },
    /// The connection broke, or time ran out, after the request may have been seen.
    ///
    /// Kept apart from [`ClientError::Unreachable`] because here the server may have acted: ask before repeating.
    #[error(
        "no answer from the server at {url}, though it may have acted on the request: look (`banksman pending`, `banksman show`) before you send it again"
    )]
    NoAnswer {
        /// The server's address, as configured.
        url: String,
        /// What happened instead.
        source: Box<ureq::Error>,
    },
    /// The server said no, and why.
    #[error("{} ({})", .0.detail, .0.code)]
    Problem(Box<Problem>),
    /// An answer that is neither what was asked for nor a problem document.
    #[error(
        "the server at {url} answered {status}: {detail}; is this a Banksman server of the same version?"
    )]
    Unexpected {
        /// The server's address, as configured.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What is wrong with it, or how it starts.
        detail: String,
    },
    /// Something about the request cannot be sent at all.
    #[error("{detail}")]
    InvalidRequest {
        /// What.
        detail: String,
    },
}

impl ClientError {
    /// The problem document, if the server sent one.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        if let Self::Problem(problem) = self { Some(problem) } else { None }
    }

    /// The stable code of the problem, if the server sent one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.problem().map(|problem| problem.code.as_str())
    }

    pub(crate) fn from_transport(url: &str, error: ureq::Error) -> Self {
        let url = url.to_owned();
        match &error {
            ureq::Error::Http(_) | ureq::Error::BadUri(_) => {
                Self::InvalidRequest { detail: format!("the request to {url} cannot be sent: {error}") }
            }
            error_kind if never_sent(error_kind) => Self::Unreachable { url, source: Box::new(error) },
            _ => Self::NoAnswer { url, source: Box::new(error) },
        }
    }
}

/// Whether it failed before the first byte of a request went out. In doubt: no.
fn never_sent(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::InvalidProxyUrl
        | ureq::Error::Tls(_)
        | ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => true,
        ureq::Error::Io(error) if is_no_name(error) || is_no_tls(error) => true,
        ureq::Error::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::ConnectionRefused
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::NetworkDown
                | io::ErrorKind::AddrNotAvailable
                | io::ErrorKind::PermissionDenied
        ),
        _ => false,
    }
}

/// A name that could not be looked up has a kind of error of its own, which only its words give away.
fn is_no_name(error: &io::Error) -> bool {
    error.to_string().starts_with("failed to lookup address information")
}

/// Whoever answers the first words of TLS with something else has not been told anything after them.
fn is_no_tls(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData && error.to_string().contains("InvalidContentType")
}
