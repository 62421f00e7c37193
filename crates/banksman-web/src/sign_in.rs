//! Pages for those who have not signed in, and for what went wrong.

use maud::html;

use crate::frame::bare;
use crate::parts::hidden;
use crate::passkey::{Ask, elsewhere};
use crate::text::Foreign;

/// The ways in.
#[derive(Debug, Clone, Default)]
pub struct SignInPage<'a> {
    /// What to ask a passkey, where passkeys work.
    pub ask: Option<Ask>,
    /// Where passkeys work, if not here.
    pub passkeys_at: Option<&'a str>,
    /// The identity provider, by the name that people know it by.
    pub provider: Option<&'a str>,
    /// Where to go then.
    pub next: &'a str,
    /// What went wrong before.
    pub refused: Option<&'a str>,
}

impl SignInPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self) -> String {
        bare(
            "Sign in",
            &html! {
                h1 { "Sign in" }
                p { "This server holds what AI agents want to do until a person gives the signal." }
                @if let Some(refused) = self.refused { p.notice.refused role="alert" { (Foreign(refused)) } }
                @if let Some(provider) = self.provider {
                    p { a.button.strong href=(format!("/sign-in/provider?next={}", self.next)) { "Sign in with " (Foreign(provider)) } }
                }
                @match &self.ask {
                    Some(ask) => { (ask.get("/sign-in/passkey", "Sign in with a passkey", &hidden("next", self.next))) }
                    None => { (elsewhere(self.passkeys_at)) }
                }
                form method="post" action="/sign-in/password" {
                    (hidden("next", self.next))
                    label.field { span { "Name" } input type="text" name="name" required autocomplete="username webauthn" autocapitalize="none" spellcheck="false"; }
                    label.field { span { "Password" } input type="password" name="password" required autocomplete="current-password"; }
                    label.field { span { "Code of your authenticator app, or a recovery code" } input type="text" name="code" required autocomplete="one-time-code" autocapitalize="none" spellcheck="false"; }
                    button { "Sign in with a password" }
                }
                p.quiet { "No way in yet? Ask an administrator for an invitation. On the server's machine, " code { "banksman user sign-in-link NAME" } " makes a link that works once. For agents, the API is described at " a href="/openapi.json" { "/openapi.json" } "." }
            },
        )
    }
}

/// For strangers who came to a page.
#[must_use]
pub fn signed_out(page: &str) -> String {
    bare(
        "Sign in",
        &html! {
            h1 { "Sign in" }
            p { "This page is for people who have signed in." }
            p { a.button.strong href=(format!("/sign-in?next={page}")) { "Sign in" } }
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
            p { "A sign-in link works once, within 15 minutes; an invitation once, within three days. On the server's machine, "
                code { "banksman user sign-in-link NAME" } " makes another." }
            p { a.button href="/sign-in" { "Other ways to sign in" } }
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
