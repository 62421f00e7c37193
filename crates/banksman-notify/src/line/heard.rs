//! What LINE sends when someone presses a button, writes, or adds the account as a friend.

use std::time::Duration;

use banksman_core::{Decision, Timestamp};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde::Deserialize;
use url::form_urlencoded;

use crate::secret::{mac, same};
use crate::{Answer, Binding, Heard, Inbound, Secret, Unheard, Wish};

const SIGNATURE: &str = "x-line-signature";

/// LINE delivers again what we did not take, for a while. What is older than this is not a decision any more.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// How far LINE's clock may be ahead of ours.
const AHEAD: Duration = Duration::from_secs(300);

/// LINE sends no more at once.
const EVENTS: usize = 100;

#[derive(Deserialize)]
struct Request {
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    mode: String,
    #[serde(default)]
    timestamp: i64,
    #[serde(default, rename = "webhookEventId")]
    id: String,
    source: Option<Source>,
    #[serde(rename = "replyToken")]
    reply_token: Option<String>,
    postback: Option<Postback>,
}

#[derive(Deserialize)]
struct Source {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(rename = "userId")]
    user: Option<String>,
}

#[derive(Deserialize)]
struct Postback {
    data: String,
}

/// Whether LINE sent this.
pub(super) fn verify(secret: &Secret, headers: &HeaderMap, body: &[u8]) -> Result<(), Unheard> {
    let signature = headers.get(SIGNATURE).ok_or(Unheard::Forged)?;
    let expected = STANDARD.encode(mac(secret.reveal().as_bytes(), &[body]));
    if same(expected.as_bytes(), signature.as_bytes()) { Ok(()) } else { Err(Unheard::Forged) }
}

/// What a request says that LINE has signed.
pub(super) fn read(body: &[u8], now: Timestamp) -> Result<Heard, Unheard> {
    let request: Request =
        serde_json::from_slice(body).map_err(|_| Unheard::Unreadable("it is not one of LINE's"))?;
    if request.events.len() > EVENTS {
        return Err(Unheard::Unreadable("it has too many events"));
    }
    Ok(request.events.into_iter().filter_map(|event| inbound(event, now).transpose()).collect())
}

fn inbound(event: Event, now: Timestamp) -> Result<Option<Inbound>, Unheard> {
    // In standby another module of the account speaks with the person.
    if event.mode == "standby" {
        return Ok(None);
    }
    let wish = match (event.kind.as_str(), &event.postback) {
        ("postback", Some(postback)) => match wish(&postback.data) {
            Some(wish) => wish,
            None => return Err(Unheard::Unreadable("it is about a button that is none of ours")),
        },
        // People in a group speak with each other: nobody there wants to hear from us.
        ("follow" | "message", _) if is_one_to_one(&event) => Wish::WhoAmI,
        _ => return Ok(None),
    };
    if event.id.is_empty() {
        return Err(Unheard::Unreadable("it has no webhookEventId"));
    }
    let at = Timestamp::from_micros(event.timestamp.saturating_mul(1000));
    if now.since(at) > FRESH || at.since(now) > AHEAD {
        return Err(Unheard::Late);
    }
    Ok(Some(Inbound {
        event: event.id,
        at,
        who: event.source.and_then(|source| source.user),
        wish,
        answer: Answer { to: event.reply_token, dialogue: None },
    }))
}

fn is_one_to_one(event: &Event) -> bool {
    event.source.as_ref().is_some_and(|source| source.kind == "user")
}

/// What a button says when it is pressed. LINE takes at most 300 characters.
pub(super) fn postback(decision: Decision, about: &Binding) -> String {
    format!("action={decision}&id={}&version={}&digest={}", about.action, about.version, about.digest)
}

fn wish(data: &str) -> Option<Wish> {
    let part = |name: &str| {
        let mut found = form_urlencoded::parse(data.as_bytes()).filter(|(key, _)| key == name);
        // Of two, we could read one and someone else the other.
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value.into_owned()),
            (None, _) | (Some(_), Some(_)) => None,
        }
    };
    let decision = match part("action")?.parse().ok()? {
        decision @ (Decision::Approve | Decision::Deny) => decision,
        Decision::Modify | Decision::Respond => return None,
    };
    let about = Binding {
        action: part("id")?.parse().ok()?,
        version: part("version")?.parse().ok()?,
        digest: part("digest")?.parse().ok()?,
    };
    Some(Wish::Decide { about, decision, reason: None, arguments: None })
}

#[cfg(test)]
mod tests {
    use banksman_core::{ActionId, Digest};

    use super::*;

    #[test]
    fn a_button_says_what_its_card_showed() {
        let about =
            Binding { action: ActionId::from_parts(1, 2), version: u32::MAX, digest: Digest::of(b"x") };
        for decision in [Decision::Approve, Decision::Deny] {
            let data = postback(decision, &about);
            assert!(data.len() <= 300, "{data}");
            assert_eq!(wish(&data), Some(Wish::Decide { about, decision, reason: None, arguments: None }));
            assert_eq!(wish(&format!("{data}&action=deny")), None);
            assert_eq!(wish(data.trim_end_matches(|c| c != '&')), None);
        }
        assert_eq!(wish(&postback(Decision::Modify, &about)), None);
        assert_eq!(wish("action=approve&id=act_1"), None);
    }
}
