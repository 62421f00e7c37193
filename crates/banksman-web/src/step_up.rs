//! A decision that a passkey has to sign.

use banksman_core::json::CanonicalJson;
use banksman_core::wire::ActionView;
use banksman_core::{Decision, Digest};
use banksman_review::decided;
use maud::html;

use crate::FormField;
use crate::frame::{Frame, Place};
use crate::parts::hidden;
use crate::passkey::Ask;
use crate::text::Foreign;
use crate::values::{Extent, table};

/// What would run, as it is signed.
#[derive(Debug, Clone, Copy)]
pub struct Signs<'a> {
    /// Its digest.
    pub digest: Digest,
    /// Its version.
    pub version: u32,
    /// Its arguments, as people get to see them.
    pub args: &'a CanonicalJson,
}

/// The page between a button and what it does.
#[derive(Debug, Clone)]
pub struct StepUpPage<'a> {
    /// What it is about.
    pub action: &'a ActionView,
    /// What was decided.
    pub decision: Decision,
    /// What is signed: for an edit, what it makes.
    pub signs: Signs<'a>,
    /// What to ask the passkey.
    pub ask: Ask,
    /// What makes the question unlike any other.
    pub nonce: &'a str,
    /// What the form before had sent, to be sent again.
    pub fields: &'a [FormField],
}

impl StepUpPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let Self { action, decision, signs, ask, nonce, fields } = self;
        let again = html! {
            @for (name, value) in fields.iter().filter(|(name, _)| !OURS.contains(&name.as_str())) { (hidden(name, value)) }
            (hidden("nonce", nonce))
        };
        frame.page_at(
            Place::Action,
            &format!("/actions/{}", action.id),
            "Touch your passkey",
            &html! {
                h1 { "Touch your passkey" }
                p { "Policy asks for it, so that it can be proved later who let this run. You are about to have "
                    b { (decided(*decision)) } " version " (signs.version) " of " b { (Foreign(&action.tool)) } " by " (Foreign(&action.agent)) "." }
                section.panel aria-label="What would run" {
                    h2 { "What would run" @if *decision == Decision::Modify { ", with your edit" } }
                    (table(signs.args, &action.verdict.redact, &[], Extent::Whole))
                }
                p.quiet { "It will sign the digest of this, " code { (signs.digest) } ", this decision, and nothing else." }
                (ask.get("/decide", "Sign with your passkey", &again))
                p { a.button.plain href=(format!("/actions/{}", action.id)) { "Back" } }
            },
        )
    }
}

/// What the form of this page sends itself.
const OURS: &[&str] = &["nonce", "passkey", "client_data", "authenticator_data", "signature"];
