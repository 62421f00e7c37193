//! What a mail says, twice: as plain text and as HTML.

use std::fmt::Write as _;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use crate::wording::{facts, headline, one_line, remarks};
use crate::{Card, Message, Purpose};

/// Longer subjects are cut by readers anyway.
const SUBJECT: usize = 120;

const LISTED: usize = 50;

const FOOTER: &str =
    "No link in this mail decides anything by itself. Whoever forwards it gives no rights away.";

/// The subject: one line, whatever agents call their tools.
pub(super) fn subject(message: &Message) -> String {
    let about = match message.cards.first() {
        Some(card) if !message.is_list() => format!(": {} ({} risk)", card.tool, card.risk),
        Some(_) | None => String::new(),
    };
    let subject: String = format!("{}{about}", headline(message)).chars().take(SUBJECT).collect();
    format!("[Banksman] {subject}")
}

/// The plain part.
pub(super) fn plain(message: &Message) -> String {
    let mut out = format!("{}\n\n", headline(message));
    match (message.purpose, message.cards.as_slice()) {
        (Purpose::Test, _) | (_, []) => {}
        (_, cards) if message.is_list() => {
            for card in cards.iter().take(LISTED) {
                let _ = writeln!(out, "- {}\n  {}", one_line(card), card.link);
            }
            if let Some(more) = more(cards) {
                let _ = writeln!(out, "- and {more} more");
            }
        }
        (_, [card, ..]) => whole(&mut out, message, card),
    }
    let _ = write!(out, "\n-- \n{FOOTER}\n");
    out
}

fn whole(out: &mut String, message: &Message, card: &Card) {
    for (label, text) in facts(card) {
        let _ = writeln!(out, "{label}: {text}");
    }
    out.push_str("\nArguments:\n");
    for argument in &card.arguments {
        let _ = writeln!(out, "  {} = {}", argument.name, argument.shown);
    }
    if card.left_out > 0 {
        let _ = writeln!(out, "  and {} more, on its page", card.left_out);
    }
    out.push('\n');
    for (whose, text) in remarks(card) {
        let _ = writeln!(out, "{whose}: {text}");
    }
    let verb = if message.purpose.asks() { "Review it and decide" } else { "See it" };
    let _ =
        writeln!(out, "\n{verb}: {}\n{} version {}\n{}", card.link, card.action, card.version, card.digest);
}

fn more(cards: &[Card]) -> Option<usize> {
    cards.len().checked_sub(LISTED).filter(|more| *more > 0)
}

/// The HTML part. No pictures, no scripts, nothing from elsewhere.
pub(super) fn html(message: &Message) -> String {
    let inside = match (message.purpose, message.cards.as_slice()) {
        (Purpose::Test, _) | (_, []) => Markup::default(),
        (_, cards) if message.is_list() => list(cards),
        (_, [card, ..]) => page(message, card),
    };
    let markup = markup! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "Banksman" } }
            body style="font-family: sans-serif; color: #1a1a1a; max-width: 40em" {
                h1 style="font-size: 1.2em" { (apart(&headline(message))) }
                (inside)
                p style="color: #666; font-size: 0.85em" { (FOOTER) }
            }
        }
    };
    markup.into_string()
}

fn page(message: &Message, card: &Card) -> Markup {
    let verb = if message.purpose.asks() { "Review and decide" } else { "See it in the console" };
    markup! {
        table cellpadding="4" style="border-collapse: collapse" {
            @for (label, text) in facts(card) {
                tr { th align="left" { (label) } td { (apart(&text)) } }
            }
        }
        p { b { "Arguments" } }
        table cellpadding="4" border="1" style="border-collapse: collapse; font-family: monospace" {
            @for argument in &card.arguments {
                tr { th align="left" { (apart(&argument.name)) } td { (apart(&argument.shown)) } }
            }
        }
        @if card.left_out > 0 { p { "and " (card.left_out) " more, on its page" } }
        @for (whose, text) in remarks(card) {
            p { b { (whose) ": " } (apart(text)) }
        }
        p { a href=(card.link) { (verb) } }
        p style="color: #666; font-size: 0.85em" { (card.action.to_string()) " version " (card.version) br; (card.digest.to_string()) }
    }
}

fn list(cards: &[Card]) -> Markup {
    markup! {
        ul {
            @for card in cards.iter().take(LISTED) {
                li { (apart(&one_line(card))) " " a href=(card.link) { "Review" } }
            }
            @if let Some(more) = more(cards) { li { "and " (more) " more" } }
        }
    }
}

/// A text by someone else, escaped and isolated. Mail programs make links of what looks like an address, so that is
/// taken apart where it could begin or go on.
fn apart(text: &str) -> Markup {
    let mut out = String::from("<bdi>");
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '.' | '/' | '@' => {
                let _ = write!(out, "<span>{c}</span>");
            }
            c => out.push(c),
        }
    }
    out.push_str("</bdi>");
    PreEscaped(out)
}
