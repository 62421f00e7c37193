//! What signed requests are called.

use serde::Serialize;

use crate::MessageId;

/// What names a signed request to a service: `msg_` and a message, or `job_` and a call of the agent's side. Another
/// request with the same name is the same, sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PostId(String);

impl PostId {
    /// The name of a message to a webhook.
    #[must_use]
    pub fn of_message(message: &MessageId) -> Self {
        Self(format!("msg_{message}"))
    }

    /// The name of a job's calls.
    #[must_use]
    pub fn of_job(job: i64) -> Self {
        Self(format!("job_{job}"))
    }

    /// As receivers see it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
