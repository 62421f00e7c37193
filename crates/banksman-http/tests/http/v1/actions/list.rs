//! `GET /v1/actions`

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, id};

async fn list(server: &Server, query: &str) -> Value {
    server.send(Request::get(format!("/v1/actions{query}")).by(&server.ann)).await.ok(200)
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test]
async fn what_waits_comes_oldest_first_and_history_newest_first() {
    let server = Server::start().await;
    let first = server.propose("send_email", json!({"n": 1})).await;
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    let second = server.propose("send_email", json!({"n": 2})).await;
    assert_eq!(ids(&list(&server, "?status=pending").await), [id(&first), id(&second)]);
    assert_eq!(ids(&list(&server, "").await), [id(&second), id(&first)]);
    assert_eq!(ids(&list(&server, "?order=asc").await), [id(&first), id(&second)]);
    assert_eq!(ids(&list(&server, "?status=pending&order=desc").await), [id(&second), id(&first)]);
    assert_eq!(ids(&list(&server, "?status=pending&order=urgency").await), [id(&first), id(&second)]);
    let history = server.send(Request::get("/v1/actions?order=urgency").by(&server.ann)).await;
    history.problem(422, "invalid_request");
}

#[tokio::test]
async fn every_filter_narrows() {
    let server = Server::start().await;
    let email = server.propose("send_email", json!({})).await;
    let customer = server.propose("delete_customer", json!({})).await;
    let file = server.propose_as(&server.sam, json!({"tool": "read_file", "args": {}})).await;
    for (query, expected) in [
        ("?tool=send_email", vec![id(&email)]),
        ("?tier=escalate", vec![id(&customer)]),
        ("?agent=sam", vec![id(&file)]),
        ("?status=authorised", vec![id(&file)]),
        ("?agent=riley&tier=approve&status=pending&tool=send_email", vec![id(&email)]),
        ("?agent=sam&tool=send_email", vec![]),
        ("?agent=&tool=&status=authorised&tier=&cursor=&limit=&order=", vec![id(&file)]),
        ("?agent=riley%27%20OR%201=1--", vec![]),
    ] {
        assert_eq!(ids(&list(&server, query).await), expected, "{query}");
    }
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repeat() {
    let server = Server::start().await;
    let mut proposed = Vec::new();
    for n in 0..7 {
        proposed.push(id(&server.propose("send_email", json!({"n": n})).await).to_owned());
    }
    for order in ["asc", "desc"] {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = list(&server, &format!("?limit=3&order={order}&cursor={cursor}")).await;
            seen.extend(ids(&page).into_iter().map(String::from));
            match page.get("next_cursor") {
                Some(next) => cursor = next.as_str().unwrap().to_owned(),
                None => break,
            }
        }
        seen.sort();
        proposed.sort();
        assert_eq!(seen, proposed, "{order}");
    }
}

#[tokio::test]
async fn a_last_page_that_is_full_says_that_it_is_the_last() {
    let server = Server::start().await;
    for n in 0..4 {
        server.propose("send_email", json!({"n": n})).await;
    }
    let first = list(&server, "?limit=2").await;
    let next = format!("?limit=2&cursor={}", first["next_cursor"].as_str().unwrap());
    let last = list(&server, &next).await;
    assert_eq!((ids(&last).len(), last.get("next_cursor")), (2, None));
    assert!(list(&server, "?limit=4").await.get("next_cursor").is_none());
}

#[tokio::test]
async fn an_unknown_order_names_those_that_there_are() {
    let server = Server::start().await;
    let answer = server.send(Request::get("/v1/actions?order=foo").by(&server.ann)).await;
    let problem = answer.problem(422, "invalid_request");
    for order in ["asc", "desc", "urgency", "deadline", "risk"] {
        assert!(problem["detail"].as_str().unwrap().contains(order), "{problem}");
    }
}

#[tokio::test]
async fn absurd_questions_are_refused() {
    let server = Server::start().await;
    for query in [
        "?limit=0",
        "?limit=501",
        "?limit=-1",
        "?limit=many",
        "?limit=99999999999999999999999",
        "?status=maybe",
        "?tier=1",
        "?order=up",
        "?cursor=bat_01J9ZKQ7V8Y3F5T2M6N4P0R1SB",
        "?cursor=x",
        "?statut=pending",
        "?status=pending&status=denied",
        "?limit=1&limit=2",
    ] {
        let answer = server.send(Request::get(format!("/v1/actions{query}")).by(&server.ann)).await;
        answer.problem(422, "invalid_request");
    }
}
