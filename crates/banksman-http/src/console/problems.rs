//! Problems in words: a browser gets a page, everyone else the problem document.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{ACCEPT, REFERER};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use banksman_core::wire::Problem;

use super::html;
use super::visit::own_page;

pub(crate) async fn for_people(request: Request, next: Next) -> Response {
    let reads_pages = wants_a_page(request.headers());
    let page = back_to(&request);
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

/// Where someone goes on who has to sign in first. Where a form is sent there is no page, so that whoever sent one gets back
/// to the page that it stood on: the browser names it, and whatever it names is only followed within our own pages.
fn back_to(request: &Request) -> String {
    if request.method() != Method::POST {
        return own_page(request.uri().path()).to_owned();
    }
    let named = request.headers().get(REFERER).and_then(|page| page.to_str().ok()?.parse::<Uri>().ok());
    let path = named.as_ref().map_or("/", Uri::path);
    // The answer to a form is at the address of the form.
    own_page(path.strip_suffix("/decide").or(path.strip_suffix("/cancel")).unwrap_or(path)).to_owned()
}

fn wants_a_page(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/html")))
}
