//! Reading request bodies: strictly, and with errors that help.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FormRejection, PathRejection, QueryRejection};
use axum::extract::{Form, FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use banksman_core::json::{self, Json};
use serde::de::DeserializeOwned;

use crate::App;
use crate::problem::{Code, ProblemError};

/// A body that is one strict JSON value.
pub(crate) struct JsonBody(pub(crate) Json);

impl FromRequest<App> for JsonBody {
    type Rejection = ProblemError;

    async fn from_request(request: Request, app: &App) -> Result<Self, Self::Rejection> {
        let bytes = bytes(request, app).await?;
        Ok(Self(strict(&bytes)?))
    }
}

/// A body that is a strict JSON value of a known shape. An empty body counts as `{}`.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = ProblemError;

    async fn from_request(request: Request, app: &App) -> Result<Self, Self::Rejection> {
        let bytes = bytes(request, app).await?;
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
        let form: Result<Form<T>, FormRejection> = Form::from_request(request, app).await;
        form.map(|form| Self(form.0)).map_err(|rejection| match rejection {
            FormRejection::BytesRejection(rejection) => unreadable(rejection),
            other => ProblemError::new(Code::InvalidRequest, other.body_text()),
        })
    }
}

async fn bytes(request: Request, app: &App) -> Result<Bytes, ProblemError> {
    Bytes::from_request(request, app).await.map_err(unreadable)
}

fn unreadable(rejection: BytesRejection) -> ProblemError {
    match rejection {
        BytesRejection::FailedToBufferBody(inner)
            if inner.status() == axum::http::StatusCode::PAYLOAD_TOO_LARGE =>
        {
            ProblemError::new(Code::BodyTooLarge, "a request has at most 2 MiB")
        }
        _ => ProblemError::new(Code::InvalidRequest, "the body could not be read"),
    }
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
