//! A message as a CloudEvents 1.0 event, structured mode.

use banksman_core::Timestamp;
use serde::Serialize;

use super::PostId;
use crate::{Card, Message, Purpose, Standing};

/// The version of `data`; it only ever grows.
const SCHEMA: &str = "1";

#[derive(Debug, Serialize)]
pub(super) struct Event<'a> {
    specversion: &'static str,
    id: &'a PostId,
    source: &'a str,
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    datacontenttype: &'static str,
    data: Data<'a>,
}

#[derive(Debug, Serialize)]
struct Data<'a> {
    version: &'static str,
    purpose: &'static str,
    to: &'a str,
    actions: Vec<ActionData<'a>>,
}

#[derive(Debug, Serialize)]
struct ActionData<'a> {
    id: String,
    version: u32,
    digest: String,
    url: &'a str,
    tool: &'a str,
    tool_whole: bool,
    agent: &'a str,
    arguments: Vec<ArgumentData<'a>>,
    arguments_left_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_says: Option<&'a str>,
    findings: &'a [String],
    messages: &'a [String],
    risk: &'static str,
    tier: &'static str,
    rule: &'a str,
    approvals: u32,
    approvals_needed: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    standing: StandingData<'a>,
}

#[derive(Debug, Serialize)]
struct ArgumentData<'a> {
    name: &'a str,
    json: &'a str,
    whole: bool,
}

#[derive(Debug, Serialize)]
struct StandingData<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
}

pub(super) fn of<'a>(message: &'a Message, id: &'a PostId, source: &'a str) -> Event<'a> {
    let is_told = is_told(message);
    let subject = match message.cards.as_slice() {
        [card] => Some(card.action.to_string()),
        _ => None,
    };
    Event {
        specversion: "1.0",
        id,
        source,
        kind: format!("banksman.notification.{}", purpose(message)),
        subject,
        datacontenttype: "application/json",
        data: Data {
            version: SCHEMA,
            purpose: purpose(message),
            to: &message.to.address,
            actions: message.cards.iter().map(|card| action(card, is_told)).collect(),
        },
    }
}

/// Why it is sent: what runs already is told, not asked.
fn purpose(message: &Message) -> &'static str {
    if is_told(message) { "told" } else { message.purpose.as_str() }
}

fn is_told(message: &Message) -> bool {
    let waits = |card: &Card| matches!(card.standing, Standing::Waiting | Standing::Changed);
    message.purpose == Purpose::Ask && !message.cards.iter().any(waits)
}

fn action(card: &Card, is_told: bool) -> ActionData<'_> {
    ActionData {
        id: card.action.to_string(),
        version: card.version,
        digest: card.digest.to_string(),
        url: &card.link,
        tool: &card.tool,
        tool_whole: card.tool_whole,
        agent: &card.agent,
        arguments: card
            .arguments
            .iter()
            .map(|argument| ArgumentData {
                name: &argument.name,
                json: &argument.shown,
                whole: argument.whole,
            })
            .collect(),
        arguments_left_out: card.left_out,
        agent_says: card.why.as_deref(),
        findings: &card.findings,
        messages: &card.messages,
        risk: card.risk.as_str(),
        tier: card.tier.as_str(),
        rule: &card.rule,
        approvals: card.approvals,
        approvals_needed: if is_told { 0 } else { card.needed },
        expires_at: card.expires,
        standing: match &card.standing {
            Standing::Waiting | Standing::Changed => StandingData { status: "pending", by: None, at: None },
            Standing::Settled { status, by, at, .. } => {
                StandingData { status: status.as_str(), by: Some(by), at: Some(*at) }
            }
            Standing::Expired { at } => StandingData { status: "expired", by: None, at: Some(*at) },
        },
    }
}
