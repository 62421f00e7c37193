//! `/batches/{id}`, `/batches/{id}/decide`: many actions on one page.

use serde_json::json;

use super::Browser;
use crate::client::Request;
use crate::server::{Server, id};

#[tokio::test]
async fn a_batch_is_decided_in_part_and_only_as_it_was_seen() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let items: Vec<_> = (0..3).map(|n| json!({"tool": "send_email", "args": {"n": n}})).collect();
    let batch =
        server.send(Request::post("/v1/batches", &json!({"items": items})).by(&server.riley)).await.ok(200);
    let path = format!("/batches/{}", id(&batch));
    let page = browser.open(&server, &path).await.text();
    assert_eq!(page.matches("value=\"approve\"").count(), 4, "{page}");
    let (first, second) =
        (format!("item:{}", id(&batch["items"][0])), format!("item:{}", id(&batch["items"][1])));
    let digest = batch["digest"].as_str().unwrap();
    let decide = format!("{path}/decide");
    let some = [
        ("digest", digest),
        ("all", ""),
        (first.as_str(), "approve"),
        (second.as_str(), "deny"),
        ("reason", "some"),
    ];
    let wrong = [
        ("digest", "sha256:0000000000000000000000000000000000000000000000000000000000000000"),
        ("all", "approve"),
    ];
    assert_eq!(browser.form(&server, &decide, &wrong).await.status, 409);
    assert_eq!(
        browser.form(&server, &decide, &[("digest", digest), ("all", "")]).await.status,
        409,
        "nothing chosen"
    );
    let answer = browser.form(&server, &decide, &some).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let statuses = |batch: &serde_json::Value| -> Vec<String> {
        batch["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["status"].as_str().unwrap().to_owned())
            .collect()
    };
    let now =
        server.send(Request::get(format!("/v1/batches/{}", id(&batch))).by(&server.riley)).await.ok(200);
    assert_eq!(statuses(&now), ["authorised", "denied", "pending"]);
    assert_eq!(browser.form(&server, &decide, &some).await.status, 409, "what is decided stays so");
    assert_eq!(browser.form(&server, &decide, &[("digest", digest), ("all", "deny")]).await.status, 303);
    let now =
        server.send(Request::get(format!("/v1/batches/{}", id(&batch))).by(&server.riley)).await.ok(200);
    assert_eq!(statuses(&now), ["authorised", "denied", "denied"]);
}

#[tokio::test]
async fn a_batch_approves_nothing_that_its_page_does_not_wholly_show() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let wide: serde_json::Map<_, _> = (0..300).map(|n| (format!("a{n}"), json!(n))).collect();
    let items = json!({"items": [
        {"tool": "send_email", "args": {"to": "ann"}, "description": "what the agent says"},
        {"tool": "send_email", "args": wide},
        {"tool": "send_email", "args": {"body": "x".repeat(4000)}},
        {"tool": "send_email", "args": {"link": "https://p\u{430}ypal.com&x"}},
        {"tool": "charge_card", "args": {"amount": 1}},
        {"tool": "edit_file", "args": {"edits": [{"old_string": "one", "new_string": "uno"}]}},
    ]});
    let batch = server.send(Request::post("/v1/batches", &items).by(&server.riley)).await.ok(200);
    let path = format!("/batches/{}", id(&batch));
    let page = browser.open(&server, &path).await.text();
    for part in ["what the agent says", "Is it theirs?", "What the edit replaces", "open its page"] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let digest = batch["digest"].as_str().unwrap();
    let decide = format!("{path}/decide");
    for at in [1, 2, 3] {
        let name = format!("item:{}", id(&batch["items"][at]));
        assert!(!page.contains(&format!("name=\"{name}\" value=\"approve\"")), "{at}");
        let forced = [("digest", digest), ("all", ""), (name.as_str(), "approve")];
        let answer = browser.form(&server, &decide, &forced).await;
        assert_eq!(answer.status, 409, "{at}");
        assert!(answer.text().contains("approved on its own page"), "{}", answer.text());
    }
    let all =
        browser.form(&server, &decide, &[("digest", digest), ("all", "approve"), ("reason", "seen")]).await;
    assert_eq!(all.status, 303, "{}", all.text());
    let now =
        server.send(Request::get(format!("/v1/batches/{}", id(&batch))).by(&server.riley)).await.ok(200);
    let pending = |at: usize| now["items"][at]["status"] == "pending";
    assert_eq!([0, 1, 2, 3, 4, 5].map(pending), [false, true, true, true, false, false], "{now}");
    let denied =
        browser.form(&server, &decide, &[("digest", digest), ("all", "deny"), ("reason", "no")]).await;
    assert_eq!(denied.status, 303, "{}", denied.text());
}
