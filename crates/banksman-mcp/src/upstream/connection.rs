//! A stream of events over HTTP, asked for again where it broke off.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::Instant;

use super::SendError;
use super::http::{HttpUpstream, SESSION, own_headers};
use super::lane::{MAX_ANSWER, SILENCE, is_event_stream};
use crate::body::EVENTS;
use crate::message::ERA_TWO;
use crate::sse::{self, Event};

/// How long what follows on a stream that ended is asked for, if nobody says for how long it is of use.
const RESUMED_FOR: Duration = Duration::from_secs(5 * 60);

/// How long to wait before that, and again if it could not be asked: if the server does not say, and whatever it says.
const RETRY: Duration = Duration::from_secs(1);
const SHORTEST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// A stream of events.
pub(super) struct Connection {
    body: Incoming,
    reader: sse::Reader,
    resume: Option<Resume>,
}

/// How what follows is asked for if the stream ends before its answer: since 2025-11-25 a server may close it meanwhile.
struct Resume {
    upstream: Arc<HttpUpstream>,
    headers: HeaderMap,
    /// What follows is asked for and read until then.
    until: Instant,
    /// Whether it has been.
    begun: bool,
}

impl Connection {
    pub(super) fn new(body: Incoming) -> Self {
        Self { body, reader: sse::Reader::new(MAX_ANSWER), resume: None }
    }

    /// From now on it is asked for again where it ends, as the answer to a request with these headers.
    pub(super) fn resumes(&mut self, upstream: &Arc<HttpUpstream>, request: &HeaderMap) {
        let is_era_two = request.get("mcp-protocol-version").is_some_and(|version| version == ERA_TWO);
        if !is_era_two {
            let mut headers = own_headers();
            headers.insert(ACCEPT, EVENTS);
            for name in [SESSION, HeaderName::from_static("mcp-protocol-version")] {
                headers.extend(request.get(&name).map(|value| (name, value.clone())));
            }
            let until = Instant::now() + RESUMED_FOR;
            self.resume = Some(Resume { upstream: Arc::clone(upstream), headers, until, begun: false });
        }
    }

    /// For how long what follows is asked for and read.
    pub(super) fn resume_for(&mut self, time: Duration) {
        if let Some(resume) = &mut self.resume {
            resume.until = Instant::now() + time;
        }
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// If the stream breaks, or is not one.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, SendError> {
        loop {
            if let Some(event) = self.reader.next() {
                return Ok(Some(event));
            }
            let silent = Instant::now() + SILENCE;
            // A comment breaks the silence. What was asked for again could go on like that without end.
            let until = self.resume.as_ref().filter(|resume| resume.begun).map(|resume| resume.until);
            let patient = until.map_or(silent, |until| until.min(silent));
            let ended = match tokio::time::timeout_at(patient, self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Some(data) = frame.data_ref() {
                        self.reader.push(data).map_err(|error| SendError::Lost(error.to_string()))?;
                    }
                    continue;
                }
                Ok(Some(Err(_))) => Err(SendError::Lost("the connection broke".to_owned())),
                Ok(None) => Ok(None),
                Err(_) if patient < silent => {
                    return Err(SendError::Lost("its answer did not come in time".to_owned()));
                }
                Err(_) => return Err(SendError::Lost("it fell silent".to_owned())),
            };
            let followed = match (&mut self.resume, self.reader.last_id()) {
                (Some(resume), Some(id)) => Box::pin(resume.from(id, self.reader.retry())).await,
                (_, _) => None,
            };
            match followed {
                Some(next) => {
                    self.body = next;
                    self.reader.reconnect();
                }
                None => return ended,
            }
        }
    }
}

impl Resume {
    /// What follows the event with this id, as soon as the server can be reached; `None` if it does not say.
    async fn from(&mut self, id: &Bytes, retry: Option<Duration>) -> Option<Incoming> {
        let mut headers = self.headers.clone();
        headers.insert("last-event-id", HeaderValue::from_bytes(id).ok()?);
        let pause = retry.unwrap_or(RETRY).clamp(SHORTEST_RETRY, LONGEST_RETRY);
        loop {
            tokio::time::sleep_until(self.until.min(Instant::now() + pause)).await;
            if Instant::now() >= self.until {
                return None;
            }
            let asked = self.upstream.send(Method::GET, headers.clone(), Bytes::new());
            // Asking for what follows changes nothing, so that it can be asked for again.
            let Ok(Ok(response)) = tokio::time::timeout_at(self.until, asked).await else { continue };
            if response.status().is_success() && is_event_stream(response.headers()) {
                self.begun = true;
                return Some(response.into_body());
            }
            if !may_say_more_later(response.status()) {
                return None;
            }
        }
    }
}

/// Whether a server that refuses to say what follows, or to hear something, may do so later.
pub(super) fn may_say_more_later(status: StatusCode) -> bool {
    match status {
        // The TypeScript SDK says 409 until it has noticed that the connection before has broken.
        StatusCode::CONFLICT
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS => true,
        status => status.is_server_error(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::super::{Lane, Route};
    use super::*;

    #[tokio::test]
    async fn what_follows_on_a_stream_is_not_read_for_longer_than_it_is_of_use() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut read = [0; 4096];
                    let count = connection.read(&mut read).await.unwrap();
                    const HEAD: &[u8] =
                        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                    connection.write_all(HEAD).await.unwrap();
                    if read[..count].starts_with(b"POST") {
                        return connection.write_all(b"id: 1\nretry: 50\ndata:\n\n").await.unwrap();
                    }
                    while connection.write_all(b": still here\n\n").await.is_ok() {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                });
            }
        });
        let lane = Lane::http(&Arc::new(HttpUpstream::new(uri, Vec::new())), own_headers(), None);
        let route = Route { id: "1".to_owned(), progress: None };
        let asked = async {
            let answer = lane.ask(Bytes::from_static(b"{}"), route).await?;
            answer.conclude_within(Some(Duration::from_millis(500)), "1").await
        };
        let answer = tokio::time::timeout(Duration::from_secs(10), asked).await.expect("it has no end");
        assert_eq!(answer.err(), Some(SendError::Lost("its answer did not come in time".to_owned())));
    }

    #[test]
    fn a_server_that_has_not_noticed_that_the_connection_broke_is_asked_again() {
        for (status, again) in [
            (409, true),
            (408, true),
            (425, true),
            (429, true),
            (503, true),
            (404, false),
            (405, false),
            (400, false),
        ] {
            assert_eq!(may_say_more_later(StatusCode::from_u16(status).unwrap()), again, "{status}");
        }
    }
}
