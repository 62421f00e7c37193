//! `/assets/{name}`: style, scripts, the icon.

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;

use super::Page;
use crate::problem::{Code, ProblemError};

pub(crate) async fn asset(Path(name): Path<String>) -> Page {
    let asset = banksman_web::asset(&name)
        .ok_or_else(|| ProblemError::new(Code::NotFound, "there is no such file"))?;
    let headers = [
        (CONTENT_TYPE.as_str(), asset.media_type),
        (CACHE_CONTROL.as_str(), "max-age=300"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    Ok((headers, asset.text).into_response())
}
