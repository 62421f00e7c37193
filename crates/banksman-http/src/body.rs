//! Reading request bodies: strictly, and with errors that help.

use std::error::Error as _;

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
    to_bytes(body, limit).await.map_err(|error| {
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
