//! `/v1/batches`

use serde_json::{Value, json};

use crate::client::{Request, Response};
use crate::server::{Server, id};

fn item(tool: &str, n: u32) -> Value {
    json!({"tool": tool, "args": {"n": n}})
}

async fn propose(server: &Server, items: Value) -> Response {
    server.send(Request::post("/v1/batches", &json!({"items": items})).by(&server.riley)).await
}

async fn decide(server: &Server, batch: &Value, decisions: Value) -> Response {
    let body = json!({"digest": batch["digest"], "decisions": decisions});
    server.send(Request::post(format!("/v1/batches/{}/decision", id(batch)), &body).by(&server.ann)).await
}

async fn show(server: &Server, batch: &Value) -> Value {
    server.send(Request::get(format!("/v1/batches/{}", id(batch))).by(&server.riley)).await.ok(200)
}

fn statuses(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["status"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn each_item_is_judged_alone() {
    let server = Server::start().await;
    let items = json!([item("read_file", 1), item("send_email", 2), item("drop_database", 3)]);
    let batch = propose(&server, items).await.ok(200);
    assert_eq!(statuses(&batch["items"]), ["authorised", "pending", "blocked"]);
    assert_eq!(batch["agent"], "riley");
    assert!(batch["items"].as_array().unwrap().iter().all(|item| item["batch"] == batch["id"]));
    assert_eq!(show(&server, &batch).await["digest"], batch["digest"]);
    let seen = server.send(Request::get(format!("/v1/batches/{}", id(&batch))).by(&server.ann)).await.ok(200);
    assert_eq!(seen, show(&server, &batch).await);
}

#[tokio::test]
async fn a_reviewer_decides_some_of_the_items() {
    let server = Server::start().await;
    let items = json!([item("send_email", 1), item("send_email", 2), item("fire", 3), item("read_file", 4)]);
    let batch = propose(&server, items).await.ok(200);
    let of = |n: usize| &batch["items"][n]["id"];
    let decisions = json!([
        {"id": of(0), "decision": "approve"},
        {"id": of(2), "decision": "deny"},
        {"id": of(3), "decision": "approve"},
    ]);
    let decided = decide(&server, &batch, decisions).await.ok(200);
    assert_eq!(statuses(&decided["results"]), ["authorised", "pending", "authorised"]);
    // One that cannot be decided does not hold up the others, and says why.
    assert_eq!(decided["results"][0].get("code"), None);
    assert_eq!(decided["results"][1]["code"], "reason_required");
    assert_eq!(decided["results"][2]["code"], "already_decided");
    let now = show(&server, &batch).await;
    assert_eq!(statuses(&now["items"]), ["authorised", "pending", "pending", "authorised"]);
}

#[tokio::test]
async fn a_decision_is_bound_to_the_items_that_were_seen() {
    let server = Server::start().await;
    let batch = propose(&server, json!([item("send_email", 1), item("delete_customer", 2)])).await.ok(200);
    let edited = json!({"decision": "modify", "args": {"n": 9}});
    server.decide(&server.ben, &batch["items"][1], edited).await.ok(200);
    let decisions = json!([{"id": batch["items"][0]["id"], "decision": "approve"}]);
    let refused = decide(&server, &batch, decisions.clone()).await.problem(409, "digest_mismatch");
    let now = show(&server, &batch).await;
    assert_eq!(refused["current_digest"], now["digest"]);
    assert_eq!(statuses(&now["items"]), ["pending", "pending"]);
    assert_eq!(statuses(&decide(&server, &now, decisions).await.ok(200)["results"]), ["authorised"]);
}

#[tokio::test]
async fn decisions_that_make_no_sense_decide_nothing() {
    let server = Server::start().await;
    let batch = propose(&server, json!([item("send_email", 1)])).await.ok(200);
    let other = server.propose("send_email", json!({"n": 2})).await;
    let own = &batch["items"][0]["id"];
    for decisions in [
        json!([{"id": other["id"], "decision": "approve"}]),
        json!([{"id": own, "decision": "approve"}, {"id": own, "decision": "deny"}]),
        json!([{"id": own, "decision": "modify"}]),
        json!([{"id": own, "decision": "approve"}, {"id": other["id"], "decision": "approve"}]),
        json!([{"id": own, "decision": "approve", "version": 1}]),
        json!([{"id": "act_", "decision": "approve"}]),
        json!({"id": own}),
    ] {
        decide(&server, &batch, decisions).await.problem(422, "invalid_request");
    }
    assert_eq!(statuses(&show(&server, &batch).await["items"]), ["pending"]);
    assert_eq!(decide(&server, &batch, json!([])).await.ok(200)["results"], json!([]));
}

#[tokio::test]
async fn a_batch_comes_whole_or_not_at_all() {
    let server = Server::start().await;
    let waiting = server.propose("send_email", json!({"n": 9})).await;
    let before = server.newest_seq().await;
    let many: Vec<_> = (0..501).map(|n| item("send_email", n)).collect();
    for (items, code, says) in [
        (json!([]), "invalid_request", "1 to 500"),
        (json!(many), "invalid_request", "1 to 500"),
        (json!([item("send_email", 1), item("send_email", 1)]), "invalid_request", "twice"),
        (json!([item("send_email", 1), item("send_email", 9)]), "invalid_request", id(&waiting)),
        (json!([item("send_email", 1), {"tool": "x"}]), "invalid_action", "/items/1/args"),
        (json!([item("send_email", 1), 7]), "invalid_action", "/items/1"),
        (json!({"0": item("send_email", 1)}), "invalid_request", "items"),
        (json!(null), "invalid_request", "items"),
    ] {
        let problem = propose(&server, items).await.problem(422, code);
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
    }
    let schema = json!({"tool": "a", "args": {}, "args_schema": {"required": ["x"]}});
    propose(&server, json!([item("send_email", 1), schema])).await.problem(422, "invalid_args");
    for body in [json!([]), json!({}), json!({"items": [item("send_email", 1)], "more": 1}), json!("items")] {
        let answer = server.send(Request::post("/v1/batches", &body).by(&server.riley)).await;
        answer.problem(422, "invalid_request");
    }
    assert_eq!(server.newest_seq().await, before);
}

#[tokio::test]
async fn a_batch_sent_again_with_its_key_is_the_same_batch() {
    let server = Server::start().await;
    let send = |items: Value, key: &str| {
        let request = Request::post("/v1/batches", &json!({"items": items})).by(&server.riley);
        server.send(request.header("Idempotency-Key", key))
    };
    let items = || json!([item("read_file", 1), item("read_file", 2)]);
    let first = send(items(), "k").await.ok(200);
    let before = server.newest_seq().await;
    let again = send(items(), "k").await.ok(200);
    assert_eq!((id(&again), &again["items"][0]["joined"]), (id(&first), &json!(true)));
    assert_eq!(server.newest_seq().await, before, "nothing new was authorised");
    send(json!([item("read_file", 1)]), "k").await.problem(422, "idempotency_key_reused");
    let single = |key: &str| {
        let request = Request::post("/v1/actions", &item("read_file", 1)).by(&server.riley);
        server.send(request.header("Idempotency-Key", key))
    };
    single("k").await.problem(422, "idempotency_key_reused");
    single("one").await.ok(200);
    send(items(), "one").await.problem(422, "idempotency_key_reused");
    send(items(), "").await.problem(422, "invalid_request");
}

#[tokio::test]
async fn an_agent_that_asks_again_learns_which_batch_it_asked_for() {
    let server = Server::start().await;
    let items = || json!([item("send_email", 1), item("read_file", 2)]);
    let first = propose(&server, items()).await.ok(200);
    assert_eq!(id(&propose(&server, items()).await.ok(200)), id(&first));
    propose(&server, json!([item("send_email", 1)])).await.problem(422, "invalid_request");
}

#[tokio::test]
async fn a_batch_is_answered_when_all_of_it_is_decided() {
    let server = Server::start().await;
    let items = json!([item("send_email", 1), item("read_file", 2), item("send_email", 3)]);
    let request = Request::post("/v1/batches", &json!({"items": items})).by(&server.riley);
    let decide_both = async {
        for n in [1, 3] {
            let held = loop {
                let listed =
                    server.send(Request::get("/v1/actions?status=pending").by(&server.ann)).await.ok(200);
                let items = listed["items"].as_array().unwrap();
                if let Some(held) = items.iter().find(|action| action["args"]["n"] == n) {
                    break held.clone();
                }
            };
            server.decide(&server.ann, &held, json!({"decision": "deny"})).await.ok(200);
        }
    };
    let (answer, ()) = tokio::join!(server.send(request.header("Prefer", "wait=25")), decide_both);
    assert_eq!(statuses(&answer.ok(200)["items"]), ["denied", "authorised", "denied"]);
}
