//! One's own account: the ways to sign in, and the browsers that are signed in.

use banksman_core::visible::VisibleJson;
use banksman_core::{PersonId, SignInMethod, Timestamp, TokenId};
use maud::{Markup, html};

use crate::frame::{Frame, Place};
use crate::join::{AppSecret, password_fields};
use crate::moment::moment;
use crate::parts::hidden;
use crate::passkey::{Ask, elsewhere};
use crate::text::Foreign;

/// A passkey of one's own.
#[derive(Debug, Clone)]
pub struct OwnPasskey<'a> {
    /// Its id.
    pub id: &'a str,
    /// What its owner calls it.
    pub label: &'a str,
    /// Since when.
    pub added_at: Timestamp,
}

/// A browser that is signed in.
#[derive(Debug, Clone)]
pub struct OwnSession {
    /// Its id.
    pub id: TokenId,
    /// How it was begun.
    pub method: SignInMethod,
    /// What the browser says that it is.
    pub browser: String,
    /// Since when.
    pub since: Timestamp,
    /// Whether it is this one.
    pub is_this: bool,
}

/// The page of one's account.
#[derive(Debug, Clone)]
pub struct AccountPage<'a> {
    /// Who, if they are a person of the house.
    pub id: PersonId,
    /// What to ask a new passkey, where passkeys work.
    pub ask: Option<Ask>,
    /// Where passkeys work, if not here.
    pub passkeys_at: Option<&'a str>,
    /// What to show an app.
    pub app: AppSecret,
    /// The passkeys that there are.
    pub passkeys: Vec<OwnPasskey<'a>>,
    /// Whether there is a password.
    pub has_password: bool,
    /// How many recovery codes are left.
    pub recovery_codes: usize,
    /// The browsers that are signed in.
    pub sessions: Vec<OwnSession>,
}

impl AccountPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let csrf = hidden("csrf", frame.viewer.csrf);
        let id = self.id.to_string();
        let none = self.passkeys.is_empty() && !self.has_password;
        frame.page(
            Place::Account,
            "Your account",
            &html! {
                h1 { "Your account" }
                @if none {
                    p.notice.refused role="status" { strong { "Set up a way to sign in now." } " The link that brought you here works only once." }
                }
                section.panel.narrow aria-label="Passkeys" {
                    h2 { "Passkeys" }
                    @if self.passkeys.is_empty() { p.quiet { "None yet." } }
                    ul.plain { @for passkey in &self.passkeys { li {
                        form.inline method="post" action="/account/passkeys/remove" {
                            (csrf) (hidden("passkey", passkey.id))
                            b { (Foreign(passkey.label)) } span.quiet { " since " (moment(passkey.added_at)) " " }
                            button.plain aria-label=(VisibleJson(&format!("Remove the passkey {}", passkey.label)).to_string()) { "Remove" }
                        }
                    } } }
                    @match &self.ask {
                        Some(ask) => { (ask.create("/account/passkeys", "Add a passkey", (&id, frame.viewer.name), &csrf)) }
                        None => { (elsewhere(self.passkeys_at)) }
                    }
                }
                (self.password(frame, &csrf))
                (self.browsers(&csrf))
            },
        )
    }

    fn password(&self, frame: &Frame<'_>, csrf: &Markup) -> Markup {
        html! {
            section.panel.narrow aria-label="Password" {
                h2 { "Password and authenticator app" }
                @if self.has_password {
                    p { "Both are set. " (self.recovery_codes) " recovery codes are left." }
                    form.inline method="post" action="/account/recovery-codes" { (csrf) button { "New recovery codes" } }
                    form.inline method="post" action="/account/password/remove" { (csrf) button.plain { "Remove the password" } }
                }
                details open[!self.has_password && self.passkeys.is_empty()] {
                    summary { @if self.has_password { "Change the password and the app" } @else { "Set a password" } }
                    form method="post" action="/account/password" {
                        (csrf)
                        (password_fields(frame.viewer.name, &self.app))
                        button { "Set the password" }
                    }
                }
            }
        }
    }

    fn browsers(&self, csrf: &Markup) -> Markup {
        html! {
            section.panel aria-label="Browsers" {
                h2 { "Browsers that are signed in" }
                ul.plain { @for session in &self.sessions { li {
                    form.inline method="post" action=(format!("/account/sessions/{}/end", session.id)) {
                        (csrf)
                        b { (Foreign(&session.browser)) }
                        span.quiet { " since " (moment(session.since)) ", by " (session.method.as_str().replace('_', " ")) " " }
                        @if session.is_this { "· this one" } @else { button.plain { "Sign out" } }
                    }
                } } }
                form method="post" action="/account/sign-out-everywhere" { (csrf) button.deny { "Sign out everywhere" } }
            }
        }
    }
}
