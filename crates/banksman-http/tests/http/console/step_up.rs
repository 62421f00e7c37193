//! `/decide` with a passkey: the touch counts for one decision of one person on one version of one action.

use banksman_core::audit::{Event, Fact};
use banksman_core::{Factor, PersonChange, Standing};
use banksman_identity::Evidence;
use serde_json::{Value, json};

use super::key::{Answer, AtHome, Key, challenge};
use super::{Browser, hidden};
use crate::client::Response;
use crate::server::{Server, id};

async fn press(
    who: &AtHome<'_>,
    action: &Value,
    decision: &str,
    more: &[(&str, &str)],
    answer: &Answer,
) -> Response {
    let version = action["version"].to_string();
    let fields = [
        ("id", id(action)),
        ("version", version.as_str()),
        ("digest", action["digest"].as_str().unwrap()),
        ("decision", decision),
    ];
    who.submit("/decide", &[fields.as_slice(), more].concat(), answer).await
}

/// Presses a button, and has the key sign what the page then asks.
async fn touched(
    who: &AtHome<'_>,
    key: &mut Key,
    action: &Value,
    decision: &str,
    more: &[(&str, &str)],
) -> Answer {
    let page = press(who, action, decision, more, &Vec::new()).await;
    assert_eq!(page.status, 200, "{}", page.text());
    let page = page.text();
    let mut answer = key.sign(&challenge(&page), &who.origin());
    answer.push(("nonce", hidden(&page, "nonce")));
    answer
}

async fn status(server: &Server, action: &Value) -> Value {
    server.show(&server.riley, action).await["status"].clone()
}

/// The log bears out what it says, and so many decisions were proved.
async fn proved(server: &Server) -> Result<u64, String> {
    let mut evidence = Evidence::default();
    for stored in server.engine.events(banksman_store::EventQuery::following(0, 10_000)).await.unwrap() {
        let event = Event::from_bytes(stored.body.as_bytes()).unwrap();
        evidence.take(stored.seq, &event).map_err(|flaw| flaw.to_string())?;
    }
    Ok(evidence.proved())
}

#[tokio::test]
async fn a_touch_approves_and_the_log_proves_it() {
    let server = Server::start().await;
    let mut key = Key::new("key-1");
    let ann = AtHome::invited(&server, "ann-marie", &[], &mut key).await;
    let action = server.propose("launch", json!({"rocket": 1})).await;
    let answer = touched(&ann, &mut key, &action, "approve", &[("reason", "go")]).await;
    assert_eq!(status(&server, &action).await, "pending", "asking decides nothing");
    let done = press(&ann, &action, "approve", &[("reason", "go")], &answer).await;
    assert_eq!(done.status, 303, "{}", done.text());
    assert_eq!(status(&server, &action).await, "authorised");
    assert_eq!(proved(&server).await, Ok(1));
    // Denying needs no key.
    let other = server.propose("launch", json!({"rocket": 2})).await;
    assert_eq!(press(&ann, &other, "deny", &[], &Vec::new()).await.status, 303);
    assert_eq!(status(&server, &other).await, "denied");
}

