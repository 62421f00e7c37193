//! The answer to a request, found among what comes before it.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Answer, SendError};

/// The answer, as it was written.
#[derive(Debug, Clone)]
pub(crate) struct Final {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) message: Bytes,
    /// Whether it came as the last message of a stream.
    pub(crate) streamed: bool,
}

impl Final {
    /// An answer that came alone.
    pub(crate) fn alone(status: StatusCode, headers: HeaderMap, message: impl Into<Bytes>) -> Self {
        Self { status, headers, message: message.into(), streamed: false }
    }
}

/// What an answer holds.
#[derive(Debug, Deserialize)]
pub(crate) struct Reply<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

/// An error in an answer.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
}

impl<'a> Reply<'a> {
    /// A message that is an answer, whatever to.
    pub(crate) fn read(message: &'a [u8]) -> Option<Self> {
        let reply: Self = serde_json::from_slice(message).ok()?;
        (reply.method.is_none() && (reply.result.is_some() || reply.error.is_some())).then_some(reply)
    }

    /// A message that is the answer to this request.
    pub(crate) fn to(message: &'a [u8], id: &str) -> Option<Self> {
        Self::read(message).filter(|reply| reply.id.is_some_and(|other| same_id(other.get(), id)))
    }

    pub(crate) fn rpc_error(&self) -> Option<RpcError> {
        let error = self.error?;
        Some(
            serde_json::from_str(error.get())
                .unwrap_or(RpcError { code: 0, message: error.get().to_owned() }),
        )
    }
}

/// Ids are written by others: `"a"` and `"\u0061"` are the same one.
fn same_id(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let read = |text| serde_json::from_str::<String>(text).ok();
    matches!((read(one), read(other)), (Some(one), Some(other)) if one == other)
}

impl Answer {
    /// The answer to the request with this id; what comes before it is dropped.
    ///
    /// # Errors
    /// If none comes.
    pub(crate) async fn conclude(self, id: &str) -> Result<Final, SendError> {
        self.conclude_within(None, id).await
    }

    /// The same; a server that closes its stream meanwhile is asked for the rest for so long.
    ///
    /// # Errors
    /// If none comes.
    pub(crate) async fn conclude_within(
        mut self,
        patience: Option<Duration>,
        id: &str,
    ) -> Result<Final, SendError> {
        if let (Self::Stream(stream), Some(patience)) = (&mut self, patience) {
            stream.resume_for(patience);
        }
        match self {
            Self::Whole { status, headers, body } => Ok(Final::alone(status, headers, body)),
            Self::Stream(mut stream) => {
                while let Some(event) = stream.next().await? {
                    if Reply::to(&event.data, id).is_some() {
                        let mut headers = std::mem::take(&mut stream.headers);
                        // It was a stream; what is left of it is one message.
                        headers.remove(CONTENT_TYPE);
                        return Ok(Final {
                            status: StatusCode::OK,
                            headers,
                            message: event.data,
                            streamed: true,
                        });
                    }
                }
                Err(SendError::Lost("it ended without an answer".to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_this_request_is_it() {
        for (message, is_it) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, true),
            (r#"{"id":1,"error":{"code":-1,"message":"x"}}"#, true),
            (r#"{"id":2,"result":{}}"#, false),
            (r#"{"id":"1","result":{}}"#, false),
            (r#"{"id":1,"method":"elicitation/create","params":{}}"#, false),
            (r#"{"method":"notifications/progress","params":{"id":1,"result":{}}}"#, false),
            (r#"{"id":1}"#, false),
            ("", false),
            ("{", false),
        ] {
            assert_eq!(Reply::to(message.as_bytes(), "1").is_some(), is_it, "{message}");
        }
        assert!(Reply::to(br#"{"id":"\u0061","result":{}}"#, r#""a""#).is_some());
    }
}
