//! `POST /v1/actions`

use std::time::{Duration, Instant};

use banksman_engine::{EngineConfig, QueueLimits};
use banksman_store::PendingLimits;
use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, id};

fn propose(server: &Server, body: &Value) -> Request {
    Request::post("/v1/actions", body).by(&server.riley)
}

fn email(to: &str) -> Value {
    json!({"tool": "send_email", "args": {"to": to}})
}

#[tokio::test]
async fn what_policy_allows_is_authorised_at_once_with_a_token() {
    let server = Server::start().await;
    for tool in ["read_file", "post_note"] {
        let answer = server.send(propose(&server, &json!({"tool": tool, "args": {"path": "a"}}))).await;
        assert_eq!(answer.header("location"), None);
        let action = answer.ok(200);
        assert_eq!(action["status"], "authorised");
        assert_eq!(action["resolution"]["by"], "policy");
        assert!(action["authorization"].as_str().unwrap().split('.').count() == 3);
        assert_eq!(action["agent"], "riley");
        assert_eq!(action["args"], json!({"path": "a"}));
    }
}

#[tokio::test]
async fn what_needs_people_is_held_and_says_where_to_ask() {
    let server = Server::start().await;
    for tool in ["send_email", "delete_customer", "never_heard_of"] {
        let answer = server.send(propose(&server, &json!({"tool": tool, "args": {}}))).await;
        let action = answer.ok(202);
        let url = format!("/v1/actions/{}", id(&action));
        assert_eq!(answer.header("location"), Some(url.as_str()));
        assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
        assert_eq!(action["status_url"], url);
        assert_eq!(action["status"], "pending");
        assert_eq!(action["version"], 1);
        assert!(action["expires_at"].as_str().unwrap() > action["created_at"].as_str().unwrap());
        assert!(action.get("authorization").is_none(), "{action}");
        assert_eq!(server.send(Request::get(url).by(&server.riley)).await.ok(200)["id"], action["id"]);
    }
}

#[tokio::test]
async fn what_policy_blocks_is_refused_and_on_record() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    let problem = server
        .send(propose(&server, &json!({"tool": "drop_database", "args": {}})))
        .await
        .problem(403, "blocked");
    assert_eq!(problem["action_status"], "blocked");
    assert_eq!(server.newest_seq().await, before + 1);
    let shown = server.show(&server.riley, &json!({"id": problem["action"]})).await;
    assert_eq!(shown["status"], "blocked");
    // Nobody overrides a block.
    let decided = server.decide(&server.ada, &shown, json!({"decision": "approve"})).await;
    decided.problem(409, "already_decided");
    server.claim(&server.riley, &shown).await.problem(403, "not_authorised");
}

#[tokio::test]
async fn who_asks_comes_from_the_credential_and_nothing_else_may_be_claimed() {
    let server = Server::start().await;
    let before = server.newest_seq().await;
    for member in ["agent", "tier", "risk", "status", "approved_by", "reviewer", "forwarded", "nonsense"] {
        let mut body = email("ada");
        body[member] = json!("auto");
        let problem = server.send(propose(&server, &body)).await.problem(422, "invalid_action");
        assert!(problem["detail"].as_str().unwrap().contains(member), "{problem}");
    }
    assert_eq!(server.newest_seq().await, before);
}

#[tokio::test]
async fn an_agent_with_a_full_queue_is_told_to_come_back() {
    let limits = PendingLimits { per_agent: 2, total: 3 };
    let queue = QueueLimits { patience: Duration::ZERO, ..QueueLimits::default() };
    let server = Server::start_with(EngineConfig { limits, queue }).await;
    server.propose_as(&server.riley, email("a")).await;
    server.propose_as(&server.riley, email("b")).await;
    let before = server.newest_seq().await;
    let refused = server.send(propose(&server, &email("c"))).await;
    refused.problem(429, "too_many_pending");
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(server.newest_seq().await, before);
    // What waits already is joined, what needs nobody is not held up, and others have their own queue.
    assert_eq!(server.propose_as(&server.riley, email("a")).await["joined"], true);
    server.send(propose(&server, &json!({"tool": "read_file", "args": {}}))).await.ok(200);
    server.propose_as(&server.sam, email("c")).await;
    let refused = server.send(Request::post("/v1/actions", &email("d")).by(&server.sam)).await;
    refused.problem(429, "too_many_pending");
    let batch = json!({"items": [email("e")]});
    let refused = server.send(Request::post("/v1/batches", &batch).by(&server.sam)).await;
    refused.problem(429, "too_many_pending");
}

