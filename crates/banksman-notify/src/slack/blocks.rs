//! A message as Block Kit blocks.
//!
//! What others wrote is only ever put into `plain_text`, in which nothing is a link, a mention or markup.

use banksman_core::{Decision, Risk};
use serde_json::{Value, json};

use crate::wording::{elsewhere, facts, headline, one_line, remarks};
use crate::{Binding, Card, Message, Purpose};

/// Slack's limits, and ours where they are lower.
const HEADER: usize = 150;
const TEXT: usize = 3000;
const LISTED: usize = 20;

/// What a button does, as its `action_id` says.
pub(super) const DECIDE: &str = "decide:";
pub(super) const EXPLAIN: &str = "explain:";
pub(super) const REVIEW: &str = "review";

/// What notifications say.
pub(super) fn summary(message: &Message) -> String {
    match (message.purpose, message.cards.as_slice()) {
        (Purpose::Test, _) | (_, []) => headline(message),
        _ if message.is_list() => headline(message),
        (_, [card, ..]) => {
            format!("{}: {} ({} risk), asked by {}", headline(message), card.tool, card.risk, card.agent)
        }
    }
}

/// A text in which Slack finds nothing to act on, as its documentation wants it.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The blocks of a message.
pub(super) fn of(message: &Message) -> Vec<Value> {
    let mut blocks = vec![json!({ "type": "header", "text": plain(&headline(message), HEADER) })];
    match (message.purpose, message.cards.as_slice()) {
        (Purpose::Test, _) | (_, []) => {}
        (_, cards) if message.is_list() => list(&mut blocks, cards),
        (_, [card, ..]) => whole(&mut blocks, card),
    }
    blocks
}

fn whole(blocks: &mut Vec<Value>, card: &Card) {
    let facts = facts(card).into_iter().map(|(label, text)| plain(&format!("{label}: {text}"), TEXT));
    // At most ten fields; there are six facts.
    blocks.push(json!({ "type": "section", "fields": facts.collect::<Vec<_>>() }));
    for argument in &card.arguments {
        blocks.push(section(&format!("{} = {}", argument.name, argument.shown)));
    }
    if card.left_out > 0 {
        blocks.push(section(&format!("and {} more arguments", card.left_out)));
    }
    for (whose, text) in remarks(card) {
        blocks.push(section(&format!("{whose}: {text}")));
    }
    if let Some(words) = elsewhere(card) {
        blocks.push(section(words));
    }
    let name = format!("{} version {} {}", card.action, card.version, card.digest);
    blocks.push(json!({ "type": "context", "elements": [plain(&name, TEXT)] }));
    blocks.push(json!({ "type": "actions", "elements": buttons(card) }));
}

fn buttons(card: &Card) -> Vec<Value> {
    let mut buttons = Vec::new();
    if card.offers_decision() {
        let about = Binding::from(card).to_string();
        let kind = if card.needs_reason { EXPLAIN } else { DECIDE };
        let mut approve = button("Approve", &format!("{kind}{}", Decision::Approve), &about);
        put(&mut approve, "style", json!("primary"));
        if card.risk >= Risk::High {
            put(&mut approve, "confirm", confirmation(card));
        }
        let mut deny = button("Deny", &format!("{kind}{}", Decision::Deny), &about);
        put(&mut deny, "style", json!("danger"));
        buttons.extend([approve, deny]);
        buttons.push(button("Deny and say why", &format!("{EXPLAIN}{}", Decision::Respond), &about));
        buttons.push(button("Edit", &format!("{EXPLAIN}{}", Decision::Modify), &about));
    }
    let mut review = button("Review", REVIEW, &card.action.to_string());
    put(&mut review, "url", json!(card.link));
    buttons.push(review);
    buttons
}

/// A thumb slips.
fn confirmation(card: &Card) -> Value {
    json!({
        "title": plain("Approve?", 100),
        "text": plain(&format!("{} risk: {}", card.risk, card.tool), 300),
        "confirm": plain("Approve", 30),
        "deny": plain("Not yet", 30),
    })
}

fn list(blocks: &mut Vec<Value>, cards: &[Card]) {
    for card in cards.iter().take(LISTED) {
        blocks.push(section(&one_line(card)));
    }
    if let Some(more) = cards.len().checked_sub(LISTED).filter(|more| *more > 0) {
        blocks.push(section(&format!("and {more} more")));
    }
    if let Some(card) = cards.first() {
        let mut review = button("Review", REVIEW, "inbox");
        put(&mut review, "url", json!(card.console()));
        blocks.push(json!({ "type": "actions", "elements": [review] }));
    }
}

fn section(text: &str) -> Value {
    json!({ "type": "section", "text": plain(text, TEXT) })
}

/// A text as it is. What does not fit is cut and says so.
pub(super) fn plain(text: &str, most: usize) -> Value {
    let text = if text.chars().count() <= most {
        text.to_owned()
    } else {
        text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
    };
    json!({ "type": "plain_text", "text": text, "emoji": false })
}

fn button(label: &str, action: &str, value: &str) -> Value {
    json!({ "type": "button", "text": plain(label, 75), "action_id": action, "value": value })
}

fn put(element: &mut Value, key: &str, value: Value) {
    if let Some(members) = element.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}
