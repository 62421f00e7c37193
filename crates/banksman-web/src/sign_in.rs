//! Pages for those who have not signed in, and for what went wrong.

use maud::html;

use crate::frame::bare;
use crate::parts::hidden;
use crate::text::Foreign;

/// For strangers.
#[must_use]
pub fn signed_out() -> String {
    bare(
        "Sign in",
        &html! {
            h1 { "Sign in" }
            p { "This server holds what AI agents want to do until a person gives the signal." }
            p { "To sign in, use the link that " code { "banksman serve" } " printed when it first started. From a terminal, " code { "banksman pending" } " shows what waits." }
            p.quiet { "For agents: the API is described at " a href="/openapi.json" { "/openapi.json" } "." }
        },
    )
}

/// Asks for a click, because scanners of mail follow links.
#[must_use]
pub fn sign_in(code: &str) -> String {
    bare(
        "Sign in",
        &html! {
            h1 { "Sign in to Banksman" }
            form method="post" action="/sign-in" {
                (hidden("code", code))
                button.approve.large autofocus { "Sign in" }
            }
        },
    )
}

/// The code does not work.
#[must_use]
pub fn bad_code() -> String {
    bare(
        "Sign in",
        &html! {
            h1 { "This link does not work any more" }
            p { "A sign-in link works once, within 15 minutes, and until the server restarts. Until the console has more ways in, use the command line: "
                code { "banksman token new --kind reviewer --name you" } ", then " code { "banksman pending" } "." }
        },
    )
}

/// What went wrong, for a browser.
#[must_use]
pub fn problem(title: &str, detail: &str) -> String {
    bare(
        title,
        &html! {
            h1 { (title) }
            p { (Foreign(detail)) }
            p { a.button href="/" { "To the inbox" } }
        },
    )
}
