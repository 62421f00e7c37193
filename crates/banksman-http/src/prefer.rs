//! `Prefer: wait=SECONDS` (RFC 7240).

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::App;
use crate::problem::{Code, ProblemError};

/// Longer than this no request is held open; ask again.
const LONGEST: u64 = 600;

/// How long the client is willing to wait, if it said.
#[derive(Clone, Copy)]
pub(crate) struct Patience(pub(crate) Option<Duration>);

impl Patience {
    /// How long to wait for people: not at all, unless the client said so.
    pub(crate) fn for_people(self) -> Duration {
        self.0.unwrap_or_default()
    }
}

impl FromRequestParts<App> for Patience {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Self::Rejection> {
        for value in parts.headers.get_all("prefer") {
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
                    return Ok(Self(Some(Duration::from_secs(seconds.min(LONGEST)))));
                }
            }
        }
        Ok(Self(None))
    }
}
