//! The routes of the pages: for browsers, by a session.

use axum::http::header::STRICT_TRANSPORT_SECURITY;
use axum::http::{HeaderValue, Method};
use axum::middleware::from_fn;
use axum::response::Response;

use super::{Route, route};
use crate::Access::{Public, Session};
use crate::App;
use crate::console::{
    action, assets, audit, batch, decide, house, inbox, live, overview, policy, problems, settings,
};
use crate::openapi::{Operation, Parameter};
use crate::problem::Code;

/// A page for someone who signed in.
pub(super) fn page<H, T>(path: &'static str, handler: H, id: &'static str, summary: &'static str) -> Route
where
    H: axum::handler::Handler<T, App>,
    T: 'static,
{
    let mut operation =
        Operation::new(id, summary).answers_with(200, "A page", "text/html").fails(&[Code::InvalidRequest]);
    if path.contains("{id}") {
        operation = operation.fails(&[Code::NotFound]);
    }
    route(Method::GET, path, Session, handler, operation)
}

/// A form of such a page.
pub(super) fn form<H, T>(path: &'static str, handler: H, id: &'static str, summary: &'static str) -> Route
where
    H: axum::handler::Handler<T, App>,
    T: 'static,
{
    let mut operation = Operation::new(id, summary)
        .takes_form::<crate::console::PageForm>()
        .answers_with(200, "A page", "text/html")
        .answers_nothing(303, "Done")
        .answers_with(409, "Not done, and why", "text/html");
    if path.contains("{id}") || path == "/decide" || path == "/cancel" {
        operation = operation.fails(&[Code::NotFound]);
    }
    route(Method::POST, path, Session, handler, operation)
}

/// Once a browser came over TLS, it comes no other way: nobody between gets a first request in the clear.
pub(super) async fn only_over_tls(mut response: Response) -> Response {
    response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=63072000"));
    response
}

/// Every route of the console. A problem is a page to a browser, and a problem document to everyone else.
pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        route(
            Method::GET,
            "/",
            Public,
            inbox::home,
            Operation::new("home", "What waits, for a signed-in browser; how to sign in, for others")
                .answers_with(200, "A page", "text/html")
                .fails(&[Code::InvalidRequest]),
        ),
        page(
            "/actions/{id}",
            action::show,
            "actionPage",
            "What will run, and everything that bears on the decision",
        ),
        page("/actions/{id}/edit", action::edit, "editPage", "Edit the arguments"),
        form("/actions/{id}/edit", action::preview, "previewEdit", "Shows what an edit changes"),
        form("/decide", decide::decide, "decideFromPage", "The buttons of the pages"),
        form("/cancel", decide::cancel, "cancelFromPage", "Takes an authorisation back"),
        page("/batches/{id}", batch::show, "batchPage", "Every item of a batch"),
        form("/batches/{id}/decide", batch::decide, "decideBatchFromPage", "Decide all, some or none"),
        page("/grants", house::grants, "grantsPage", "Remembered approvals"),
        form("/grants", house::grant, "grantFromPage", "Grant in advance"),
        form("/grants/{id}/revoke", house::revoke_grant, "revokeGrantFromPage", "Revoke a grant"),
        page("/delegations", house::delegations, "delegationsPage", "Whose roles others may use"),
        form("/delegations", house::delegate, "delegateFromPage", "Lend roles"),
        form(
            "/delegations/{id}/revoke",
            house::revoke_delegation,
            "revokeDelegationFromPage",
            "End a delegation",
        ),
        page("/freezes", house::freezes, "freezesPage", "The kill switch"),
        form("/freezes", house::freeze, "freezeFromPage", "Freeze an agent, a tool or everything"),
        form("/freezes/{id}/lift", house::lift, "liftFreezeFromPage", "Lift a freeze"),
        page("/mode", house::mode, "modePage", "How strict the house is"),
        form("/mode", house::change_mode, "changeModeFromPage", "Change the mode"),
        form("/mode/fallback", house::fall_back, "fallBackFromPage", "Fall back to shadow"),
        page("/overview", overview::overview, "overviewPage", "What waits now, and what happened lately"),
        page("/audit", audit::audit, "auditPage", "The audit log, to read"),
        route(
            Method::GET,
            "/audit/export",
            Session,
            audit::export,
            Operation::new("exportAudit", "All events that match, oldest first, as JSON lines")
                .answers_with(200, "One event a line", "application/jsonl")
                .fails(&[Code::InvalidRequest]),
        ),
        page("/policy", policy::policy, "policyPage", "Which policy is in force, and its rules"),
        page("/policy/built-in", policy::looked_for, "lookedForPage", "What reading an action looks for"),
        form("/policy/explain", policy::explain, "explainFromPage", "What policy would say of an action"),
        page("/settings", settings::settings, "settingsPage", "How someone likes the pages"),
        form(
            "/settings",
            settings::save,
            "saveSettings",
            "Keeps how someone likes the pages, in their browser",
        ),
        page("/guide", settings::guide, "guidePage", "The first steps"),
        form("/guide/dismiss", settings::dismiss, "dismissGuide", "Puts the guide away for good"),
        form("/guide/sample", settings::sample, "makeSample", "Proposes something to try deciding on"),
        route(
            Method::GET,
            "/live",
            Session,
            live::stream,
            Operation::new("live", "What changes, in short, for pages that are open")
                .with(Parameter::query("since", "continue behind this event").number(0))
                .answers_with(200, "An endless stream", "text/event-stream"),
        ),
        route(
            Method::GET,
            "/assets/{name}",
            Public,
            assets::asset,
            Operation::new("asset", "Style, scripts and the icon of the pages")
                .answers_with(200, "A style sheet", "text/css")
                .answers_with(200, "A script", "text/javascript")
                .answers_with(200, "The icon", "image/svg+xml")
                .fails(&[Code::NotFound]),
        ),
    ];
    routes.extend(super::people::pages());
    for route in &mut routes {
        let handler = std::mem::take(&mut route.handler);
        route.handler = handler.layer(from_fn(problems::for_people));
    }
    routes
}
