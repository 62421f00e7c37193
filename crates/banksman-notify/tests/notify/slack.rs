//! Slack, against a service that behaves like it.

use std::collections::HashMap;

use aws_lc_rs::hmac;
use banksman_core::{Decision, Timestamp};
use banksman_faults::{Conduct, Heard, Service};
use banksman_notify::{
    Answer, Binding, Channel as _, Conversation as _, Inbound, Message, Purpose, Reply, Secret, SendError,
    Slack, SlackSettings, Unheard, Wish,
};
use http::HeaderMap;
use serde_json::{Value, json};

use crate::fixture::{approved, ask, card, local, message, now};

const SIGNING: &str = "8f742231b10e8888abcd99yyyzzz85a5";

pub(crate) fn slack(service: &Service) -> Slack {
    let settings = SlackSettings {
        token: Secret::new("xoxb-token"),
        signing_secret: Secret::new(SIGNING),
        api: format!("{}/api/", service.url()).parse().unwrap(),
    };
    Slack::new(local(), settings)
}

/// Answers as Slack does when all is well.
pub(crate) fn well(heard: &Heard) -> Conduct {
    let body: Value = serde_json::from_slice(&heard.body).unwrap();
    let answer = match heard.path.as_str() {
        "/api/chat.postMessage" => json!({ "ok": true, "channel": "D024BE91L", "ts": "1503435956.000247" }),
        "/api/chat.update" => json!({ "ok": true, "channel": body["channel"], "ts": body["ts"] }),
        _ => json!({ "ok": true }),
    };
    Conduct::answer(200, answer.to_string())
}

fn said(heard: &Heard) -> Value {
    serde_json::from_slice(&heard.body).unwrap()
}

#[tokio::test]
async fn a_person_is_asked_with_buttons_that_say_what_they_are_about() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let sent = slack(&service).send(&ask("U123")).await.unwrap();
    assert_eq!(sent.provider_id.as_deref(), Some("D024BE91L:1503435956.000247"));
    let heard = service.heard();
    let [heard] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!(heard.header("authorization"), Some("Bearer xoxb-token"));
    insta::assert_json_snapshot!(said(heard));
}

#[tokio::test]
async fn what_was_sent_is_changed_once_it_is_decided_and_offers_nothing_any_more() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let settled = Message {
        earlier: Some("D024BE91L:1503435956.000247".into()),
        ..message(Purpose::Settled, "U123", vec![approved()])
    };
    slack(&service).send(&settled).await.unwrap();
    let heard = service.heard();
    let [heard] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!(heard.path, "/api/chat.update");
    let body = said(heard);
    assert_eq!((&body["channel"], &body["ts"]), (&json!("D024BE91L"), &json!("1503435956.000247")));
    assert_eq!(body["blocks"][0]["text"]["text"], "Approved by ann");
    let text = body.to_string();
    assert!(!text.contains("decide:") && !text.contains("explain:"), "{text}");
}

#[tokio::test]
async fn a_digest_of_which_some_are_decided_stays_a_digest_without_buttons() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let earlier = Some("D024BE91L:1503435956.000247".to_owned());
    for (cards, headline) in [
        (vec![card(), approved(), card()], "2 of 3 actions still wait for a decision"),
        (vec![card(), approved()], "1 of 2 actions still waits for a decision"),
        (vec![approved(), approved()], "None of 2 actions waits any more"),
    ] {
        let count = cards.len();
        let settled = Message { earlier: earlier.clone(), ..message(Purpose::Settled, "U123", cards) };
        slack(&service).send(&settled).await.unwrap();
        let body = said(service.heard().last().unwrap());
        assert_eq!(body["blocks"][0]["text"]["text"], headline);
        assert_eq!(body["text"], headline);
        let text = body.to_string();
        assert!(!text.contains("decide:") && !text.contains("explain:"), "{text}");
        assert_eq!(text.matches("asked by riley").count(), count, "one line each: {text}");
    }
}

#[tokio::test]
async fn whoever_may_have_a_message_that_nobody_knows_of_is_told_what_became_of_it() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    slack(&service).send(&message(Purpose::Settled, "U123", vec![approved()])).await.unwrap();
    let heard = service.heard();
    let [heard] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!((heard.path.as_str(), &said(heard)["channel"]), ("/api/chat.postMessage", &json!("U123")));
}

#[tokio::test]
async fn what_slack_refuses_for_good_is_not_tried_again_and_what_passes_is() {
    for (error, passes) in [
        ("channel_not_found", false),
        ("invalid_auth", false),
        ("not_in_channel", false),
        ("something_new", false),
        ("ratelimited", true),
        ("internal_error", true),
    ] {
        let answer = json!({ "ok": false, "error": error }).to_string();
        let service = Service::start(move |_, _| Conduct::answer(200, answer.clone())).unwrap();
        let failed = slack(&service).send(&ask("U123")).await.unwrap_err();
        assert_eq!(matches!(failed, SendError::Later { .. }), passes, "{error}");
        assert!(failed.to_string().contains(error), "{failed}");
    }
}

