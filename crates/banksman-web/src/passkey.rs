//! Forms that a passkey answers.

use maud::{Markup, html};

use crate::parts::hidden;

/// What a page asks the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The challenge, in base64url.
    pub challenge: String,
    /// The site.
    pub rp_id: String,
    /// Which passkeys may answer, or for a new one, which there are already.
    pub passkeys: Vec<String>,
}

impl Ask {
    /// A form that is sent once a passkey has signed. Without scripts there is no passkey, and the form says so.
    pub(crate) fn get(&self, action: &str, button: &str, fields: &Markup) -> Markup {
        html! {
            form.passkey method="post" action=(action) data-passkey="get" data-challenge=(self.challenge) data-rp=(self.rp_id) data-passkeys=(self.passkeys.join(" ")) {
                (fields)
                (hidden("passkey", "")) (hidden("client_data", "")) (hidden("authenticator_data", "")) (hidden("signature", ""))
                button.approve.large.scripted { (button) }
                (afterwards())
            }
        }
    }

    /// A form that is sent once a passkey was made for someone.
    pub(crate) fn create(&self, action: &str, button: &str, user: (&str, &str), fields: &Markup) -> Markup {
        let (id, name) = user;
        html! {
            form.passkey method="post" action=(action) data-passkey="create" data-challenge=(self.challenge) data-rp=(self.rp_id) data-passkeys=(self.passkeys.join(" ")) data-user=(id) data-name=(name) {
                (fields)
                (hidden("challenge", &self.challenge)) (hidden("client_data", "")) (hidden("attestation", ""))
                label.field { span { "What you call it" } input type="text" name="label" maxlength="64" placeholder="such as: blue key, phone" autocomplete="off"; }
                button.approve.scripted { (button) }
                (afterwards())
            }
        }
    }
}

fn afterwards() -> Markup {
    html! {
        p.problem role="alert" data-passkey-problem hidden {}
        noscript { p.quiet { "Passkeys need scripts, which this browser does not run here." } }
    }
}

/// Where passkeys work, for someone who is elsewhere.
pub(crate) fn elsewhere(origin: Option<&str>) -> Markup {
    html! {
        @if let Some(origin) = origin {
            p.quiet { "Passkeys work at " a href=(origin) { (origin) } ", not at the address that you are at." }
        } @else {
            p.quiet { "Passkeys need an address with a name: start the server with " code { "--public-url https://NAME" } "." }
        }
    }
}
