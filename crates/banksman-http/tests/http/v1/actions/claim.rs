//! `POST /v1/actions/{id}/claim`

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Verifier as _, VerifyingKey};
use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, id};

/// Verifies a token as someone would who knows nothing but the published key, and gives what it says.
async fn verified(server: &Server, token: &str) -> Value {
    let keys = server.send(Request::get("/.well-known/jwks.json")).await.ok(200);
    let [header, claims, signature] = token.split('.').collect::<Vec<_>>()[..] else {
        panic!("not a compact JWS: {token}");
    };
    let read =
        |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap() };
    let header = read(header);
    assert_eq!(header["alg"], "EdDSA");
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["kid"] == header["kid"]).unwrap();
    assert_eq!((&key["kty"], &key["crv"]), (&json!("OKP"), &json!("Ed25519")));
    let x: [u8; 32] = URL_SAFE_NO_PAD.decode(key["x"].as_str().unwrap()).unwrap().try_into().unwrap();
    let key = VerifyingKey::from_bytes(&x).unwrap();
    let signature = Signature::from_slice(&URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    let signed = token.rsplit_once('.').unwrap().0;
    key.verify(signed.as_bytes(), &signature).unwrap();
    let other = signed.replacen('e', "f", 1);
    assert!(key.verify(other.as_bytes(), &signature).is_err());
    read(claims)
}

#[tokio::test]
async fn the_proof_is_signed_and_bound_to_exactly_what_was_approved() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({"to": "ada"})).await;
    server.approve(&server.ann, &action).await;
    let claimed = server.claim(&server.riley, &action).await.ok(200);
    let claims = verified(&server, claimed["authorization"].as_str().unwrap()).await;
    assert_eq!(claims["iss"], "banksman");
    assert_eq!(claims["sub"], "riley");
    assert_eq!(claims["action"], action["id"]);
    assert_eq!(claims["digest"], action["digest"]);
    assert_eq!(claims["version"], 1);
    assert_eq!(claims["tool"], "send_email");
    assert_eq!(claims["claimed"], true);
    assert_eq!(claims["jti"], claimed["idempotency_key"]);
    let (issued, expires) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
    assert_eq!(expires - issued, 600);

    // The digest is what anyone computes from what is about to run.
    let text = r#"{"args":{"to":"ada"},"kind":"tool","tool":"send_email"}"#;
    assert_eq!(claims["digest"], banksman_core::Digest::of(text.as_bytes()).to_string());
    assert_eq!(claimed["args"], json!({"to": "ada"}));
    assert_eq!(claimed["tool"], "send_email");
}

#[tokio::test]
async fn what_policy_allows_comes_with_a_proof_that_is_not_yet_a_claim() {
    let server = Server::start().await;
    let action = server.propose("read_file", json!({"path": "a"})).await;
    let claims = verified(&server, action["authorization"].as_str().unwrap()).await;
    assert_eq!((&claims["digest"], &claims["claimed"]), (&action["digest"], &json!(false)));
    let claimed = server.claim(&server.riley, &action).await.ok(200);
    let claims = verified(&server, claimed["authorization"].as_str().unwrap()).await;
    assert_eq!(claims["claimed"], true);
}

#[tokio::test]
async fn nothing_is_claimed_twice() {
    let server = Server::start().await;
    let action = server.propose("read_file", json!({})).await;
    server.claim(&server.riley, &action).await.ok(200);
    server.claim(&server.riley, &action).await.problem(409, "already_claimed");
    server.outcome(&server.riley, &action, json!({"status": "failed"})).await.ok(200);
    server.claim(&server.riley, &action).await.problem(409, "already_claimed");
    server.pass(Duration::from_secs(7200)).await;
    server.claim(&server.riley, &action).await.problem(409, "already_claimed");
}

