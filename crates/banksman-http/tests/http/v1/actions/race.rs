//! Many at once: exactly one wins, and the others learn why they did not.

use std::collections::HashSet;
use std::sync::Arc;

use banksman_core::PrincipalKind;
use serde_json::{Value, json};

use crate::client::{Request, Response};
use crate::server::{Server, id};

const CLIENTS: usize = 64;

/// Sends all of them at the same moment.
async fn at_once(server: &Arc<Server>, requests: Vec<Request>) -> Vec<Response> {
    let start = Arc::new(tokio::sync::Barrier::new(requests.len()));
    let sending: Vec<_> = requests
        .into_iter()
        .map(|request| {
            let (server, start) = (Arc::clone(server), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                server.send(request).await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for sent in sending {
        answers.push(sent.await.unwrap());
    }
    answers
}

/// The one answer that is a yes, if all others are refused with this code.
fn only_winner(answers: &[Response], code: &str) -> Value {
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(won.len(), 1);
    assert_eq!(lost.len(), CLIENTS - 1);
    for answer in lost {
        answer.problem(409, code);
    }
    won[0].json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_sixty_four_decisions_one_is_taken() {
    let server = Arc::new(Server::start().await);
    let action = server.propose("send_email", json!({})).await;
    let mut requests = Vec::new();
    for n in 0..CLIENTS {
        let token = server.issue(PrincipalKind::Reviewer, &format!("reviewer-{n}"), None).await;
        let decision = if n % 2 == 0 { "approve" } else { "deny" };
        let body = json!({"decision": decision, "version": 1, "digest": action["digest"]});
        requests.push(Request::post(format!("/v1/actions/{}/decision", id(&action)), &body).by(&token));
    }
    let won = only_winner(&at_once(&server, requests).await, "already_decided");
    let shown = server.show(&server.riley, &action).await;
    assert_eq!(shown["status"], won["status"]);
    assert_eq!(shown["votes"].as_array().unwrap().len(), 1);
    let decided = format!("/v1/audit?action={}&type=decided", id(&action));
    let events = server.send(Request::get(decided).by(&server.ann)).await.ok(200);
    assert_eq!(events["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_sixty_four_claims_one_is_taken() {
    let server = Arc::new(Server::start().await);
    let action = server.propose("read_file", json!({})).await;
    let body = json!({"digest": action["digest"]});
    let claim = Request::post(format!("/v1/actions/{}/claim", id(&action)), &body).by(&server.riley);
    let answers = at_once(&server, vec![claim; CLIENTS]).await;
    only_winner(&answers, "already_claimed");
    let claimed = format!("/v1/audit?action={}&type=claimed", id(&action));
    let events = server.send(Request::get(claimed).by(&server.ann)).await.ok(200);
    assert_eq!(events["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_equal_proposals_are_one_question() {
    let server = Arc::new(Server::start().await);
    let before = server.newest_seq().await;
    let body = json!({"tool": "send_email", "args": {"to": "ada"}});
    let plain = Request::post("/v1/actions", &body).by(&server.riley);
    let answers = at_once(&server, vec![plain; CLIENTS]).await;
    let ids: HashSet<_> = answers.iter().map(|answer| id(&answer.ok(202)).to_owned()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.json()["joined"] == true).count(), CLIENTS - 1);
    assert_eq!(server.newest_seq().await, before + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_uses_of_one_key_are_one_action() {
    let server = Arc::new(Server::start().await);
    let before = server.newest_seq().await;
    let body = json!({"tool": "read_file", "args": {"path": "a"}});
    let keyed = Request::post("/v1/actions", &body).by(&server.riley).header("Idempotency-Key", "once");
    let answers = at_once(&server, vec![keyed; CLIENTS]).await;
    let ids: HashSet<_> = answers.iter().map(|answer| id(&answer.ok(200)).to_owned()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(server.newest_seq().await, before + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_approval_and_a_withdrawal_never_both_happen() {
    let server = Arc::new(Server::start().await);
    for n in 0..8 {
        let action = server.propose("send_email", json!({"n": n})).await;
        let decision = json!({"decision": "approve", "version": 1, "digest": action["digest"]});
        let requests = vec![
            Request::post(format!("/v1/actions/{}/decision", id(&action)), &decision).by(&server.ann),
            Request::post(format!("/v1/actions/{}/cancel", id(&action)), &json!({})).by(&server.riley),
        ];
        let answers = at_once(&server, requests).await;
        let shown = server.show(&server.riley, &action).await;
        match (answers[0].status, answers[1].status) {
            // Approved first, and then taken back.
            (200, 200) => assert_eq!(shown["status"], "revoked"),
            (409, 200) => assert_eq!(shown["status"], "cancelled"),
            other => panic!("{other:?}"),
        }
        server.claim(&server.riley, &action).await.problem(403, "not_authorised");
    }
}
