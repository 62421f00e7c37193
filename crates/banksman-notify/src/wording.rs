//! The same words on every channel.

use banksman_core::Timestamp;

use crate::{Card, Message, Purpose, Standing};

/// What stands above everything. Ours, but for names.
pub(crate) fn headline(message: &Message) -> String {
    let card = message.cards.first();
    let waits = card.is_some_and(|card| card.standing == Standing::Waiting);
    match (message.purpose, card) {
        (Purpose::Test, _) | (_, None) => "Banksman can reach you here".to_owned(),
        (Purpose::Digest, _) => format!("{} actions need people's attention", message.cards.len()),
        (Purpose::Settled, Some(_)) if message.is_list() => still_waiting(&message.cards),
        (Purpose::Settled, Some(card)) => capital(&card.standing.to_string()),
        (Purpose::Ask, Some(_)) if waits => "Approval needed".to_owned(),
        (Purpose::Again, Some(_)) if waits => "Still waiting for a decision".to_owned(),
        (Purpose::Escalated, Some(_)) if waits => "Handed on to you: approval needed".to_owned(),
        (Purpose::Ask | Purpose::Again | Purpose::Escalated, Some(card)) => {
            format!("For your information: {}", card.standing)
        }
    }
}

/// What has become of several.
fn still_waiting(cards: &[Card]) -> String {
    let waiting = cards.iter().filter(|card| card.standing == Standing::Waiting).count();
    match waiting {
        0 => format!("None of {} actions waits any more", cards.len()),
        1 => format!("1 of {} actions still waits for a decision", cards.len()),
        more => format!("{more} of {} actions still wait for a decision", cards.len()),
    }
}

/// What is known of an action besides its arguments, by label.
pub(crate) fn facts(card: &Card) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Tool", card.tool.clone()),
        ("Asked by", card.agent.clone()),
        ("Risk", card.risk.to_string()),
        ("Rule", format!("{} ({})", card.rule, card.tier)),
    ];
    if card.needed > 1 {
        facts.push(("Approvals", format!("{} of {}", card.approvals, card.needed)));
    }
    if let Some(expires) = card.expires {
        facts.push(("Expires", minute(expires)));
    }
    facts
}

/// What people are told about an action in sentences, each with whose words they are.
pub(crate) fn remarks(card: &Card) -> Vec<(&'static str, &str)> {
    let odd_hosts = card.odd_hosts.iter().map(|text| ("Look closely", text.as_str()));
    let messages = card.messages.iter().map(|text| ("Policy says", text.as_str()));
    let findings = card.findings.iter().map(|text| ("Found", text.as_str()));
    let why = card.why.iter().map(|text| ("The agent says (unverified)", text.as_str()));
    odd_hosts.chain(messages).chain(findings).chain(why).collect()
}

/// Why there is no button, if there is something to decide and none to do it with.
pub(crate) fn elsewhere(card: &Card) -> Option<&'static str> {
    if card.standing != Standing::Waiting || card.offers_decision() {
        None
    } else if !card.may_decide {
        Some("Decide on its page.")
    } else if !card.odd_hosts.is_empty() {
        Some("A host name in it is not what it looks like. Decide on its page.")
    } else if !card.messages_whole {
        Some("Policy says more than is shown here. Decide on its page, which shows all of it.")
    } else {
        Some("It is too long to be shown whole here. Decide on its page, which shows all of it.")
    }
}

/// An action in one line, for lists.
pub(crate) fn one_line(card: &Card) -> String {
    format!("{} risk: {} asked by {}, {}", card.risk, card.tool, card.agent, card.standing)
}

/// A moment to the minute.
pub(crate) fn minute(moment: Timestamp) -> String {
    let text = moment.to_string();
    match text.get(..16) {
        Some(start) => format!("{} UTC", start.replace('T', " ")),
        None => text,
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
