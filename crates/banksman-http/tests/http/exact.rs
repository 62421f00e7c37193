//! Numbers that no double holds: every route shows exactly those that a digest names.

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::Server;

/// The canonical form of what is sent.
const ARGS: &str = r#"{"a":1e+400,"b":18446744073709551617}"#;

fn proposal(n: u32) -> String {
    format!(r#"{{"tool":"send_email","task":"{n}","args":{{"a":1e400,"b":18446744073709551617,"n":{n}}}}}"#)
}

async fn text(server: &Server, request: Request) -> String {
    // Not held against the document: what does that cannot hold such numbers either.
    let answer = server.send_unchecked(&request).await;
    assert!(matches!(answer.status, 200 | 202), "{request:?}: {}", answer.text());
    answer.text()
}

/// A member of the answer that is a text.
fn member(answer: &str, name: &str) -> String {
    let (_, rest) = answer.split_once(&format!("\"{name}\":\"")).unwrap_or_else(|| panic!("{answer}"));
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn every_route_shows_the_numbers_that_the_digest_names() {
    let server = Server::start().await;
    let held = text(&server, Request::post_bytes("/v1/actions", proposal(1)).by(&server.riley)).await;
    let (id, digest) = (member(&held, "id"), member(&held, "digest"));
    let items = format!(r#"{{"items":[{}]}}"#, proposal(2));
    let batch = text(&server, Request::post_bytes("/v1/batches", items).by(&server.riley)).await;
    let batch_id = member(&batch, "id");
    let get = |path: String, who: &str| text(&server, Request::get(path).by(who));
    let post = |path: String, body: Value, who: &str| text(&server, Request::post(path, &body).by(who));
    let mut seen = vec![held, batch];
    for path in ["/v1/actions".to_owned(), "/hitl/pending".into(), format!("/hitl/pending/{id}")] {
        seen.push(get(path, &server.ann).await);
    }
    for who in [&server.ann, &server.riley] {
        seen.push(get(format!("/v1/actions/{id}"), who).await);
        seen.push(get(format!("/v1/batches/{batch_id}"), who).await);
    }
    let edited = format!(
        r#"{{"decision":"modify","version":1,"digest":"{digest}","args":{{"a":1e400,"b":18446744073709551617}}}}"#
    );
    let path = format!("/v1/actions/{id}/decision");
    let edited = text(&server, Request::post_bytes(path, edited).by(&server.ann)).await;
    let digest = member(&edited, "digest");
    seen.push(edited);
    seen.push(get("/v1/resolutions".into(), &server.riley).await);
    let claimed = post(format!("/v1/actions/{id}/claim"), json!({"digest": digest}), &server.riley).await;
    assert!(claimed.contains(&format!(r#""args":{ARGS}"#)), "{claimed}");
    seen.push(claimed);
    let outcome = format!(r#"{{"status":"succeeded","result":{ARGS}}}"#);
    let path = format!("/v1/actions/{id}/outcome");
    seen.push(text(&server, Request::post_bytes(path, outcome).by(&server.riley)).await);
    seen.push(get(format!("/v1/actions/{id}"), &server.ann).await);
    seen.push(get(format!("/hitl/result/{id}"), &server.riley).await);
    for answer in seen {
        assert!(answer.contains("1e+400") && answer.contains("18446744073709551617"), "{answer}");
    }
}
