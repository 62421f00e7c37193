//! `/hooks`: Slack and LINE, before a service that behaves like them, decide as people do, and as nobody should.

mod forged;
mod line;
mod slack;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use banksman_core::Risk;
use banksman_faults::{Conduct, Heard, Service};
use banksman_http::Hooks;
use banksman_notify::{Conversation, Line, LineSettings, Secret, Slack, SlackSettings};
use banksman_outbox::{ChannelRules, Contact, Directory, Outbox};
use banksman_outward::{Outward, Reach};
use base64::Engine as _;
use serde_json::{Value, json};

use crate::client::{PATIENCE, Request, Response, percent_encoded};
use crate::server::{Server, id};

const SIGNING: &str = "the signing secret of Slack";
const CHANNEL: &str = "the channel secret of LINE";

/// A server with both channels, on which ann, ben and olga are known, and the provider of both.
pub(crate) struct House {
    pub(crate) server: Server,
    provider: Service,
}

impl House {
    async fn start() -> Self {
        Self::deciding_up_to(Some(Risk::High)).await
    }

    async fn deciding_up_to(most: Option<Risk>) -> Self {
        let server = Server::start().await;
        let provider = Service::start(|_, _| Conduct::answer(200, r#"{"ok":true}"#)).unwrap();
        let outward = Arc::new(Outward::new(Reach::and(vec!["127.0.0.0/8".parse().unwrap()])));
        let slack = Slack::new(
            Arc::clone(&outward),
            SlackSettings {
                token: Secret::new("xoxb"),
                signing_secret: Secret::new(SIGNING),
                api: format!("{}/api/", provider.url()).parse().unwrap(),
            },
        );
        let line = Line::new(
            outward,
            LineSettings {
                access_token: Secret::new("token"),
                channel_secret: Secret::new(CHANNEL),
                api: provider.url().parse().unwrap(),
            },
        );
        let everywhere = |there: &str| {
            let addresses = ["slack", "line"].map(|channel| (channel.to_owned(), there.to_owned())).into();
            Contact { addresses, ..Contact::default() }
        };
        let directory = Directory {
            console: format!("http://{}", server.address),
            people: [("ANN", "ann"), ("BEN", "ben"), ("OLGA", "olga"), ("GHOST", "ghost")]
                .map(|(there, here)| (here.to_owned(), everywhere(there)))
                .into(),
            channels: ["slack", "line"]
                .map(|channel| (channel.to_owned(), ChannelRules { decide_up_to: most }))
                .into(),
            ..Directory::default()
        };
        let (slack, line): (Arc<dyn Conversation>, Arc<dyn Conversation>) = (Arc::new(slack), Arc::new(line));
        server.app.listen_on(Hooks {
            outbox: Arc::new(Outbox::new(Arc::clone(&server.engine), directory, BTreeMap::new())),
            conversations: [("slack".to_owned(), slack), ("line".to_owned(), line)].into(),
        });
        Self { server, provider }
    }

    /// Asks for something that people have to decide.
    async fn held(&self, tool: &str) -> Value {
        self.server.propose(tool, json!({"to": "ann@example.org"})).await
    }

    /// What the provider was told since `before` calls, once there is something.
    async fn told(&self, before: usize) -> Vec<Heard> {
        let waiting = async {
            loop {
                let heard = self.provider.heard();
                if heard.len() > before {
                    return heard.into_iter().skip(before).collect();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("nobody was told anything")
    }

    /// Sends, and gives the words that come back on the channel.
    async fn words(&self, request: Request) -> String {
        let before = self.provider.heard().len();
        let answer = self.server.send(request).await;
        assert_eq!((answer.status, answer.body.len()), (200, 0), "{}", answer.text());
        let told = self.told(before).await;
        let [told] = told.as_slice() else { panic!("{told:?}") };
        let body: Value = serde_json::from_slice(&told.body).unwrap();
        let words = body["text"].as_str().or(body["messages"][0]["text"].as_str());
        words.unwrap_or_else(|| panic!("{body}")).to_owned()
    }

    async fn status(&self, action: &Value) -> String {
        self.server.show(&self.server.ann, action).await["status"].as_str().unwrap().to_owned()
    }

    /// The audit events of a type, newest first.
    async fn audit(&self, kind: &str) -> Vec<Value> {
        let path = format!("/v1/audit?type={kind}&limit=200");
        let page = self.server.send(Request::get(path).by(&self.server.ann)).await.ok(200);
        page["items"].as_array().unwrap().iter().map(|item| item["event"].clone()).collect()
    }

    /// Waits until so many refusals are on record; gives why, oldest first.
    async fn refusals(&self, count: usize) -> Vec<String> {
        let waiting = async {
            loop {
                let events = self.audit("inbound_refused").await;
                if events.len() >= count {
                    return events;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let events = tokio::time::timeout(PATIENCE, waiting).await.expect("it is not on record");
        let mut why: Vec<String> = events
            .iter()
            .map(|event| format!("{} via {}", event["why"].as_str().unwrap(), event["via"].as_str().unwrap()))
            .collect();
        why.reverse();
        why
    }

    /// The time by the server's clock.
    fn now(&self) -> i64 {
        self.server.engine.now().as_micros() / 1_000_000
    }
}

fn mac(secret: &str, text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), text.as_bytes()).as_ref().to_vec()
}

/// A form as Slack sends it, signed at a moment.
fn from_slack(payload: &Value, at: i64, secret: &str) -> Request {
    let body = format!("payload={}", percent_encoded(&payload.to_string()));
    let hex: String =
        mac(secret, &format!("v0:{at}:{body}")).iter().map(|byte| format!("{byte:02x}")).collect();
    Request::post_bytes("/hooks/slack", body)
        .header("X-Slack-Request-Timestamp", at.to_string())
        .header("X-Slack-Signature", format!("v0={hex}"))
}

/// What Slack sends when someone presses a button on the card of an action.
fn press(house: &House, who: &str, button: &str, action: &Value) -> Value {
    json!({
        "type": "block_actions",
        "user": { "id": who, "username": "ada" },
        "actions": [{
            "action_id": button,
            "value": format!("{}/{}/{}", id(action), action["version"], action["digest"].as_str().unwrap()),
        }],
        "response_url": format!("{}/actions/1", house.provider.url()),
        "trigger_id": "1.2.3",
    })
}

/// Presses a button on Slack now; gives the words that come back.
async fn pressed(house: &House, who: &str, button: &str, action: &Value) -> String {
    let payload = press(house, who, button, action);
    house.words(from_slack(&payload, house.now(), SIGNING)).await
}

/// A request as LINE sends it.
fn from_line(events: &[Value], secret: &str) -> Request {
    let body = json!({ "destination": "x", "events": events }).to_string();
    let signature = base64::engine::general_purpose::STANDARD.encode(mac(secret, &body));
    Request::post_bytes("/hooks/line", body).header("X-Line-Signature", signature)
}

/// What LINE sends when someone presses a button on the card of an action.
fn tap(house: &House, event: &str, who: Option<&str>, decision: &str, action: &Value) -> Value {
    let data = format!(
        "action={decision}&id={}&version={}&digest={}",
        id(action),
        action["version"],
        action["digest"].as_str().unwrap()
    );
    let source = match who {
        Some(who) => json!({ "type": "user", "userId": who }),
        None => json!({ "type": "group", "groupId": "G" }),
    };
    json!({
        "type": "postback",
        "mode": "active",
        "timestamp": house.now() * 1000,
        "source": source,
        "webhookEventId": event,
        "deliveryContext": { "isRedelivery": false },
        "replyToken": "r",
        "postback": { "data": data },
    })
}

fn assert_not_signed(answer: &Response) {
    answer.problem(401, "not_signed");
}