#[tokio::test]
async fn a_proposal_stands_in_line_until_there_is_room() {
    let limits = PendingLimits { per_agent: 1, total: 10 };
    let queue = QueueLimits { patience: Duration::from_secs(25), ..QueueLimits::default() };
    let server = Server::start_with(EngineConfig { limits, queue }).await;
    let held = server.propose_as(&server.riley, email("a")).await;
    let before = server.newest_seq().await;
    // Patience that the client names is shorter than ours, and a client that hangs up leaves the line.
    let began = Instant::now();
    let impatient = propose(&server, &email("b")).header("Prefer", "wait=1");
    server.send(impatient).await.problem(429, "too_many_pending");
    assert!(began.elapsed() >= Duration::from_secs(1));
    let hung_up = server.send(propose(&server, &email("c")));
    tokio::time::timeout(Duration::from_millis(100), hung_up).await.unwrap_err();
    assert_eq!(server.newest_seq().await, before);

    let (answer, ()) = tokio::join!(server.send(propose(&server, &email("d"))), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        server.approve(&server.ann, &held).await;
    });
    let action = answer.ok(202);
    assert_eq!(action["args"], json!({"to": "d"}));
    assert_eq!(server.newest_seq().await, before + 2, "an approval, and a proposal");
}

#[tokio::test]
async fn a_server_that_stops_sends_those_in_line_away() {
    let limits = PendingLimits { per_agent: 1, total: 10 };
    let queue = QueueLimits { patience: Duration::from_secs(25), ..QueueLimits::default() };
    let server = Server::start_with(EngineConfig { limits, queue }).await;
    server.propose_as(&server.riley, email("a")).await;
    let began = Instant::now();
    let (answer, ()) = tokio::join!(server.send(propose(&server, &email("b"))), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        server.stop();
    });
    answer.problem(429, "too_many_pending");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn arguments_that_break_their_own_schema_are_refused() {
    let server = Server::start().await;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let with = |args: Value| json!({"tool": "send_email", "args": args, "args_schema": schema});
    let problem =
        server.send(propose(&server, &with(json!({"n": "two"})))).await.problem(422, "invalid_args");
    assert!(problem["detail"].as_str().unwrap().contains("/n"), "{problem}");
    let broken = json!({"tool": "send_email", "args": {}, "args_schema": {"type": 7}});
    server.send(propose(&server, &broken)).await.problem(422, "invalid_args");
    server.send(propose(&server, &with(json!({"n": 2})))).await.ok(202);
}

#[tokio::test]
async fn the_same_question_is_asked_of_people_only_once() {
    let server = Server::start().await;
    let first = server.propose_as(&server.riley, email("ada")).await;
    let mut reworded = email("ada");
    reworded["description"] = json!("other words, same action");
    let second = server.propose_as(&server.riley, reworded).await;
    assert_eq!((id(&second), &second["joined"]), (id(&first), &json!(true)));
    assert!(first.get("joined").is_none(), "{first}");
    // Another agent's question is another question, and so are other arguments.
    assert_ne!(id(&server.propose_as(&server.sam, email("ada")).await), id(&first));
    assert_ne!(id(&server.propose_as(&server.riley, email("bob")).await), id(&first));
    // Once answered with no, it may be asked again.
    server.decide(&server.ann, &first, json!({"decision": "deny"})).await.ok(200);
    assert_ne!(id(&server.propose_as(&server.riley, email("ada")).await), id(&first));
}

#[tokio::test]
async fn a_joined_duplicate_of_what_was_approved_gets_the_approval() {
    let server = Server::start().await;
    let first = server.propose_as(&server.riley, email("ada")).await;
    server.approve(&server.ann, &first).await;
    let again = server.send(propose(&server, &email("ada"))).await.ok(200);
    assert_eq!((id(&again), &again["status"]), (id(&first), &json!("authorised")));
    assert!(again["authorization"].is_string());
    // The approval is good for one run, not for two.
    server.claim(&server.riley, &again).await.ok(200);
    assert_ne!(id(&server.send(propose(&server, &email("ada"))).await.ok(202)), id(&first));
}

#[tokio::test]
async fn a_repeated_key_leads_to_the_same_action() {
    let server = Server::start().await;
    let body = json!({"tool": "read_file", "args": {"a": 1, "b": 2}});
    let send = |body: &Value, key: &str| propose(&server, body).header("Idempotency-Key", key);
    let first = server.send(send(&body, "k1")).await.ok(200);
    let again = server.send(send(&body, "k1")).await.ok(200);
    assert_eq!((id(&again), &again["joined"]), (id(&first), &json!(true)));
    // The same request in another spelling is the same request.
    let respelled = br#"{ "args": {"b": 2, "a": 1.0}, "tool": "read\u005ffile" }"#;
    let respelled =
        Request::post_bytes("/v1/actions", *respelled).by(&server.riley).header("Idempotency-Key", "k1");
    assert_eq!(id(&server.send(respelled).await.ok(200)), id(&first));
    assert_ne!(id(&server.send(send(&body, "k2")).await.ok(200)), id(&first));
    let other = json!({"tool": "read_file", "args": {"a": 9}});
    server.send(send(&other, "k1")).await.problem(422, "idempotency_key_reused");
    // Keys belong to their agent.
    let of_sam = Request::post("/v1/actions", &other).by(&server.sam).header("Idempotency-Key", "k1");
    assert_ne!(id(&server.send(of_sam).await.ok(200)), id(&first));
    // It still leads there when all is done.
    server.claim(&server.riley, &first).await.ok(200);
    server.outcome(&server.riley, &first, json!({"status": "succeeded"})).await.ok(200);
    assert_eq!(server.send(send(&body, "k1")).await.ok(200)["status"], "succeeded");
}