#[tokio::test]
async fn a_touch_is_worth_nothing_elsewhere() {
    let server = Server::start().await;
    let (mut anns, mut bobs) = (Key::new("key-1"), Key::new("key-2"));
    let ann = AtHome::invited(&server, "ann-marie", &[], &mut anns).await;
    let bob = AtHome::invited(&server, "bob-dylan", &[], &mut bobs).await;
    let action = server.propose("land", json!({"rocket": 1})).await;
    let twin = server.propose("land", json!({"rocket": 2})).await;
    let refused = |answer: Response, what: &str| {
        assert_eq!(answer.status, 409, "{what}: {}", answer.text());
        assert!(answer.text().contains("Not done"), "{what}");
    };
    let answer = touched(&ann, &mut anns, &action, "approve", &[]).await;
    refused(press(&ann, &twin, "approve", &[], &answer).await, "another action");
    let answer = touched(&ann, &mut anns, &action, "approve", &[]).await;
    refused(press(&bob, &action, "approve", &[], &answer).await, "another person");
    let answer = touched(&ann, &mut anns, &action, "approve", &[]).await;
    let edit = [("args", "{\"rocket\":3}")];
    refused(press(&ann, &action, "modify", &edit, &answer).await, "another decision");
    // A key of someone else signs for ann.
    let page = press(&ann, &action, "approve", &[], &Vec::new()).await.text();
    let mut foreign = bobs.sign(&challenge(&page), &ann.origin());
    foreign.push(("nonce", hidden(&page, "nonce")));
    refused(press(&ann, &action, "approve", &[], &foreign).await, "another's key");
    // An edit signs what it makes.
    let answer = touched(&ann, &mut anns, &twin, "modify", &[("args", "{\"rocket\":4}")]).await;
    refused(press(&ann, &twin, "modify", &[("args", "{\"rocket\":5}")], &answer).await, "another edit");
    for action in [&action, &twin] {
        assert_eq!(server.show(&server.riley, action).await["votes"], json!([]));
    }
    // The right one counts, and once.
    let answer = touched(&ann, &mut anns, &action, "approve", &[]).await;
    assert_eq!(press(&ann, &action, "approve", &[], &answer).await.status, 303);
    refused(press(&ann, &action, "approve", &[], &answer).await, "the same again");
    assert_eq!(status(&server, &action).await, "pending", "two are needed");
    // On another version, the old touch is worth nothing.
    let edit = [("args", "{\"rocket\":6}")];
    let answer = touched(&bob, &mut bobs, &action, "approve", &[]).await;
    let signed = touched(&ann, &mut anns, &action, "modify", &edit).await;
    assert_eq!(press(&ann, &action, "modify", &edit, &signed).await.status, 303);
    let now = server.show(&server.riley, &action).await;
    assert_eq!(now["version"], 2);
    refused(press(&bob, &now, "approve", &[], &answer).await, "another version");
    let answer = touched(&bob, &mut bobs, &now, "approve", &[]).await;
    assert_eq!(press(&bob, &now, "approve", &[], &answer).await.status, 303);
    assert_eq!(status(&server, &action).await, "authorised");
    assert_eq!(proved(&server).await, Ok(3));
}

#[tokio::test]
async fn without_a_touch_everyone_is_told_where_to_go() {
    let server = Server::start().await;
    let action = server.propose("launch", json!({})).await;
    let by_token = server.decide(&server.ann, &action, json!({"decision": "approve"})).await;
    let problem = by_token.problem(403, "step_up_required");
    assert!(problem["detail"].as_str().unwrap().contains("console"), "{problem}");
    // Someone without a passkey, and someone at an address where none works.
    let mut key = Key::new("key-1");
    let home = AtHome::invited(&server, "ann-marie", &[], &mut key).await;
    let elsewhere = Browser { cookie: home.cookie.clone(), csrf: home.csrf.clone() };
    let keyless = Browser::sign_in(&server, "ada").await;
    for browser in [&elsewhere, &keyless] {
        let refused = browser.decide(&server, &action, "approve").await;
        assert_eq!(refused.status, 409);
        assert!(refused.text().contains("touch of a passkey"), "{}", refused.text());
    }
    // In a batch there is one button for many; a touch is for one.
    let items = json!({"items": [{"tool": "launch", "args": {"n": 1}}]});
    let batch =
        server.send(crate::client::Request::post("/v1/batches", &items).by(&server.riley)).await.ok(200);
    let decisions = json!({"digest": batch["digest"], "decisions": [{"id": batch["items"][0]["id"], "decision": "approve"}]});
    let path = format!("/v1/batches/{}/decision", id(&batch));
    let answer = server.send(crate::client::Request::post(path, &decisions).by(&server.ann)).await.ok(200);
    assert_eq!(answer["results"][0]["code"], "step_up_required", "{answer}");
    assert_eq!(status(&server, &action).await, "pending");
}

