//! Whatever an agent writes, a message stays within what its channel takes, and stays ours.

use banksman_faults::{Conduct, Service};
use banksman_notify::{Card, Channel as _, Purpose};
use serde_json::Value;

use crate::email::parts_of;
use crate::fixture::{SHOWING, approved, case, hostile_texts, local, message};
use crate::line::line;
use crate::slack::{slack, well};
use crate::webhook::webhook;

/// Cards of actions in which the text is everywhere that an agent can write.
pub(crate) fn hostile_cards() -> Vec<(String, Card)> {
    let mut cards = Vec::new();
    for text in hostile_texts() {
        let json = serde_json::to_string(&text).unwrap();
        let short: String = text.chars().take(128).collect();
        let one = format!("{{{json}:{json}}}");
        let many: Vec<String> = (0..40).map(|n| format!("\"k{n}\":{json}")).collect();
        for args in [one, format!("{{{}}}", many.join(","))] {
            let mut card = Card::of(&case(&short, &args, &short, &text), SHOWING);
            // The longest that a card can be.
            card.findings = vec![card.why.clone().unwrap(); 3];
            card.messages = card.findings.clone();
            cards.push((short.clone(), card));
        }
    }
    cards
}

fn purposes(card: &Card) -> Vec<(Purpose, Vec<Card>)> {
    let settled = Card { standing: approved().standing, ..card.clone() };
    let mut some = vec![card.clone(); 20];
    some.push(settled.clone());
    vec![
        (Purpose::Ask, vec![card.clone()]),
        (Purpose::Digest, vec![card.clone(); 60]),
        (Purpose::Settled, vec![settled]),
        (Purpose::Settled, some),
    ]
}

