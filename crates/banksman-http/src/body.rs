//! Reading request bodies: strictly, and with errors that help.

use std::error::Error as _;
use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::rejection::{FormRejection, PathRejection, QueryRejection};
use axum::extract::{Form, FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use banksman_core::json::{self, Json};
use http_body_util::LengthLimitError;
use serde::de::DeserializeOwned;

use crate::App;
use crate::problem::{Code, ProblemError};

/// No request needs more.
const MAX_BODY: usize = 1024 * 1024;

/// No message to an MCP server needs more.
const MAX_MESSAGE: usize = 4 * 1024 * 1024;

/// Nobody takes longer for a body, besides what the largest that is allowed takes over a slow line: whoever sends a head
/// and nothing else would hold a connection for nothing, also without a credential.
const PATIENCE: Duration = Duration::from_secs(30);
const SLOW_LINE_BYTES_PER_SECOND: usize = 64 * 1024;

/// A body that is one strict JSON value.
pub(crate) struct JsonBody(pub(crate) Json);

impl FromRequest<App> for JsonBody {
    type Rejection = ProblemError;

    async fn from_request(request: Request, _app: &App) -> Result<Self, Self::Rejection> {
        let bytes = bytes(request.into_body()).await?;
        Ok(Self(strict(&bytes)?))
    }
}

/// A body that is a strict JSON value of a known shape. An empty body counts as `{}`.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = ProblemError;

    async fn from_request(request: Request, _app: &App) -> Result<Self, Self::Rejection> {
        let bytes = bytes(request.into_body()).await?;
        let bytes = if bytes.is_empty() { Bytes::from_static(b"{}") } else { bytes };
        // Strictness first: what serde would quietly accept (duplicate keys deep inside, NUL) ends here.
        strict(&bytes)?;
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| ProblemError::new(Code::InvalidRequest, error.to_string()))
    }
}

/// A form that a browser sent.
pub(crate) struct FormBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for FormBody<T> {
    type Rejection = ProblemError;

    async fn from_request(request: Request, app: &App) -> Result<Self, Self::Rejection> {
        let (parts, body) = request.into_parts();
        let request = Request::from_parts(parts, bytes(body).await?.into());
        let form: Result<Form<T>, FormRejection> = Form::from_request(request, app).await;
        form.map(|form| Self(form.0))
            .map_err(|rejection| ProblemError::new(Code::InvalidRequest, rejection.body_text()))
    }
}

/// A message for an MCP server, as it was sent. Tools write files, so it may be longer than other requests.
pub(crate) struct RawBody(pub(crate) Bytes);

impl FromRequest<App> for RawBody {
    type Rejection = ProblemError;

    async fn from_request(request: Request, _app: &App) -> Result<Self, Self::Rejection> {
        limited(request.into_body(), MAX_MESSAGE).await.map(Self)
    }
}

/// What a provider sent, byte for byte, because it is signed.
pub(crate) struct SignedBody(pub(crate) Bytes);

impl FromRequest<App> for SignedBody {
    type Rejection = ProblemError;

    async fn from_request(request: Request, _app: &App) -> Result<Self, Self::Rejection> {
        bytes(request.into_body()).await.map(Self)
    }
}

async fn bytes(body: axum::body::Body) -> Result<Bytes, ProblemError> {
    limited(body, MAX_BODY).await
}

async fn limited(body: axum::body::Body, limit: usize) -> Result<Bytes, ProblemError> {
    let slow_line = Duration::from_secs((limit / SLOW_LINE_BYTES_PER_SECOND) as u64);
    limited_to(PATIENCE + slow_line, body, limit).await
}

async fn limited_to(time: Duration, body: axum::body::Body, limit: usize) -> Result<Bytes, ProblemError> {
    let Ok(read) = tokio::time::timeout(time, to_bytes(body, limit)).await else {
        return Err(ProblemError::new(Code::BodyTooSlow, "the rest of the body did not come in time"));
    };
    read.map_err(|error| {
        if error.source().is_some_and(|source| source.is::<LengthLimitError>()) {
            let mib = limit / (1024 * 1024);
            ProblemError::new(Code::BodyTooLarge, format!("a request has at most {mib} MiB"))
        } else {
            ProblemError::new(Code::InvalidRequest, "the body could not be read")
        }
    })
}

fn strict(bytes: &[u8]) -> Result<Json, ProblemError> {
    json::parse(bytes).map_err(|error| ProblemError::new(Code::InvalidJson, error.to_string()))
}

/// A part of the path that is an id; anything else names nothing.
pub(crate) struct IdPath<T>(pub(crate) T);

impl<T: std::str::FromStr + Send> FromRequestParts<App> for IdPath<T> {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let not_found = || ProblemError::new(Code::NotFound, "there is nothing by that id");
        let path: Result<Path<String>, PathRejection> = Path::from_request_parts(parts, app).await;
        path.map_err(|_| not_found())?.0.parse().map(Self).map_err(|_| not_found())
    }
}

/// Query parameters of a known shape.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Params<T> {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let query: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, app).await;
        query
            .map(|query| Self(query.0))
            .map_err(|error| ProblemError::new(Code::InvalidRequest, error.body_text()))
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn a_body_that_does_not_come_ends_its_connection() {
        let read = |request: Request| async {
            let body = limited_to(Duration::from_millis(50), request.into_body(), 100).await;
            body.map(|body| body.len().to_string())
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server =
            tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(read))).await });
        for (length, answer) in [(4, "HTTP/1.1 200 OK"), (5, "HTTP/1.1 408 Request Timeout")] {
            let mut client = TcpStream::connect(address).await.unwrap();
            let sent = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\nfour");
            client.write_all(sent.as_bytes()).await.unwrap();
            let mut said = vec![0; 4096];
            let first = client.read(&mut said).await.unwrap();
            let head = String::from_utf8_lossy(&said[..first]).into_owned();
            assert!(head.starts_with(answer), "{head}");
            if length == 5 {
                assert!(head.contains("connection: close") && head.contains("body_too_slow"), "{head}");
                let end = tokio::time::timeout(Duration::from_secs(10), client.read(&mut said)).await;
                assert_eq!(end.expect("it is held open").unwrap_or(0), 0);
            }
        }
        server.abort();
    }
}