/// What is on record once a touch has approved something.
async fn log_of_a_touch() -> Vec<(u64, Event)> {
    let server = Server::start().await;
    let mut key = Key::new("key-1");
    let ann = AtHome::invited(&server, "ann-marie", &[], &mut key).await;
    let action = server.propose("launch", json!({})).await;
    let answer = touched(&ann, &mut key, &action, "approve", &[]).await;
    assert_eq!(press(&ann, &action, "approve", &[], &answer).await.status, 303);
    let stored = server.engine.events(banksman_store::EventQuery::following(0, 10_000)).await.unwrap();
    stored.iter().map(|event| (event.seq, Event::from_bytes(event.body.as_bytes()).unwrap())).collect()
}

#[tokio::test]
async fn a_log_that_was_tampered_with_does_not_hold() {
    let events = log_of_a_touch().await;
    let flaws = |change: &dyn Fn(&mut Event)| {
        let mut evidence = Evidence::default();
        let mut flaws = 0;
        for (seq, event) in &events {
            let mut event = event.clone();
            if matches!(event.fact, Fact::Decided { .. }) {
                change(&mut event);
            }
            flaws += usize::from(evidence.take(*seq, &event).is_err());
        }
        flaws
    };
    assert_eq!(flaws(&|_| ()), 0);
    assert_eq!(
        flaws(&|event| event.actor = banksman_core::Actor::Reviewer { name: "bob".into() }),
        1,
        "another person"
    );
    assert_eq!(flaws(&|event| event.action.as_mut().unwrap().version = 2), 1, "another version");
    assert_eq!(
        flaws(&|event| event.action.as_mut().unwrap().digest = banksman_core::Digest::of(b"else")),
        1,
        "another digest"
    );
    assert_eq!(
        flaws(&|event| if let Fact::Decided { step_up, .. } = &mut event.fact {
            *step_up = None
        }),
        1,
        "no signature"
    );
    let other_nonce = |event: &mut Event| {
        if let Fact::Decided { step_up: Some(assertion), .. } = &mut event.fact {
            assertion.nonce.push('x');
        }
    };
    assert_eq!(flaws(&other_nonce), 1, "another nonce");
    // A missing event is a flaw too.
    let mut evidence = Evidence::default();
    let gaps =
        events.iter().filter(|(seq, _)| *seq != 3).filter(|(seq, event)| evidence.take(*seq, event).is_err());
    assert!(gaps.count() >= 1);
}

#[tokio::test]
async fn what_a_synced_passkey_signed_decides_once_however_often_it_is_sent() {
    let server = Server::start().await;
    let mut key = Key::synced("key-1");
    let ann = AtHome::invited(&server, "ann-marie", &[], &mut key).await;
    let action = server.propose("land", json!({"rocket": 1})).await;
    let answer = touched(&ann, &mut key, &action, "approve", &[]).await;
    let all = (0..4).map(|_| press(&ann, &action, "approve", &[], &answer));
    let answers = futures_util::future::join_all(all).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 303).count(), 1);
    assert_eq!(server.show(&server.riley, &action).await["votes"].as_array().unwrap().len(), 1);
    // Nor on the version that an edit makes, nor on the same action proposed again.
    let edit = [("args", "{\"rocket\":2}")];
    let signed = touched(&ann, &mut key, &action, "modify", &edit).await;
    assert_eq!(press(&ann, &action, "modify", &edit, &signed).await.status, 303);
    let edited = server.show(&server.riley, &action).await;
    for (decision, more, answer) in
        [("approve", &[] as &[(&str, &str)], &answer), ("modify", &edit, &signed), ("approve", &[], &signed)]
    {
        assert_eq!(press(&ann, &edited, decision, more, answer).await.status, 409, "{decision}");
    }
    let again = server.propose("land", json!({"rocket": 1})).await;
    assert_eq!(press(&ann, &again, "approve", &[], &answer).await.status, 409);
    assert_eq!(server.show(&server.riley, &again).await["votes"], json!([]));
}