#[tokio::test]
async fn what_nobody_approved_is_not_claimed() {
    let server = Server::start().await;
    let pending = server.propose("send_email", json!({"n": 1})).await;
    server.claim(&server.riley, &pending).await.problem(403, "not_authorised");
    let half = server.propose("delete_customer", json!({})).await;
    server.approve(&server.ann, &half).await;
    let problem = server.claim(&server.riley, &half).await.problem(403, "not_authorised");
    assert_eq!(problem["action_status"], "pending");
    let revoked = server.propose("read_file", json!({})).await;
    server.cancel(&server.ann, &revoked, json!({})).await.ok(200);
    let problem = server.claim(&server.riley, &revoked).await.problem(403, "not_authorised");
    assert_eq!(problem["action_status"], "revoked");
}

#[tokio::test]
async fn another_digest_claims_nothing() {
    let server = Server::start().await;
    let action = server.propose("read_file", json!({"path": "a"})).await;
    let other = server.propose("read_file", json!({"path": "b"})).await;
    let swapped = json!({"id": action["id"], "digest": other["digest"]});
    let problem = server.claim(&server.riley, &swapped).await.problem(409, "digest_mismatch");
    assert_eq!(problem["current_digest"], action["digest"]);
    for body in [json!({}), json!({"digest": null}), json!({"digest": "sha256:ab"}), json!({"digest": 1})] {
        let path = format!("/v1/actions/{}/claim", id(&action));
        server.send(Request::post(path, &body).by(&server.riley)).await.problem(422, "invalid_request");
    }
    server.claim(&server.riley, &action).await.ok(200);
}

#[tokio::test]
async fn a_fact_that_changed_since_the_approval_stops_the_claim() {
    let server = Server::start().await;
    let facts = json!({"order.version": 4, "stock": {"a": [1, 2]}});
    let body = json!({"tool": "send_email", "args": {}, "preconditions": facts});
    let action = server.propose_as(&server.riley, body).await;
    server.approve(&server.ann, &action).await;
    let claim = |seen: Value| {
        let body = json!({"digest": action["digest"], "preconditions": seen});
        server.send(Request::post(format!("/v1/actions/{}/claim", id(&action)), &body).by(&server.riley))
    };
    server.claim(&server.riley, &action).await.problem(409, "precondition_failed");
    for changed in [
        json!(null),
        json!({}),
        json!({"order.version": 4}),
        json!({"order.version": "4", "stock": {"a": [1, 2]}}),
        json!({"order.version": 4, "stock": {"a": [2, 1]}}),
        json!([4]),
        // Nobody declared that one, so nobody would check it.
        json!({"order.version": 4, "stock": {"a": [1, 2]}, "weather": "fine"}),
    ] {
        let problem = claim(changed).await.problem(409, "precondition_failed");
        assert_eq!(problem["action_status"], "authorised");
    }
    claim(json!({"stock": {"a": [1, 2]}, "order.version": 4.0})).await.ok(200);
}

#[tokio::test]
async fn an_approval_that_nobody_uses_lapses() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    server.approve(&server.ann, &action).await;
    server.jump(Duration::from_secs(900));
    server.claim(&server.riley, &action).await.problem(409, "lapsed");
    server.pass(Duration::ZERO).await;
    server.claim(&server.riley, &action).await.problem(409, "lapsed");
    assert_eq!(server.show(&server.riley, &action).await["status"], "lapsed");
}

#[tokio::test]
async fn what_is_frozen_is_not_claimed_until_it_thaws() {
    let server = Server::start().await;
    let action = server.propose("read_file", json!({})).await;
    let freeze = Request::post("/v1/freezes", &json!({"agent": "riley", "reason": "odd"})).by(&server.ann);
    let freeze = server.send(freeze).await.ok(201);
    let problem = server.claim(&server.riley, &action).await.problem(409, "frozen");
    assert!(problem["detail"].as_str().unwrap().contains("odd"), "{problem}");
    server.send(Request::delete(format!("/v1/freezes/{}", id(&freeze))).by(&server.ann)).await.ok(204);
    server.claim(&server.riley, &action).await.ok(200);
}