/// Every object in a value, with what it is called by.
fn objects<'a>(value: &'a Value, found: &mut Vec<&'a serde_json::Map<String, Value>>) {
    match value {
        Value::Object(members) => {
            found.push(members);
            members.values().for_each(|value| objects(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| objects(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn text<'a>(object: &'a serde_json::Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

#[tokio::test]
async fn slack_blocks_keep_to_the_published_limits_and_have_no_markup() {
    let service = Service::start(|heard, _| well(heard)).unwrap();
    let slack = slack(&service);
    for (name, card) in hostile_cards() {
        for (purpose, cards) in purposes(&card) {
            slack.send(&message(purpose, "U1", cards)).await.unwrap();
            let body: Value = serde_json::from_slice(&service.heard().last().unwrap().body).unwrap();
            assert!(body["blocks"].as_array().unwrap().len() <= 50, "{name}");
            let said = body["text"].as_str().unwrap();
            assert!(!said.contains(['<', '>']) && said.chars().count() <= 4000, "{name}");
            let mut all = Vec::new();
            objects(&body["blocks"], &mut all);
            for object in all {
                check_slack(object, &name);
            }
        }
    }
}

fn check_slack(object: &serde_json::Map<String, Value>, name: &str) {
    let within = |key: &str, most: usize| {
        if let Some(said) = text(object, key) {
            let count = said.chars().count();
            assert!((1..=most).contains(&count), "{name}: {key} has {count}");
        }
    };
    match text(object, "type") {
        Some("plain_text") => {
            within("text", 3000);
            assert_eq!(object["emoji"], false, "{name}");
            assert!(!text(object, "text").unwrap().chars().any(banksman_core::visible::is_hidden), "{name}");
        }
        Some("header") => assert!(object["text"]["text"].as_str().unwrap().chars().count() <= 150, "{name}"),
        Some("section") => {
            for field in object.get("fields").and_then(Value::as_array).into_iter().flatten() {
                assert!(field["text"].as_str().unwrap().chars().count() <= 2000, "{name}");
            }
            assert!(object.get("fields").and_then(Value::as_array).is_none_or(|fields| fields.len() <= 10));
        }
        Some("context") => assert!(object["elements"].as_array().unwrap().len() <= 10, "{name}"),
        Some("actions") => assert!(object["elements"].as_array().unwrap().len() <= 25, "{name}"),
        Some("button") => {
            within("action_id", 255);
            within("value", 2000);
            within("url", 3000);
            assert!(object["text"]["text"].as_str().unwrap().chars().count() <= 75, "{name}");
            if let Some(url) = text(object, "url") {
                assert!(url.starts_with("https://gate.example.org"), "{name}: {url}");
            }
        }
        // The object of a confirmation has no type.
        None => assert!(object["text"]["text"].as_str().unwrap().chars().count() <= 300, "{name}"),
        Some(other) => panic!("{name}: a block of the type {other}"),
    }
}

#[tokio::test]
async fn line_bubbles_keep_to_the_published_limits_and_lead_nowhere_else() {
    let service = Service::start(|_, _| Conduct::answer(200, "{}")).unwrap();
    let line = line(&service);
    for (name, card) in hostile_cards() {
        for (purpose, cards) in purposes(&card) {
            line.send(&message(purpose, "U1", cards)).await.unwrap();
            let body: Value = serde_json::from_slice(&service.heard().last().unwrap().body).unwrap();
            let sent = &body["messages"][0];
            let alt = sent["altText"].as_str().unwrap().chars().count();
            assert!((1..=400).contains(&alt), "{name}: {alt}");
            let size = sent["contents"].to_string().len();
            assert!(size <= 30_000, "{name}: {size} bytes");
            let mut all = Vec::new();
            objects(&sent["contents"], &mut all);
            for object in all {
                check_line(object, &name);
            }
        }
    }
}

fn check_line(object: &serde_json::Map<String, Value>, name: &str) {
    let within = |key: &str, most: usize| {
        let count = text(object, key).unwrap().chars().count();
        assert!((1..=most).contains(&count), "{name}: {key} has {count}");
    };
    match text(object, "type").unwrap() {
        "text" => {
            within("text", 2000);
            assert!(!text(object, "text").unwrap().chars().any(banksman_core::visible::is_hidden), "{name}");
            assert!(!object.contains_key("action"), "{name}");
        }
        "postback" => {
            within("label", 20);
            within("data", 300);
            within("displayText", 300);
        }
        "uri" => {
            within("label", 20);
            within("uri", 1000);
            assert!(text(object, "uri").unwrap().starts_with("https://gate.example.org"), "{name}");
        }
        "bubble" | "box" | "button" | "separator" => {}
        other => panic!("{name}: a component of the type {other}"),
    }
}

#[tokio::test]
async fn mails_have_our_links_only_one_subject_and_no_markup_of_others() {
    for (name, card) in hostile_cards() {
        for (purpose, cards) in purposes(&card) {
            let mail = parts_of(&message(purpose, "ann@example.org", cards)).await;
            let subjects = mail.head.lines().filter(|line| line.starts_with("Subject:")).count();
            let blind = mail.head.lines().filter(|line| line.to_lowercase().starts_with("bcc")).count();
            assert_eq!((subjects, blind), (1, 0), "{name}: {}", mail.head);
            let tags: Vec<&str> =
                mail.html.split('<').skip(1).map(|tag| tag.split(['>', ' ']).next().unwrap()).collect();
            for tag in tags {
                let ours = [
                    "!DOCTYPE", "html", "head", "meta", "title", "body", "h1", "table", "tr", "th", "td",
                    "p", "b", "a", "bdi", "span", "br", "ul", "li",
                ];
                assert!(ours.contains(&tag.trim_start_matches('/')), "{name}: <{tag}>");
            }
            for link in mail.html.split("href=\"").skip(1) {
                assert!(link.starts_with("https://gate.example.org/actions/act_"), "{name}");
            }
            assert!(!mail.html.contains("evil.example") && !mail.plain.contains("https://evil"), "{name}");
            assert!(!mail.plain.chars().any(|c| c != '\n' && banksman_core::visible::is_hidden(c)), "{name}");
        }
    }
}

#[tokio::test]
async fn events_are_bounded_too() {
    let service = Service::start(|_, _| Conduct::answer(200, "")).unwrap();
    let channel = webhook(local(), &service.url());
    for (name, card) in hostile_cards() {
        channel.send(&message(Purpose::Ask, "t", vec![card])).await.unwrap();
        let size = service.heard().last().unwrap().body.len();
        assert!(size < 40_000, "{name}: {size} bytes");
    }
}
