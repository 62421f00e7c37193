//! A message as a Flex bubble. Nothing in a Flex text is markup or a link.

use banksman_core::visible::brief;
use banksman_core::{Decision, Risk};
use serde_json::{Value, json};

use super::heard::postback;
use crate::wording::{elsewhere, facts, headline, one_line, remarks};
use crate::{Card, Message, Purpose};

/// LINE's limit for a bubble is 30 kB as JSON.
const BUBBLE: usize = 30_000;

/// LINE's limit for what is shown in lists of chats.
const ALT_TEXT: usize = 400;

const LISTED: usize = 15;

/// The message.
pub(super) fn message(message: &Message) -> Value {
    let alt: String = alt_text(message).chars().take(ALT_TEXT).collect();
    let contents = bubble(message);
    json!({ "type": "flex", "altText": alt, "contents": contents })
}

fn alt_text(message: &Message) -> String {
    match (message.purpose, message.cards.as_slice()) {
        (Purpose::Test, _) | (_, []) => headline(message),
        _ if message.is_list() => headline(message),
        (_, [card, ..]) => format!("{}: {} ({} risk)", headline(message), card.tool, card.risk),
    }
}

fn bubble(message: &Message) -> Value {
    match (message.purpose, message.cards.as_slice()) {
        (Purpose::Test, _) | (_, []) => frame(headline(message), Risk::None, &[], &[]),
        (_, cards) if message.is_list() => digest(message, cards),
        (_, [card, ..]) => {
            let whole = frame(headline(message), card.risk, &body(card), &buttons(card));
            if whole.to_string().len() <= BUBBLE {
                return whole;
            }
            // Four-byte characters in every argument. Whoever does not see them all is offered no decision.
            let told = Card {
                arguments: Vec::new(),
                left_out: card.left_out + card.arguments.len(),
                ..card.clone()
            };
            frame(headline(message), told.risk, &body(&told), &buttons(&told))
        }
    }
}

fn frame(title: String, risk: Risk, body: &[Value], buttons: &[Value]) -> Value {
    let mut bubble = json!({
        "type": "bubble",
        "header": {
            "type": "box",
            "layout": "vertical",
            "backgroundColor": colour(risk),
            "contents": [text(&title, &[("weight", json!("bold")), ("color", json!("#ffffff"))])],
        },
    });
    if let Some(members) = bubble.as_object_mut() {
        let vertical = |contents: &[Value]| json!({ "type": "box", "layout": "vertical", "spacing": "sm", "contents": contents });
        if !body.is_empty() {
            members.insert("body".into(), vertical(body));
        }
        if !buttons.is_empty() {
            members.insert("footer".into(), vertical(buttons));
        }
    }
    bubble
}

/// By colour second: the word is in the text.
fn colour(risk: Risk) -> &'static str {
    match risk {
        Risk::None | Risk::Low => "#2f6f4f",
        Risk::Medium => "#8a6100",
        Risk::High => "#b3420d",
        Risk::Critical => "#a1121f",
    }
}

fn body(card: &Card) -> Vec<Value> {
    let mut lines: Vec<Value> =
        facts(card).into_iter().map(|(label, said)| text(&format!("{label}: {said}"), &[])).collect();
    lines.push(json!({ "type": "separator" }));
    for argument in &card.arguments {
        let shown = format!("{} = {}", argument.name, argument.shown);
        lines.push(text(&shown, &[("size", json!("sm"))]));
    }
    if card.left_out > 0 {
        lines.push(text(&format!("and {} more arguments", card.left_out), &[("size", json!("sm"))]));
    }
    lines.push(json!({ "type": "separator" }));
    for (whose, said) in remarks(card) {
        lines.push(text(&format!("{whose}: {said}"), &[("size", json!("sm"))]));
    }
    let words =
        elsewhere(card).or_else(|| needs_page(card).then_some("It needs a reason. Decide on its page."));
    if let Some(words) = words {
        lines.push(text(words, &[("size", json!("sm"))]));
    }
    let id = format!("{} version {}", card.action, card.version);
    lines.push(text(&id, &[("size", json!("xs")), ("color", json!("#666666"))]));
    lines
}

/// LINE has no field to type a reason in.
fn needs_page(card: &Card) -> bool {
    card.offers_decision() && card.needs_reason
}

fn buttons(card: &Card) -> Vec<Value> {
    let mut buttons = Vec::new();
    if card.offers_decision() && !card.needs_reason {
        for (label, decision, style) in
            [("Approve", Decision::Approve, "primary"), ("Deny", Decision::Deny, "secondary")]
        {
            let action = json!({
                "type": "postback",
                "label": label,
                "data": postback(decision, &card.into()),
                // Without it, a chat shows nothing of what was pressed.
                "displayText": format!("{label} {}", brief(&card.tool, 100)),
            });
            buttons.push(json!({ "type": "button", "style": style, "height": "sm", "action": action }));
        }
    }
    let open = json!({ "type": "uri", "label": "Review", "uri": card.link });
    buttons.push(json!({ "type": "button", "style": "link", "height": "sm", "action": open }));
    buttons
}

fn digest(message: &Message, cards: &[Card]) -> Value {
    let worst = cards.iter().map(|card| card.risk).max().unwrap_or(Risk::None);
    let mut lines: Vec<Value> =
        cards.iter().take(LISTED).map(|card| text(&one_line(card), &[("size", json!("sm"))])).collect();
    if let Some(more) = cards.len().checked_sub(LISTED).filter(|more| *more > 0) {
        lines.push(text(&format!("and {more} more"), &[("size", json!("sm"))]));
    }
    let open = cards.first().map(|card| {
        let open = json!({ "type": "uri", "label": "Review", "uri": card.console() });
        json!({ "type": "button", "style": "link", "height": "sm", "action": open })
    });
    frame(headline(message), worst, &lines, open.as_slice())
}

fn text(said: &str, more: &[(&str, Value)]) -> Value {
    let mut text = json!({ "type": "text", "text": said, "wrap": true });
    if let Some(members) = text.as_object_mut() {
        members.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    }
    text
}
