//! `/policy`: what is in force, what it says, and what it would say.

use serde_json::json;

use super::Browser;
use crate::server::{Server, id};

#[tokio::test]
async fn the_page_has_the_rules_and_an_action_leads_to_its_own() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let page = browser.open(&server, "/policy").await.text();
    for part in ["id=\"rule-tools.charge_card\"", "redact: [card", "Is it theirs?"] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let action = server.propose("charge_card", json!({"amount": 1})).await;
    let shown = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    assert!(shown.contains("href=\"/policy#rule-tools.charge_card\""), "{shown}");
    let all = browser.open(&server, "/policy/built-in").await.text();
    assert!(all.contains("id=\"found-git.push.force\""), "{all}");
}

#[tokio::test]
async fn it_says_what_it_would_say_and_why_and_nothing_comes_of_it() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let ask = async |tool: &str, kind: &str, args: &str| {
        let fields = [("tool", tool), ("kind", kind), ("args", args), ("agent", "")];
        browser.form(&server, "/policy/explain", &fields).await
    };
    let known = ask("charge_card", "tool", "{\"amount\": 5}").await;
    assert_eq!(known.status, 200);
    for part in ["it is held for one person", "tools.charge_card", "decides", "Is it theirs?"] {
        assert!(known.text().contains(part), "{part} in {}", known.text());
    }
    let unknown = ask("nobody_knows", "tool", "").await.text();
    assert!(
        unknown.contains("defaults.unknown_tool")
            && unknown.contains("no rule that surely matches names this tool"),
        "{unknown}"
    );
    let shell = ask("bash", "shell", "{\"command\": \"git push -f origin main\"}").await.text();
    assert!(shell.contains("/policy/built-in#found-git.push.force"), "{shell}");
    for (tool, args) in [("", "{}"), ("x", "{"), ("x", "[1]"), ("x", "{\"a\":1,\"a\":2}")] {
        let answer = ask(tool, "tool", args).await;
        assert_eq!(answer.status, 409, "{tool} {args}");
        assert!(answer.text().contains("Not done"), "{tool} {args}");
    }
    assert!(browser.page(&server).await.text().contains("Nothing is waiting"));
}