fn signed(at: &str, body: &str, secret: &str) -> HeaderMap {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("v0:{at}:{body}").as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut headers = HeaderMap::new();
    headers.insert("x-slack-signature", format!("v0={hex}").parse().unwrap());
    headers.insert("x-slack-request-timestamp", at.parse().unwrap());
    headers
}

/// A request as we believe that Slack signs it.
pub(crate) fn signed_example() -> Value {
    let (at, body) = ("1531420618", "payload=%7B%22type%22%3A%22block_actions%22%7D");
    let signature = signed(at, body, SIGNING)["x-slack-signature"].to_str().unwrap().to_owned();
    json!({ "secret": SIGNING, "at": at, "body": body, "signature": signature })
}

fn form(payload: &Value) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish()
}

fn pressed(action: &str, value: &str) -> String {
    form(&json!({
        "type": "block_actions",
        "user": { "id": "U123", "name": "admin-of-everything" },
        "actions": [{ "action_id": action, "block_id": "b", "value": value, "type": "button" }],
        "response_url": "https://hooks.slack.com/actions/T0/1/x",
        "trigger_id": "13345224609.738474920.8088930838d88f008e0",
    }))
}

fn second(moment: Timestamp) -> i64 {
    moment.as_micros() / 1_000_000
}

fn hear(slack: &Slack, body: &str) -> Result<Vec<Result<Inbound, Unheard>>, Unheard> {
    slack.hear(&signed(&second(now()).to_string(), body, SIGNING), body.as_bytes(), now())
}

#[tokio::test]
async fn a_button_that_was_pressed_is_heard_with_what_its_card_showed() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let slack = slack(&service);
    slack.send(&ask("U123")).await.unwrap();
    let blocks = said(&service.heard()[0])["blocks"].clone();
    let buttons: HashMap<String, String> = blocks.as_array().unwrap().last().unwrap()["elements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|button| {
            let part = |name: &str| button[name].as_str().unwrap().to_owned();
            (part("action_id"), part("value"))
        })
        .collect();
    let about = Binding::from(&card());
    for (button, value) in &buttons {
        let heard = hear(&slack, &pressed(button, value)).unwrap();
        let wish = heard.first().map(|inbound| inbound.as_ref().unwrap().wish.clone());
        let decide = |decision| Wish::Decide { about, decision, reason: None, arguments: None };
        let expected = match button.as_str() {
            "decide:approve" => Some(decide(Decision::Approve)),
            "decide:deny" => Some(decide(Decision::Deny)),
            "explain:respond" => Some(Wish::Explain { about, decision: Decision::Respond }),
            "explain:modify" => Some(Wish::Explain { about, decision: Decision::Modify }),
            "review" => None,
            other => panic!("{other}"),
        };
        assert_eq!(wish, expected, "{button}");
    }
    assert_eq!(buttons.len(), 5);
}

// The example of Slack's documentation.
#[tokio::test]
async fn the_signature_is_the_one_that_slack_documents() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let mut headers = HeaderMap::new();
    let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    headers.insert("x-slack-signature", signature.parse().unwrap());
    headers.insert("x-slack-request-timestamp", "1531420618".parse().unwrap());
    let settings = SlackSettings {
        token: Secret::new("x"),
        signing_secret: Secret::new("8f742231b10e8888abcd99yyyzzz85a5"),
        api: service.url().parse().unwrap(),
    };
    let then = Timestamp::from_micros(1_531_420_618_000_000);
    let heard = Slack::new(local(), settings).hear(&headers, body.as_bytes(), then);
    // Verified; only then found to be something that we do not take.
    assert_eq!(heard, Err(Unheard::Unreadable("it has no payload")));
}

#[tokio::test]
async fn forged_altered_and_old_requests_are_not_heard() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let slack = slack(&service);
    let body = pressed("decide:approve", &Binding::from(&card()).to_string());
    let at = second(now());
    let good = signed(&at.to_string(), &body, SIGNING);
    assert!(slack.hear(&good, body.as_bytes(), now()).is_ok());

    let without = |name: &str| {
        let mut headers = good.clone();
        headers.remove(name);
        headers
    };
    let mut moved = good.clone();
    moved.insert("x-slack-request-timestamp", (at + 1).to_string().parse().unwrap());
    let mut cut = good.clone();
    cut.insert("x-slack-signature", "v0=".parse().unwrap());
    for headers in [
        HeaderMap::new(),
        without("x-slack-signature"),
        without("x-slack-request-timestamp"),
        moved,
        cut,
        signed(&at.to_string(), &body, "another secret"),
    ] {
        assert_eq!(slack.hear(&headers, body.as_bytes(), now()), Err(Unheard::Forged), "{headers:?}");
    }
    let altered = body.replace("U123", "U124");
    assert_eq!(slack.hear(&good, altered.as_bytes(), now()), Err(Unheard::Forged));

    for (apart, late) in [(0, false), (299, false), (-299, false), (301, true), (-301, true), (86_400, true)]
    {
        let at = (at - apart).to_string();
        let heard = slack.hear(&signed(&at, &body, SIGNING), body.as_bytes(), now());
        assert_eq!(heard == Err(Unheard::Late), late, "{apart}");
    }
    for at in ["", "soon", "-9223372036854775808", "9223372036854775807", "1e9"] {
        assert!(slack.hear(&signed(at, &body, SIGNING), body.as_bytes(), now()).is_err(), "{at}");
    }
}

