//! LINE, against a service that behaves like it.

use aws_lc_rs::hmac;
use banksman_core::Decision;
use banksman_faults::{Conduct, Service};
use banksman_notify::{
    Answer, Binding, Channel as _, Conversation as _, Heard, Inbound, Line, LineSettings, Message, Purpose,
    Reply, Secret, SendError, Unheard, Wish,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::fixture::{ask, card, local, message, now};

const SECRET: &str = "8c570fa6dd201bb328f1c1eac23a96d8";

pub(crate) fn line(service: &Service) -> Line {
    let settings = LineSettings {
        access_token: Secret::new("channel-token"),
        channel_secret: Secret::new(SECRET),
        api: service.url().parse().unwrap(),
    };
    Line::new(local(), settings)
}

const TAKEN: &str = r#"{"sentMessages":[{"id":"461230966842064897","quoteToken":"IStG5h1Tz7b"}]}"#;

#[tokio::test]
async fn a_person_is_pushed_a_card_with_buttons() {
    let service = Service::start(|_, _| Conduct::answer(200, TAKEN)).unwrap();
    let sent = line(&service).send(&ask("U4af4980629")).await.unwrap();
    assert_eq!((sent.provider_id.as_deref(), sent.delivered), (Some("461230966842064897"), false));
    let heard = service.heard();
    let [heard] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!((heard.method.as_str(), heard.path.as_str()), ("POST", "/v2/bot/message/push"));
    assert_eq!(heard.header("authorization"), Some("Bearer channel-token"));
    insta::assert_json_snapshot!(serde_json::from_slice::<Value>(&heard.body).unwrap());
}

#[tokio::test]
async fn an_attempt_that_got_through_unnoticed_is_not_sent_twice() {
    // LINE takes one request with a key, and says 409 to the next.
    let service = Service::start(|_, count| {
        if count == 0 { Conduct::HangUp } else { Conduct::answer(409, r#"{"message":"already accepted"}"#) }
    })
    .unwrap();
    let line = line(&service);
    let first = ask("U4af4980629");
    assert!(matches!(line.send(&first).await, Err(SendError::Later { .. })));
    line.send(&Message { attempt: 2, ..first }).await.unwrap();
    let keys: Vec<_> =
        service.heard().iter().map(|heard| heard.header("x-line-retry-key").unwrap().to_owned()).collect();
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test]
async fn what_needs_a_reason_or_is_too_long_has_no_button_to_decide_with() {
    let service = Service::start(|_, _| Conduct::answer(200, TAKEN)).unwrap();
    let line = line(&service);
    let mut reason = card();
    reason.needs_reason = true;
    let mut long = card();
    long.left_out = 1;
    let mut told = card();
    told.may_decide = false;
    for card in [reason, long, told] {
        line.send(&message(Purpose::Ask, "U1", vec![card])).await.unwrap();
    }
    for heard in service.heard() {
        let body = String::from_utf8(heard.body).unwrap();
        assert!(!body.contains("postback") && body.contains("/actions/"), "{body}");
    }
}

fn signed(body: &str, secret: &str) -> HeaderMap {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body.as_bytes());
    let mut headers = HeaderMap::new();
    headers.insert("x-line-signature", STANDARD.encode(tag.as_ref()).parse().unwrap());
    headers
}

/// A request as we believe that LINE signs it.
pub(crate) fn signed_example() -> Value {
    let body = request(&[postback("action=approve")]);
    let signature = signed(&body, SECRET)["x-line-signature"].to_str().unwrap().to_owned();
    json!({ "secret": SECRET, "body": body, "signature": signature })
}

fn postback(data: &str) -> Value {
    json!({
        "type": "postback",
        "mode": "active",
        "timestamp": now().as_micros() / 1000,
        "source": { "type": "user", "userId": "U4af4980629" },
        "webhookEventId": "01FZ74A0TDDPYRVKNK77XKC3ZR",
        "deliveryContext": { "isRedelivery": false },
        "replyToken": "nHuyWiB7yP5Zw52FIkcQobQuGDXCTA",
        "postback": { "data": data },
    })
}

fn request(events: &[Value]) -> String {
    json!({ "destination": "xxxxxxxxxx", "events": events }).to_string()
}

fn hear(line: &Line, events: &[Value]) -> Result<Heard, Unheard> {
    let body = request(events);
    line.hear(&signed(&body, SECRET), body.as_bytes(), now())
}

/// The data of the buttons on the card that was pushed.
fn buttons(service: &Service) -> Vec<String> {
    let body: Value = serde_json::from_slice(&service.heard()[0].body).unwrap();
    let footer = body["messages"][0]["contents"]["footer"]["contents"].as_array().unwrap().clone();
    footer.iter().filter_map(|button| button["action"]["data"].as_str().map(ToOwned::to_owned)).collect()
}

#[tokio::test]
async fn a_button_that_was_pressed_is_heard_with_what_its_card_showed() {
    let service = Service::start(|_, _| Conduct::answer(200, TAKEN)).unwrap();
    let line = line(&service);
    line.send(&ask("U4af4980629")).await.unwrap();
    let about = Binding::from(&card());
    let wishes: Vec<Wish> = buttons(&service)
        .iter()
        .map(|data| hear(&line, &[postback(data)]).unwrap()[0].clone().unwrap().wish)
        .collect();
    let decide = |decision| Wish::Decide { about, decision, reason: None, arguments: None };
    assert_eq!(wishes, [decide(Decision::Approve), decide(Decision::Deny)]);
}

#[tokio::test]
async fn forged_and_altered_requests_are_not_heard() {
    let service = Service::start(|_, _| Conduct::answer(200, TAKEN)).unwrap();
    let line = line(&service);
    let body = request(&[]);
    assert_eq!(line.hear(&signed(&body, SECRET), body.as_bytes(), now()), Ok(Vec::new()));
    for (headers, body) in [
        (HeaderMap::new(), body.clone()),
        (signed(&body, "another secret"), body.clone()),
        (signed(&body, SECRET), format!("{body} ")),
        (signed(&format!("{body} "), SECRET), body.clone()),
    ] {
        assert_eq!(line.hear(&headers, body.as_bytes(), now()), Err(Unheard::Forged));
    }
}

#[tokio::test]
async fn one_bad_event_spoils_no_other_and_old_ones_are_not_heard() {
    let service = Service::start(|_, _| Conduct::answer(200, TAKEN)).unwrap();
    let line = line(&service);
    line.send(&ask("U1")).await.unwrap();
    let data = buttons(&service).remove(0);
    let good = postback(&data);
    let mut old = good.clone();
    old["timestamp"] = json!(now().as_micros() / 1000 - 25 * 3600 * 1000);
    let mut future = good.clone();
    future["timestamp"] = json!(i64::MAX);
    let mut nameless = good.clone();
    nameless["webhookEventId"] = json!("");
    let mut standby = good.clone();
    standby["mode"] = json!("standby");
    let mut group = good.clone();
    group["source"] = json!({ "type": "group", "groupId": "C1" });
    let other = postback("action=approve&id=act_01");
    let unsend =
        json!({ "type": "unsend", "webhookEventId": "1", "timestamp": 1, "source": { "type": "user" } });
    let heard = hear(&line, &[other, old, future, nameless, standby, unsend, group, good]).unwrap();
    let results: Vec<String> = heard
        .iter()
        .map(|heard| match heard {
            Ok(inbound) => format!("{:?}", inbound.who),
            Err(unheard) => unheard.to_string(),
        })
        .collect();
    insta::assert_debug_snapshot!(results);
}

#[tokio::test]
async fn a_redelivered_event_has_the_id_of_the_first() {
    let service = Service::start(|_, _| Conduct::answer(200, TAKEN)).unwrap();
    let line = line(&service);
    line.send(&ask("U1")).await.unwrap();
    let first = postback(&buttons(&service)[0]);
    let mut again = first.clone();
    again["deliveryContext"]["isRedelivery"] = json!(true);
    let heard = hear(&line, &[first, again]).unwrap();
    assert_eq!(heard[0].clone().unwrap().event, heard[1].clone().unwrap().event);
}

#[tokio::test]
async fn what_people_say_in_groups_is_none_of_our_business() {
    let service = Service::start(|_, _| Conduct::answer(200, "{}")).unwrap();
    let line = line(&service);
    for source in [
        json!({ "type": "group", "groupId": "C1", "userId": "U4af4980629" }),
        json!({ "type": "room", "roomId": "R1", "userId": "U4af4980629" }),
        json!({ "userId": "U4af4980629" }),
    ] {
        let mut message = postback("");
        message["type"] = json!("message");
        message["source"] = source;
        assert_eq!(hear(&line, &[message]), Ok(Vec::new()));
    }
}

#[tokio::test]
async fn whoever_writes_or_adds_the_account_is_told_their_id_and_answered_by_the_reply_token() {
    let service = Service::start(|_, _| Conduct::answer(200, "{}")).unwrap();
    let line = line(&service);
    let mut follow = postback("");
    follow["type"] = json!("follow");
    let heard = hear(&line, &[follow]).unwrap();
    let inbound: Inbound = heard[0].clone().unwrap();
    assert_eq!(inbound.wish, Wish::WhoAmI);
    line.answer(&inbound, &Reply::Words("x".repeat(9000))).await.unwrap();
    let answered: Value = serde_json::from_slice(&service.heard()[0].body).unwrap();
    assert_eq!(service.heard()[0].path, "/v2/bot/message/reply");
    assert_eq!(service.heard()[0].header("x-line-retry-key"), None);
    assert_eq!(answered["replyToken"], "nHuyWiB7yP5Zw52FIkcQobQuGDXCTA");
    assert!(answered["messages"][0]["text"].as_str().unwrap().len() <= 5000);
    let nowhere = Inbound { answer: Answer::default(), ..inbound };
    assert!(line.answer(&nowhere, &Reply::Words("x".into())).await.is_err());
}
