//! `GET /v1/resolutions`

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, id};

async fn since(server: &Server, agent: &str, query: &str) -> Value {
    server.send(Request::get(format!("/v1/resolutions{query}")).by(agent)).await.ok(200)
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["items"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test]
async fn an_agent_learns_what_was_resolved_while_it_was_away() {
    let server = Server::start().await;
    let body = |n: u32| json!({"tool": "send_email", "args": {"n": n}, "checkpoint": {"n": n}});
    let approved = server.propose_as(&server.riley, body(1)).await;
    let denied = server.propose_as(&server.riley, body(2)).await;
    let waiting = server.propose_as(&server.riley, body(3)).await;
    assert_eq!(ids(&since(&server, &server.riley, "").await), Vec::<&str>::new());
    server.approve(&server.ann, &approved).await;
    server.decide(&server.ann, &denied, json!({"decision": "respond", "message": "later"})).await.ok(200);

    let first = since(&server, &server.riley, "").await;
    assert_eq!(ids(&first), [id(&approved), id(&denied)]);
    assert_eq!(first["items"][0]["status"], "authorised");
    assert_eq!(first["items"][0]["checkpoint"], json!({"n": 1}));
    assert_eq!(first["items"][1]["resolution"]["message"], "later");
    let next = format!("?since={}", first["next_since"]);
    let second = since(&server, &server.riley, &next).await;
    assert_eq!((ids(&second).len(), &second["next_since"]), (0, &first["next_since"]));

    server.pass(Duration::from_secs(3600)).await;
    let third = since(&server, &server.riley, &next).await;
    assert!(ids(&third).contains(&id(&waiting)), "{third}");
    let expired = third["items"].as_array().unwrap().iter().find(|item| id(item) == id(&waiting)).unwrap();
    assert_eq!(expired["status"], "expired");
}

#[tokio::test]
async fn agents_learn_of_their_own_only() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    server.approve(&server.ann, &action).await;
    assert_eq!(ids(&since(&server, &server.sam, "").await).len(), 0);
    assert_eq!(ids(&since(&server, &server.riley, "").await), [id(&action)]);
}

#[tokio::test]
async fn pages_follow_each_other() {
    let server = Server::start().await;
    let mut expected = Vec::new();
    for n in 0..5 {
        let action = server.propose("send_email", json!({"n": n})).await;
        server.approve(&server.ann, &action).await;
        expected.push(id(&action).to_owned());
    }
    let mut seen = Vec::new();
    let mut from = json!(0);
    loop {
        let page = since(&server, &server.riley, &format!("?limit=2&since={from}")).await;
        if ids(&page).is_empty() {
            break;
        }
        seen.extend(ids(&page).into_iter().map(String::from));
        from = page["next_since"].clone();
    }
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn absurd_places_are_refused_or_empty() {
    let server = Server::start().await;
    for query in ["?since=-1", "?since=x", "?since=99999999999999999999", "?limit=0", "?limit=501", "?x=1"] {
        let answer = server.send(Request::get(format!("/v1/resolutions{query}")).by(&server.riley)).await;
        answer.problem(422, "invalid_request");
    }
    assert_eq!(ids(&since(&server, &server.riley, "?since=&limit=").await).len(), 0);
    let beyond = since(&server, &server.riley, "?since=18446744073709551615").await;
    assert_eq!(ids(&beyond).len(), 0);
}