#[tokio::test]
async fn a_patient_agent_learns_of_the_decision_when_it_falls() {
    let server = Server::start().await;
    for (decision, status) in [("approve", "authorised"), ("deny", "denied")] {
        let waiting = propose(&server, &email(decision)).header("Prefer", "wait=25");
        let started = Instant::now();
        let (answer, ()) = tokio::join!(server.send(waiting), async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            let pending =
                server.send(Request::get("/v1/actions?status=pending").by(&server.ann)).await.ok(200);
            server.decide(&server.ann, &pending["items"][0], json!({"decision": decision})).await.ok(200);
        });
        if decision == "approve" {
            assert!(answer.ok(200)["authorization"].is_string());
        } else {
            assert_eq!(answer.problem(403, "denied")["action_status"], status);
        }
        assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_client_that_goes_by_the_status_runs_nothing_that_was_not_let_run() {
    let server = Server::start().await;
    let keyed = |to: &str| propose(&server, &email(to)).header("Idempotency-Key", to);
    let denied = server.send(keyed("denied")).await.ok(202);
    let answer = json!({"decision": "respond", "reason": "too many", "message": "use the template"});
    server.decide(&server.ann, &denied, answer).await.ok(200);
    let problem = server.send(keyed("denied")).await.problem(403, "denied");
    assert_eq!((&problem["action"], &problem["decided_by"]), (&denied["id"], &json!("ann")));
    assert_eq!(problem["message"], "use the template");
    assert!(problem["detail"].as_str().unwrap().contains("too many"), "{problem}");

    let cancelled = server.send(keyed("cancelled")).await.ok(202);
    server.cancel(&server.riley, &cancelled, json!({})).await.ok(200);
    let revoked = server.send(keyed("revoked")).await.ok(202);
    server.approve(&server.ann, &revoked).await;
    server.cancel(&server.riley, &revoked, json!({})).await.ok(200);
    let lapsed = server.send(keyed("lapsed")).await.ok(202);
    server.approve(&server.ann, &lapsed).await;
    server.send(keyed("expired")).await.ok(202);
    server.pass(Duration::from_secs(3600)).await;
    for status in ["cancelled", "revoked", "lapsed", "expired"] {
        let problem = server.send(keyed(status)).await.problem(403, "not_authorised");
        assert_eq!(problem["action_status"], status);
    }
}

#[tokio::test]
async fn patience_ends_when_it_said() {
    let server = Server::start().await;
    let started = Instant::now();
    let waiting = propose(&server, &email("ada")).header("Prefer", "respond-async, wait=1");
    server.send(waiting).await.ok(202);
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
    for nonsense in ["wait=", "wait=soon", "wait=-1", "wait=1.5", "wait=99999999999999999999"] {
        let request = propose(&server, &email("bob")).header("Prefer", nonsense);
        server.send(request).await.problem(422, "invalid_request");
    }
    // What the server does not know it may ignore.
    server.send(propose(&server, &email("eve")).header("Prefer", "handling=lenient")).await.ok(202);
}

#[tokio::test]
async fn a_server_that_ends_lets_nobody_wait() {
    let server = Server::start().await;
    let waiting = propose(&server, &email("ada")).header("Prefer", "wait=25");
    let started = Instant::now();
    let (answer, ()) = tokio::join!(server.send(waiting), async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        server.stop();
    });
    answer.ok(202);
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[tokio::test]
async fn numbers_come_back_with_every_digit() {
    let server = Server::start().await;
    let body = r#"{"tool":"read_file","args":{"big":9007199254740993123,"exact":0.1000000000000000055511151231257827}}"#;
    let answer = server.send(Request::post_bytes("/v1/actions", body).by(&server.riley)).await;
    assert_eq!(answer.status, 200);
    let text = answer.text();
    assert!(text.contains("9007199254740993123"), "{text}");
    assert!(text.contains("0.1000000000000000055511151231257827"), "{text}");
}
