//! `Prefer: wait=SECONDS` (RFC 7240).

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;

use crate::App;
use crate::problem::{Code, ProblemError};
use crate::server::Seat;

/// The header.
pub(crate) const PREFER: HeaderName = HeaderName::from_static("prefer");

/// Longer than this no request is held open; ask again.
const LONGEST: u64 = 600;

/// How long the client is willing to wait, if it said.
pub(crate) struct Patience {
    pub(crate) said: Option<Duration>,
    seat: Option<Seat>,
}

impl Patience {
    /// How long to wait for people: not at all, unless the client said so.
    pub(crate) fn for_people(&self) -> Duration {
        self.said.unwrap_or_default()
    }

    /// Waits for an answer, apart from the connection if that is possible.
    pub(crate) async fn wait(
        self,
        answer: impl Future<Output = Result<Response, ProblemError>> + Send + 'static,
    ) -> Result<Response, ProblemError> {
        match self.seat {
            Some(seat) => Ok(seat.wait(answer.map(|answer| answer.into_response())).await),
            None => answer.await,
        }
    }
}

impl FromRequestParts<App> for Patience {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Self::Rejection> {
        let seat = parts.extensions.remove();
        for value in parts.headers.get_all(PREFER) {
            let Ok(text) = value.to_str() else { continue };
            for preference in text.split([',', ';']) {
                let Some((name, seconds)) = preference.split_once('=') else { continue };
                if name.trim().eq_ignore_ascii_case("wait") {
                    let seconds: u64 = seconds.trim().trim_matches('"').parse().map_err(|_| {
                        ProblemError::new(
                            Code::InvalidRequest,
                            "Prefer: wait takes a whole number of seconds",
                        )
                    })?;
                    return Ok(Self { said: Some(Duration::from_secs(seconds.min(LONGEST))), seat });
                }
            }
        }
        Ok(Self { said: None, seat: None })
    }
}
