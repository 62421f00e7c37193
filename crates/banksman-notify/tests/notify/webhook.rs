//! Webhooks.

use std::sync::Arc;

use banksman_faults::{Conduct, Service};
use banksman_notify::{Channel as _, Purpose, SendError, Webhook, WebhookSettings};
use banksman_outward::{Outward, Reach};
use serde_json::Value;

use crate::fixture::{approved, ask, card, local, message};

pub(crate) const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

pub(crate) fn webhook(outward: Arc<Outward>, url: &str) -> Webhook {
    let settings = WebhookSettings {
        url: url.parse().unwrap(),
        key: KEY.parse().unwrap(),
        source: "https://gate.example.org".into(),
    };
    Webhook::new(outward, settings)
}

#[tokio::test]
async fn a_service_gets_a_signed_cloud_event() {
    let service = Service::start(|_, _| Conduct::answer(204, "")).unwrap();
    let channel = webhook(local(), &format!("{}/tickets", service.url()));
    let sent = channel.send(&ask("tickets")).await.unwrap();
    assert!(sent.delivered);
    let heard = service.heard();
    let [heard] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!(heard.header("content-type"), Some("application/cloudevents+json"));
    assert_eq!(heard.header("webhook-id"), Some("msg_42"));
    assert!(heard.header("webhook-signature").unwrap().starts_with("v1,"));
    let event: Value = serde_json::from_slice(&heard.body).unwrap();
    insta::assert_json_snapshot!(event);
}

#[tokio::test]
async fn every_attempt_has_the_same_id_and_a_signature_of_its_own_moment() {
    let service = Service::start(|_, count| Conduct::answer(if count == 0 { 503 } else { 200 }, "")).unwrap();
    let channel = webhook(local(), &service.url());
    let first = ask("tickets");
    assert!(matches!(channel.send(&first).await, Err(SendError::Later { .. })));
    channel.send(&banksman_notify::Message { attempt: 2, ..first }).await.unwrap();
    let heard = service.heard();
    assert_eq!(heard[0].header("webhook-id"), heard[1].header("webhook-id"));
    assert_eq!(heard[0].body, heard[1].body);
}

#[tokio::test]
async fn settled_digest_and_test_are_events_too() {
    let service = Service::start(|_, _| Conduct::answer(200, "")).unwrap();
    let channel = webhook(local(), &service.url());
    for sent in [
        message(Purpose::Settled, "t", vec![approved()]),
        message(Purpose::Digest, "t", vec![card(), card()]),
        message(Purpose::Test, "t", Vec::new()),
    ] {
        channel.send(&sent).await.unwrap();
    }
    let heard = service.heard();
    let events: Vec<Value> = heard.iter().map(|heard| serde_json::from_slice(&heard.body).unwrap()).collect();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        ["banksman.notification.settled", "banksman.notification.digest", "banksman.notification.test"]
    );
    assert_eq!(events[0]["data"]["actions"][0]["standing"]["by"], "ann");
    assert_eq!(events[1]["data"]["actions"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_runs_already_is_told_and_not_asked() {
    let service = Service::start(|_, _| Conduct::answer(200, "")).unwrap();
    let channel = webhook(local(), &service.url());
    channel.send(&message(Purpose::Ask, "t", vec![approved()])).await.unwrap();
    channel.send(&ask("t")).await.unwrap();
    let heard = service.heard();
    let events: Vec<Value> = heard.iter().map(|heard| serde_json::from_slice(&heard.body).unwrap()).collect();
    for (event, purpose, needed) in [(&events[0], "told", 0), (&events[1], "ask", 1)] {
        assert_eq!(event["type"], format!("banksman.notification.{purpose}"));
        assert_eq!(event["data"]["purpose"], purpose);
        assert_eq!(event["data"]["actions"][0]["approvals_needed"], needed);
    }
}

#[tokio::test]
async fn an_address_inside_is_not_called_unless_the_operator_names_it() {
    let service = Service::start(|_, _| Conduct::answer(200, "")).unwrap();
    let channel = webhook(Arc::new(Outward::new(Reach::public())), &service.url());
    assert!(matches!(channel.send(&ask("t")).await, Err(SendError::Never { .. })));
    assert!(service.heard().is_empty());
}
