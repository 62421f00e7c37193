//! Accepting an invitation.

use maud::{Markup, html};

use crate::frame::bare;
use crate::parts::hidden;
use crate::passkey::{Ask, elsewhere};
use crate::text::Foreign;

/// A secret for an authenticator app, and how an app reads it.
#[derive(Debug, Clone)]
pub struct AppSecret {
    /// As a person types it.
    pub secret: String,
    /// As a QR code says it.
    pub uri: String,
}

/// The page of an invitation.
#[derive(Debug, Clone)]
pub struct JoinPage<'a> {
    /// The code of the link.
    pub code: &'a str,
    /// Whom it is for: id and name.
    pub user: (&'a str, &'a str),
    /// What to ask a passkey, where passkeys work.
    pub ask: Option<Ask>,
    /// Where passkeys work, if not here.
    pub passkeys_at: Option<&'a str>,
    /// What to show an app.
    pub app: AppSecret,
    /// What went wrong before.
    pub refused: Option<&'a str>,
}

impl JoinPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self) -> String {
        let code = hidden("code", self.code);
        bare(
            "Welcome",
            &html! {
                h1 { "Welcome, " (Foreign(self.user.1)) }
                p { "You were invited to decide what AI agents may do. Choose how you will sign in." }
                @if let Some(refused) = self.refused { p.notice.refused role="alert" { (Foreign(refused)) } }
                section.panel aria-label="With a passkey" {
                    h2 { "With a passkey" }
                    p { "A fingerprint, a face, a PIN or a security key. Nobody can ask you for it by mail." }
                    @match &self.ask {
                        Some(ask) => { (ask.create("/join/passkey", "Set up a passkey", self.user, &code)) }
                        None => { (elsewhere(self.passkeys_at)) }
                    }
                }
                section.panel aria-label="With a password" {
                    h2 { "With a password and an authenticator app" }
                    form method="post" action="/join/password" {
                        (code)
                        (password_fields(self.user.1, &self.app))
                        button { "Set the password" }
                    }
                }
            },
        )
    }
}

/// The fields of a new password: it always comes with an app.
pub(crate) fn password_fields(name: &str, app: &AppSecret) -> Markup {
    html! {
        input.away type="text" name="username" value=(name) autocomplete="username" readonly tabindex="-1" aria-hidden="true";
        (hidden("totp_secret", &app.secret))
        label.field { span { "Password, at least 12 characters" } input type="password" name="password" required minlength="12" autocomplete="new-password"; }
        p { "Add this to your authenticator app, by the picture or by hand:" }
        (picture(&app.uri))
        p { code.secret { (app.secret) } }
        label.field { span { "The code that the app shows now" } input type="text" name="totp_code" required inputmode="numeric" pattern="[0-9 ]{6,7}" autocomplete="one-time-code"; }
    }
}

/// A QR code.
fn picture(text: &str) -> Markup {
    let Ok(code) = qrcodegen::QrCode::encode_text(text, qrcodegen::QrCodeEcc::Medium) else {
        return html! {};
    };
    let size = code.size();
    let mut path = String::new();
    for y in 0..size {
        for x in (0..size).filter(|x| code.get_module(*x, y)) {
            path.push_str(&format!("M{x} {y}h1v1h-1z"));
        }
    }
    let frame = format!("-4 -4 {0} {0}", size + 8);
    html! {
        svg.qr viewBox=(frame) role="img" aria-label="QR code for your authenticator app" width="200" height="200" {
            rect x="-4" y="-4" width="100%" height="100%" fill="#fff" {}
            path d=(path) fill="#000" {}
        }
    }
}

/// Recovery codes, shown once.
#[must_use]
pub fn recovery_codes(codes: &[String]) -> String {
    bare(
        "Recovery codes",
        &html! {
            h1 { "Your recovery codes" }
            p { "Each signs you in once, with your password, when you do not have your authenticator app. Keep them where you keep your keys; they are shown only now." }
            ul.codes { @for code in codes { li { code { (code) } } } }
            p { a.button.strong href="/" { "I have written them down" } }
        },
    )
}
