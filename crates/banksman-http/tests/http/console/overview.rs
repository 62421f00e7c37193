//! `/overview`: what waits now, and what happened lately.

use serde_json::json;

use super::Browser;
use crate::server::Server;

/// What a tile shows.
fn tile(page: &str, name: &str) -> u64 {
    let (_, rest) =
        page.split_once(&format!("<dt>{name}</dt><dd><b>")).unwrap_or_else(|| panic!("no {name} in {page}"));
    rest.split('<').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn everything_that_happened_is_counted_once() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let empty = browser.open(&server, "/overview").await.text();
    assert!(empty.contains("Nothing happened in these 24 hours."), "{empty}");
    for (number, decision) in ["approve", "approve", "deny", "respond"].into_iter().enumerate() {
        let action = server.propose("send_email", json!({"n": number})).await;
        let body = json!({"decision": decision, "message": if decision == "respond" { "no" } else { "" }});
        server.decide(&server.ann, &action, body).await.ok(200);
    }
    server.propose("send_email", json!({"n": "waits"})).await;
    for window in ["day", "week", "month"] {
        let page = browser.open(&server, &format!("/overview?window={window}")).await.text();
        let seen = ["Waiting now", "Asked for", "Held for people", "Approved", "Denied", "Expired"]
            .map(|name| tile(&page, name));
        assert_eq!(seen, [1, 5, 5, 2, 2, 0], "{window}");
        assert!(page.contains("Half of 4 answers came"), "{page}");
        assert!(page.contains("<svg") && page.contains("The same as a table"), "{page}");
        assert!(!page.contains("Still counting"), "{page}");
    }
}