#[tokio::test]
async fn the_same_request_again_is_the_same_event_and_another_is_not() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let slack = slack(&service);
    let about = Binding::from(&card()).to_string();
    let event = |body: &str| hear(&slack, body).unwrap()[0].clone().unwrap().event;
    let approve = event(&pressed("decide:approve", &about));
    assert_eq!(approve, event(&pressed("decide:approve", &about)));
    assert_ne!(approve, event(&pressed("decide:deny", &about)));
}

#[tokio::test]
async fn what_is_signed_and_makes_no_sense_is_not_heard_either() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let slack = slack(&service);
    let about = Binding::from(&card()).to_string();
    for body in [
        String::new(),
        "payload=".into(),
        "payload=%7B%7D".into(),
        pressed("decide:explode", &about),
        pressed("decide:", &about),
        pressed("other", &about),
        pressed("decide:approve", "act_1/1/sha256:00"),
        pressed("decide:approve", ""),
        form(&json!({ "type": "block_actions", "user": { "id": "U1" }, "actions": [] })),
        form(
            &json!({ "type": "block_actions", "user": {}, "actions": [{ "action_id": "decide:approve", "value": about }] }),
        ),
    ] {
        assert!(matches!(hear(&slack, &body), Err(Unheard::Unreadable(_))), "{body}");
    }
    // What Slack sends besides is no business of ours.
    let other = form(&json!({ "type": "message_action", "user": { "id": "U1" } }));
    assert_eq!(hear(&slack, &other), Ok(Vec::new()));
}

fn inbound(answer: Answer) -> Inbound {
    Inbound { event: "e".into(), at: now(), who: Some("U123".into()), wish: Wish::WhoAmI, answer }
}

#[tokio::test]
async fn a_dialogue_asks_and_what_is_typed_there_comes_back_bound_to_the_same() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let slack = slack(&service);
    let about = Binding::from(&card());
    let answer_to = format!("{}/actions/1", service.url());
    let ask = Reply::Ask {
        about,
        decision: Decision::Modify,
        tool: "refund".into(),
        arguments: Some("{\n  \"amount\": 899\n}".into()),
    };
    let from = inbound(Answer { to: Some(answer_to.clone()), dialogue: Some("123.456.abc".into()) });
    slack.answer(&from, &ask).await.unwrap();
    let heard = service.heard();
    assert_eq!(heard[0].path, "/api/views.open");
    let opened = said(&heard[0]);
    insta::assert_json_snapshot!(opened["view"]["blocks"]);
    let typed = json!({
        "arguments": { "arguments": { "type": "plain_text_input", "value": "{\"amount\": 40}" } },
        "reason": { "reason": { "type": "plain_text_input", "value": null } },
    });
    let submitted = form(&json!({
        "type": "view_submission",
        "user": { "id": "U123" },
        "view": {
            "callback_id": opened["view"]["callback_id"],
            "private_metadata": opened["view"]["private_metadata"],
            "state": { "values": typed },
        },
    }));
    let heard = hear(&slack, &submitted).unwrap();
    let heard = heard[0].clone().unwrap();
    assert_eq!(
        heard.wish,
        Wish::Decide {
            about,
            decision: Decision::Modify,
            reason: None,
            arguments: Some("{\"amount\": 40}".into())
        }
    );
    assert_eq!(heard.answer.to, Some(answer_to));
}

#[tokio::test]
async fn an_answer_goes_to_slack_and_nowhere_else() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let elsewhere = Service::start(|heard, _| well(heard)).unwrap();
    let slack = slack(&service);
    let words = Reply::Words("Approved. <!channel> & more".into());
    let to = |url: String| inbound(Answer { to: Some(url), dialogue: None });
    slack.answer(&to(format!("{}/actions/1", service.url())), &words).await.unwrap();
    assert_eq!(said(&service.heard()[0])["text"], "Approved. &lt;!channel&gt; &amp; more");
    for url in
        [format!("{}/actions/1", elsewhere.url()), "http://hooks.slack.com/x".into(), "nonsense".into()]
    {
        assert!(slack.answer(&to(url.clone()), &words).await.is_err(), "{url}");
    }
    assert!(elsewhere.heard().is_empty());
}
