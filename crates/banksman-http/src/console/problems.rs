//! Problems in words: a browser gets a page, everyone else the problem document.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use banksman_core::wire::Problem;

use super::html;
use super::visit::own_page;

pub(crate) async fn for_people(request: Request, next: Next) -> Response {
    let reads_pages = wants_a_page(request.headers());
    let page = own_page(request.uri().path()).to_owned();
    let response = next.run(request).await;
    let Some(problem) = response.extensions().get::<Arc<Problem>>().filter(|_| reads_pages) else {
        return response;
    };
    let words = if response.status() == StatusCode::UNAUTHORIZED {
        banksman_web::signed_out(&page)
    } else {
        banksman_web::problem(&problem.title, &problem.detail)
    };
    html(response.status(), words)
}

fn wants_a_page(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/html")))
}
