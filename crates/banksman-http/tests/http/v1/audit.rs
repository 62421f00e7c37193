//! `GET /v1/audit`

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, id};

async fn query(server: &Server, query: &str) -> Value {
    server.send(Request::get(format!("/v1/audit{query}")).by(&server.ann)).await.ok(200)
}

fn types(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|item| item["event"]["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn everything_that_happened_is_there_newest_first() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    server.decide(&server.ann, &action, json!({"decision": "approve", "reason": "ok"})).await.ok(200);
    server.claim(&server.riley, &action).await.ok(200);
    server.outcome(&server.riley, &action, json!({"status": "failed", "error": "boom"})).await.ok(200);
    let page = query(&server, &format!("?action={}", id(&action))).await;
    assert_eq!(types(&page), ["finished", "claimed", "decided", "proposed"]);
    assert_eq!(page["items"][0]["event"]["error"], "boom");
    assert_eq!(page["items"][2]["event"]["actor"]["name"], "ann");
    assert_eq!(page["items"][2]["event"]["reason"], "ok");
    let page = query(&server, &format!("?action={}&order=asc", id(&action))).await;
    assert_eq!(types(&page), ["proposed", "decided", "claimed", "finished"]);
}

#[tokio::test]
async fn every_filter_narrows() {
    let server = Server::start().await;
    let email = server.propose("send_email", json!({})).await;
    let customer = server.propose("delete_customer", json!({})).await;
    server.propose_as(&server.sam, json!({"tool": "read_file", "args": {}})).await;
    server.decide(&server.ann, &email, json!({"decision": "deny"})).await.ok(200);
    server.decide(&server.ben, &customer, json!({"decision": "approve"})).await.ok(200);
    for (text, expected) in [
        ("?type=decided", vec!["decided", "decided"]),
        ("?decision=deny", vec!["decided"]),
        ("?risk=critical", vec!["decided", "proposed"]),
        ("?tool=send_email", vec!["decided", "proposed"]),
        ("?agent=sam", vec!["proposed"]),
        ("?reviewer=ben", vec!["decided"]),
        ("?reviewer=ben&decision=deny", vec![]),
        ("?until=2020-01-01T00:00:00Z", vec![]),
        (
            "?agent=sam&type=&decision=&risk=&reviewer=&action=&since=&until=&cursor=&limit=&order=",
            vec!["proposed"],
        ),
        ("?since=2999-01-01T00:00:00Z", vec![]),
        ("?since=2020-01-01T00:00:00%2B09:00&type=proposed&agent=riley", vec!["proposed", "proposed"]),
    ] {
        assert_eq!(types(&query(&server, text).await), expected, "{text}");
    }
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repeat() {
    let server = Server::start().await;
    for n in 0..5 {
        server.propose("read_file", json!({"n": n})).await;
    }
    let newest = server.newest_seq().await;
    for (order, expected) in
        [("asc", (1..=newest).collect::<Vec<_>>()), ("desc", (1..=newest).rev().collect())]
    {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = query(&server, &format!("?limit=3&order={order}{cursor}")).await;
            seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["seq"].as_u64().unwrap()));
            match page.get("next_cursor") {
                Some(next) => cursor = format!("&cursor={}", next.as_str().unwrap()),
                None => break,
            }
        }
        assert_eq!(seen, expected, "{order}");
    }
}

#[tokio::test]
async fn a_full_page_that_is_the_last_says_so() {
    let server = Server::start().await;
    let newest = server.newest_seq().await;
    assert!(query(&server, &format!("?limit={newest}")).await.get("next_cursor").is_none());
    assert!(query(&server, &format!("?limit={}", newest - 1)).await.get("next_cursor").is_some());
}

#[tokio::test]
async fn absurd_questions_are_refused_or_empty() {
    let server = Server::start().await;
    for text in [
        "?limit=0",
        "?limit=501",
        "?order=sideways",
        "?risk=extreme",
        "?decision=maybe",
        "?since=yesterday",
        "?until=2020-01-01",
        "?since=-999999-01-01T00:00:00Z",
        "?cursor=-1",
        "?cursor=x",
        "?cursor=99999999999999999999",
        "?action=bat_01J9ZKQ7V8Y3F5T2M6N4P0R1SB",
        "?reviewers=ann",
        "?type=no_such_type",
        "?type=decison",
    ] {
        let answer = server.send(Request::get(format!("/v1/audit{text}")).by(&server.ann)).await;
        answer.problem(422, "invalid_request");
    }
    assert!(!types(&query(&server, "?cursor=18446744073709551615").await).is_empty());
    assert!(types(&query(&server, "?cursor=18446744073709551615&order=asc").await).is_empty());
}
