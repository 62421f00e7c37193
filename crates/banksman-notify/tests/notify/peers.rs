//! What we send, held against the providers' own libraries, and what they sign against ours.
//!
//! `cargo xtask test` installs them and says where they are; without them there is nothing to hold it against.

use std::io::Write as _;
use std::process::{Command, Stdio};

use banksman_core::Decision;
use banksman_faults::{Conduct, Service};
use banksman_notify::{
    Answer, Binding, Channel as _, Conversation as _, Inbound, Message, Purpose, Reply, Wish,
};
use serde_json::{Value, json};

use crate::fixture::{approved, card, local, message, now};
use crate::gallery::hostile_cards;
use crate::line::{self, line};
use crate::slack::{self, slack, well};
use crate::webhook::{KEY, webhook};

fn bodies(service: &Service) -> Vec<Value> {
    service.heard().iter().map(|heard| serde_json::from_slice(&heard.body).unwrap()).collect()
}

fn messages() -> Vec<Message> {
    let mut messages = vec![
        message(Purpose::Ask, "U1", vec![card()]),
        message(Purpose::Digest, "U1", vec![card(); 30]),
        message(Purpose::Test, "U1", Vec::new()),
        message(Purpose::Again, "U1", vec![approved()]),
    ];
    // Their libraries are slow; the gallery tries all of them.
    let hostile = hostile_cards().into_iter().step_by(5);
    messages.extend(hostile.map(|(_, card)| message(Purpose::Ask, "U1", vec![card])));
    messages
}

#[tokio::test]
async fn the_providers_own_libraries_take_what_we_send_and_sign_what_we_take() {
    let Some(packages) = banksman_faults::packages() else { return };
    let taken = Service::start(|heard, _| well(heard)).unwrap();
    let (on_slack, views) = (slack(&taken), Service::start(|heard, _| well(heard)).unwrap());
    let pushed = Service::start(|_, _| Conduct::answer(200, "{}")).unwrap();
    let hooked = Service::start(|_, _| Conduct::answer(200, "")).unwrap();
    for message in messages() {
        on_slack.send(&message).await.unwrap();
        line(&pushed).send(&message).await.unwrap();
        webhook(local(), &hooked.url()).send(&message).await.unwrap();
    }
    for decision in [Decision::Approve, Decision::Deny, Decision::Respond, Decision::Modify] {
        let answer = Answer { to: None, dialogue: Some("1.2.3".into()) };
        let pressed = Inbound { event: "e".into(), at: now(), who: None, wish: Wish::WhoAmI, answer };
        let arguments = (decision == Decision::Modify).then(|| "{}".to_owned());
        let ask = Reply::Ask { about: Binding::from(&card()), decision, tool: "refund".into(), arguments };
        slack(&views).answer(&pressed, &ask).await.unwrap();
    }
    let events: Vec<Value> = hooked
        .heard()
        .iter()
        .map(|heard| {
            let headers: serde_json::Map<String, Value> =
                heard.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            json!({ "headers": headers, "body": String::from_utf8(heard.body.clone()).unwrap(), "key": KEY })
        })
        .collect();
    let sent = json!({
        "slack": bodies(&taken),
        "views": bodies(&views).iter().map(|body| body["view"].clone()).collect::<Vec<_>>(),
        "line": bodies(&pushed),
        "webhook": events,
        "signed": { "slack": slack::signed_example(), "line": line::signed_example() },
    });
    let script = "tests/notify/peers.py";
    let mut python =
        Command::new(packages.join("python/bin/python")).arg(script).stdin(Stdio::piped()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(sent.to_string().as_bytes()).unwrap();
    assert!(python.wait().unwrap().success());
}
