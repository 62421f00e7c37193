//! What Slack sends when someone presses a button or submits a dialogue.

use std::collections::HashMap;
use std::time::Duration;

use banksman_core::{Decision, Timestamp};
use http::HeaderMap;
use serde::Deserialize;
use url::form_urlencoded;

use super::blocks::{DECIDE, EXPLAIN, REVIEW};
use super::dialogue::{ARGUMENTS, CALLBACK, Context, REASON};
use crate::secret::{hex, mac, same};
use crate::{Answer, Binding, Heard, Inbound, Secret, Unheard, Wish};

const SIGNATURE: &str = "x-slack-signature";
const SIGNED_AT: &str = "x-slack-request-timestamp";

/// How far Slack's clock and ours may be apart, and how long a request may have been under way.
const FRESH: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    user: User,
    #[serde(default)]
    actions: Vec<Pressed>,
    response_url: Option<String>,
    trigger_id: Option<String>,
    view: Option<View>,
}

#[derive(Deserialize)]
struct User {
    id: String,
}

#[derive(Deserialize)]
struct Pressed {
    action_id: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct View {
    #[serde(default)]
    callback_id: String,
    #[serde(default)]
    private_metadata: String,
    #[serde(default)]
    state: ViewState,
}

#[derive(Default, Deserialize)]
struct ViewState {
    #[serde(default)]
    values: HashMap<String, HashMap<String, Typed>>,
}

#[derive(Deserialize)]
struct Typed {
    value: Option<String>,
}

/// Whether Slack sent this, just now.
pub(super) fn verify(
    secret: &Secret,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<(), Unheard> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).ok_or(Unheard::Forged);
    let (signature, at) = (header(SIGNATURE)?, header(SIGNED_AT)?);
    let expected =
        format!("v0={}", hex(&mac(secret.reveal().as_bytes(), &[b"v0:", at.as_bytes(), b":", body])));
    if !same(expected.as_bytes(), signature.as_bytes()) {
        return Err(Unheard::Forged);
    }
    // Only now is it worth reading the time: before, it was anyone's.
    let at = signed_at(at).ok_or(Unheard::Unreadable("its time is none"))?;
    let apart = now.since(at).max(at.since(now));
    if apart > FRESH { Err(Unheard::Late) } else { Ok(()) }
}

fn signed_at(text: &str) -> Option<Timestamp> {
    let seconds: i64 = text.parse().ok()?;
    seconds.checked_mul(1_000_000).map(Timestamp::from_micros)
}

/// What a request says that Slack has signed.
pub(super) fn read(headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Heard, Unheard> {
    // Slack gives what people press no name of its own. The signature covers time and content: the same one again is
    // the same request again.
    let event = headers.get(SIGNATURE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let payload = form_urlencoded::parse(body).find(|(name, _)| name == "payload");
    let (_, payload) = payload.ok_or(Unheard::Unreadable("it has no payload"))?;
    let payload: Payload = serde_json::from_str(&payload)
        .map_err(|_| Unheard::Unreadable("its payload is not one of Slack's"))?;
    let answer = Answer { to: payload.response_url, dialogue: payload.trigger_id };
    let heard = match payload.kind.as_str() {
        "block_actions" => match payload.actions.as_slice() {
            [pressed] => pressed_wish(pressed)?.map(|wish| (wish, answer)),
            _ => return Err(Unheard::Unreadable("it is not about one button")),
        },
        "view_submission" => match payload.view {
            Some(view) if view.callback_id == CALLBACK => Some(submitted(&view)?),
            Some(_) | None => None,
        },
        _ => None,
    };
    Ok(heard
        .map(|(wish, answer)| Ok(Inbound { event, at: now, who: Some(payload.user.id), wish, answer }))
        .into_iter()
        .collect())
}

/// What a button means; `None` if it only opens a page.
fn pressed_wish(pressed: &Pressed) -> Result<Option<Wish>, Unheard> {
    let unknown = Unheard::Unreadable("it is about a button that is none of ours");
    if pressed.action_id == REVIEW {
        return Ok(None);
    }
    let about: Binding = pressed.value.parse().map_err(|_| unknown.clone())?;
    if let Some(decision) = pressed.action_id.strip_prefix(DECIDE) {
        let decision = decision.parse().map_err(|_| unknown)?;
        return Ok(Some(Wish::Decide { about, decision, reason: None, arguments: None }));
    }
    let decision = pressed.action_id.strip_prefix(EXPLAIN).ok_or_else(|| unknown.clone())?;
    Ok(Some(Wish::Explain { about, decision: decision.parse().map_err(|_| unknown)? }))
}

fn submitted(view: &View) -> Result<(Wish, Answer), Unheard> {
    let unknown = || Unheard::Unreadable("it is about a dialogue that is none of ours");
    let context: Context = serde_json::from_str(&view.private_metadata).map_err(|_| unknown())?;
    let typed = |name: &str| {
        let value = view.state.values.get(name)?.get(name)?.value.as_deref()?.trim();
        (!value.is_empty()).then(|| value.to_owned())
    };
    let wish = Wish::Decide {
        about: context.about.parse().map_err(|_| unknown())?,
        decision: context.decision,
        reason: typed(REASON),
        arguments: typed(ARGUMENTS).filter(|_| context.decision == Decision::Modify),
    };
    Ok((wish, Answer { to: context.answer_to, dialogue: None }))
}
