//! Problems in words: a browser gets a page, everyone else the problem document.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use banksman_core::wire::Problem;

use super::html;

pub(crate) async fn for_people(request: Request, next: Next) -> Response {
    let reads_pages = wants_a_page(request.headers());
    let response = next.run(request).await;
    let problem = response.extensions().get::<Arc<Problem>>();
    match problem.filter(|_| reads_pages) {
        None => response,
        Some(problem) if response.status() == StatusCode::UNAUTHORIZED => {
            let mut page = html(response.status(), banksman_web::signed_out());
            page.headers_mut().extend(www_authenticate(&response));
            let _ = problem;
            page
        }
        Some(problem) => html(response.status(), banksman_web::problem(&problem.title, &problem.detail)),
    }
}

fn www_authenticate(response: &Response) -> Option<(axum::http::HeaderName, axum::http::HeaderValue)> {
    let name = axum::http::header::WWW_AUTHENTICATE;
    response.headers().get(&name).map(|value| (name, value.clone()))
}

fn wants_a_page(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/html")))
}