#[tokio::test]
async fn whoever_signs_an_edit_sees_what_it_makes() {
    let server = Server::start().await;
    let mut key = Key::new("key-1");
    let ann = AtHome::invited(&server, "ann-marie", &[], &mut key).await;
    let action = server.propose("launch", json!({"rocket": 1})).await;
    let edit = [("args", "{\"rocket\":4242}")];
    let page = press(&ann, &action, "modify", &edit, &Vec::new()).await.text();
    let mut answer = key.sign(&challenge(&page), &ann.origin());
    answer.push(("nonce", hidden(&page, "nonce")));
    assert_eq!(press(&ann, &action, "modify", &edit, &answer).await.status, 303);
    let made = server.show(&server.riley, &action).await;
    let (old, new) = (action["digest"].as_str().unwrap(), made["digest"].as_str().unwrap());
    assert!(page.contains(&format!("<code>{new}</code>")), "{page}");
    assert!(!page.contains(&format!("<code>{old}</code>")) && page.contains("version 2"), "{page}");
    let (shown, _) = page.split_once("class=\"passkey\"").unwrap();
    assert!(shown.contains("4242"), "the arguments: {page}");
}

/// How many flaws a log has, how many of its decisions are proved, and how many cannot be judged.
fn read(mut evidence: Evidence, events: &[(u64, Event)]) -> (usize, u64, u64) {
    let flaws = events.iter().filter(|(seq, event)| evidence.take(*seq, event).is_err()).count();
    (flaws, evidence.proved(), evidence.unjudged())
}

#[tokio::test]
async fn a_log_without_its_beginning_proves_no_approval() {
    let mut events = log_of_a_touch().await;
    let at = |wanted: fn(&Fact) -> bool| events.iter().position(|(_, event)| wanted(&event.fact)).unwrap();
    let proposed = at(|fact| matches!(fact, Fact::Proposed { .. }));
    let decided = at(|fact| matches!(fact, Fact::Decided { .. }));
    let enrolled = at(|fact| {
        let Fact::Person { change, .. } = fact else { return false };
        matches!(change, PersonChange::Enrolled { factor: Factor::Passkey(_) })
    });
    assert_eq!(read(Evidence::default(), &events), (0, 1, 0));
    // The signature holds, whatever else is missing; the passkey is in this part.
    assert_eq!(read(Evidence::of_part(), &events[enrolled..]), (0, 1, 0));
    assert_eq!(read(Evidence::of_part(), &events[proposed..]), (0, 0, 1), "whose key it was is not in it");
    // Without the proposal, and not said to be a part.
    assert_eq!(read(Evidence::default(), &events[proposed + 1..]), (1, 0, 0));
    if let Fact::Decided { step_up, .. } = &mut events[decided].1.fact {
        *step_up = None;
    }
    assert_eq!(read(Evidence::default(), &events).0, 1);
    assert_eq!(read(Evidence::of_part(), &events[proposed..]), (1, 0, 0), "a touch was asked for");
    assert_eq!(read(Evidence::of_part(), &events[proposed + 1..]), (0, 0, 1), "whether one was is not in it");
}

#[tokio::test]
async fn who_was_removed_signs_nothing_any_more() {
    let mut events: Vec<(u64, Event)> = Vec::new();
    for (_, event) in log_of_a_touch().await {
        if matches!(event.fact, Fact::Decided { .. }) {
            let change = PersonChange::StandingChanged { standing: Standing::Removed };
            let fact = Fact::Person { person: "ann-marie".into(), change };
            events.push((0, Event::general(event.at, banksman_core::Actor::Operator, fact)));
        }
        events.push((0, event));
    }
    for (seq, event) in (1..).zip(&mut events) {
        event.0 = seq;
    }
    assert_eq!(read(Evidence::default(), &events), (1, 0, 0));
    assert_eq!(read(Evidence::of_part(), &events), (1, 0, 0));
}
