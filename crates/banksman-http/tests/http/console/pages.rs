//! What the pages show.

use std::collections::BTreeSet;
use std::time::Duration;

use banksman_core::audit::Event;
use banksman_core::wire::EventView;
use banksman_store::EventQuery;
use serde_json::json;

use super::Browser;
use crate::client::Request;
use crate::server::{Server, id};

#[tokio::test]
async fn every_page_forbids_what_it_does_not_need() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    for page in [
        server.send(Request::get("/")).await,
        browser.page(&server).await,
        server.send(Request::get("/sign-in?code=x")).await,
        server.send(Request::form("/sign-in", &[("code", "x")])).await,
    ] {
        let policy = page.header("content-security-policy").unwrap();
        for rule in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
            "script-src 'self'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ] {
            assert!(policy.contains(rule), "{rule} in {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        assert_eq!(page.header("referrer-policy"), Some("same-origin"));
        assert_eq!(page.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    }
    for (name, media) in
        [("base.css", "text/css"), ("console.js", "text/javascript"), ("icon.svg", "image/svg+xml")]
    {
        let file = server.send(Request::get(format!("/assets/{name}"))).await;
        assert_eq!(file.status, 200);
        assert!(file.header("content-type").unwrap().starts_with(media), "{name}");
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
    }
    server.send(Request::get("/assets/..%2f..%2fCargo.toml")).await.problem(404, "not_found");
}

#[tokio::test]
async fn the_page_shows_what_rules_say_and_hides_what_they_redact() {
    let server = Server::start().await;
    let action = server.propose("charge_card", json!({"amount": 50, "card": "4111-1111"})).await;
    let browser = Browser::sign_in(&server, "ada").await;
    assert!(!browser.page(&server).await.text().contains("4111-1111"));
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    assert!(page.contains("Is it theirs?"), "{page}");
    assert!(page.contains("[redacted]") && !page.contains("4111-1111"), "{page}");
}

/// Every page that needs a session, for an action and a batch that exist.
async fn paths(server: &Server) -> Vec<String> {
    let action = server.propose("charge_card", json!({"amount": 50, "card": "4111-1111", "note": "x"})).await;
    let items = json!({"items": [{"tool": "charge_card", "args": {"card": "4111-1111"}}]});
    let batch = server.send(Request::post("/v1/batches", &items).by(&server.riley)).await.ok(200);
    let mut paths: Vec<String> =
        "/grants /delegations /freezes /mode /audit /audit/export /policy /policy/built-in /overview /settings /guide"
            .split(' ')
            .map(String::from)
            .collect();
    paths.extend([
        format!("/actions/{}", id(&action)),
        format!("/actions/{}/edit", id(&action)),
        format!("/batches/{}", id(&batch)),
    ]);
    paths
}

#[tokio::test]
async fn no_page_opens_without_a_session_or_shows_what_is_redacted() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    for path in paths(&server).await {
        server.send(Request::get(&path)).await.problem(401, "unauthenticated");
        let agent = Request::get(&path).header("Cookie", format!("banksman_session={}", server.riley));
        server.send(agent).await.problem(401, "unauthenticated");
        let page = browser.open(&server, &path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text());
        assert!(!page.text().contains("4111-1111"), "{path}: {}", page.text());
    }
    // A search does not find what one may not see.
    assert!(browser.open(&server, "/?q=4111-1111").await.text().contains("Nothing matches"));
}

#[tokio::test]
async fn a_problem_is_a_page_to_a_browser() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let ask = |path: &str| Request::get(path).header("Accept", "text/html,application/xhtml+xml");
    let unknown = "/actions/act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB";
    let stranger = server.send_unchecked(&ask(unknown)).await;
    assert_eq!((stranger.status, stranger.header("content-type")), (401, Some("text/html; charset=utf-8")));
    assert!(stranger.text().contains("Sign in"), "{}", stranger.text());
    let missing = server.send_unchecked(&ask(unknown).header("Cookie", &browser.cookie)).await;
    assert_eq!((missing.status, missing.header("content-type")), (404, Some("text/html; charset=utf-8")));
    assert!(missing.header("content-security-policy").is_some());
    browser.open(&server, unknown).await.problem(404, "not_found");
    browser.open(&server, "/?risk=enormous").await.problem(422, "invalid_request");
}

#[tokio::test]
async fn an_address_can_say_nothing_that_we_would_not() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    for query in
        ["said=<b>hello", "said=hello", "said=", "about=act_x", "said=approved&about=javascript:alert(1)"]
    {
        let page =
            browser.open(&server, &format!("/?{}", query.replace('<', "%3C").replace('>', "%3E"))).await;
        assert_eq!(page.status, 200);
        assert!(!page.text().contains("hello") && !page.text().contains("javascript"), "{query}");
    }
}

#[tokio::test]
async fn no_link_makes_a_page_say_what_did_not_happen() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let other = Browser::sign_in(&server, "ada").await;
    let (action, mine) =
        (server.propose("send_email", json!({})).await, server.propose("send_email", json!({"n": 1})).await);
    let denied = browser.decide(&server, &mine, "deny").await;
    let location = denied.header("location").unwrap();
    let says = |page: &str| page.contains("Denied. It will not run.");
    assert!(says(&browser.open(&server, location).await.text()));
    let (_, seal) = location.split_once("&seal=").unwrap();
    // Another session, another action, other words, no seal: nothing is said.
    assert!(!says(&other.open(&server, location).await.text()));
    for query in [
        format!("/?said=denied&about={}", id(&action)),
        format!("/?said=denied&about={}&seal=", id(&action)),
        format!("/?said=denied&about={}&seal={seal}", id(&action)),
        format!("/?said=denied&seal={seal}"),
        format!("/?said=approved&about={}&seal={seal}", id(&mine)),
        "/?said=came-by-link".to_owned(),
        "/freezes?said=frozen".to_owned(),
        format!("/freezes?said=frozen&seal={seal}"),
    ] {
        let page = browser.open(&server, &query).await.text();
        assert!(!page.contains("notice done"), "{query}: {page}");
    }
}

#[tokio::test]
async fn what_others_asked_of_the_same_tool_is_history_too() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let of_sam =
        server.propose_as(&server.sam, json!({"tool": "send_email", "args": {"to": "of-sam"}})).await;
    let of_riley = server.propose("run_tests", json!({"path": "of-riley"})).await;
    for answered in [&of_sam, &of_riley] {
        assert_eq!(browser.decide(&server, answered, "deny").await.status, 303);
    }
    let action = server.propose("send_email", json!({"to": "new"})).await;
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    let section = |title: &str| {
        let (_, rest) = page.split_once(&format!("Answered before: {title}</h2>")).unwrap();
        rest.split("</section>").next().unwrap().to_owned()
    };
    assert!(section("this tool, whoever asked").contains("of-sam"), "{page}");
    assert!(!section("this tool, whoever asked").contains("of-riley"), "{page}");
    assert!(
        section("this agent").contains("of-riley") && !section("this agent").contains("of-sam"),
        "{page}"
    );
    assert!(section("this agent with this tool").contains("Nothing."), "{page}");
}

#[tokio::test]
async fn no_number_of_proposals_that_nobody_answered_hides_a_denial() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let denied = server.propose("send_email", json!({"to": "the-denied-one"})).await;
    assert_eq!(browser.decide(&server, &denied, "deny").await.status, 303);
    for n in 0..6 {
        let approved = server.propose("send_email", json!({"to": format!("approved-{n}")})).await;
        assert_eq!(browser.decide(&server, &approved, "approve").await.status, 303);
    }
    for n in 0..8 {
        let short =
            json!({"tool": "send_email", "args": {"to": format!("expired-{n}")}, "timeout_seconds": 60});
        server.propose_as(&server.riley, short).await;
    }
    server.pass(Duration::from_secs(61)).await;
    let action = server.propose("send_email", json!({"to": "again"})).await;
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    let (_, rest) = page.split_once("Answered before: this agent with this tool</h2>").unwrap();
    let section = rest.split("</section>").next().unwrap();
    assert!(section.contains("the-denied-one") && section.contains("approved-5"), "{section}");
    assert!(!page.contains("expired-"), "{page}");
}

#[tokio::test]
async fn what_may_have_run_is_said_above_the_inbox() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({"to": "bob"})).await;
    assert!(!browser.page(&server).await.text().contains("may have run"));
    server.approve(&server.ann, &action).await;
    server.claim(&server.riley, &action).await.ok(200);
    server.pass(Duration::from_secs(3_600)).await;
    assert_eq!(server.show(&server.riley, &action).await["status"], "unknown");
    let inbox = browser.page(&server).await.text();
    assert!(inbox.contains("1 action of the last day may have run"), "{inbox}");
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    assert!(page.contains("What may have run") && !page.contains("The agent reported"), "{page}");
    assert!(page.contains("Answered by <b><bdi>ann</bdi></b>"), "{page}");
}

#[tokio::test]
async fn the_list_is_searched_narrowed_and_sorted() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let slow = server.propose("send_email", json!({"to": "needle@example.com"})).await;
    let body = json!({"tool": "run_tests", "args": {"path": "a"}, "timeout_seconds": 60});
    let fast = server.propose_as(&server.sam, body).await;
    let worst = server.propose("delete_customer", json!({"id": 1})).await;
    let order = |page: &str| -> Vec<String> {
        let mut found: Vec<(usize, String)> = [&slow, &fast, &worst]
            .iter()
            .filter_map(|action| {
                Some((page.find(&format!("data-action=\"{}\"", id(action)))?, id(action).to_owned()))
            })
            .collect();
        found.sort();
        found.into_iter().map(|(_, id)| id).collect()
    };
    let ids = |actions: &[&serde_json::Value]| -> Vec<String> {
        actions.iter().map(|action| id(action).to_owned()).collect()
    };
    for (query, expected) in [
        ("", ids(&[&slow, &fast, &worst])),
        ("?sort=deadline", ids(&[&fast, &slow, &worst])),
        ("?sort=risk", ids(&[&worst, &slow, &fast])),
        ("?risk=critical", ids(&[&worst])),
        ("?q=NEEDLE", ids(&[&slow])),
        ("?agent=sam", ids(&[&fast])),
        ("?tool=delete_customer", ids(&[&worst])),
        ("?tier=escalate", ids(&[&worst])),
        ("?status=denied", ids(&[])),
    ] {
        let page = browser.open(&server, &format!("/{query}")).await.text();
        assert_eq!(order(&page), expected, "{query}");
    }
    assert!(browser.page(&server).await.text().contains("3 actions are waiting"));
}

#[tokio::test]
async fn a_long_list_has_pages() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    for n in 0..30 {
        server.propose("send_email", json!({"n": n})).await;
    }
    let first = browser.page(&server).await.text();
    assert_eq!(first.matches("data-open").count(), 25);
    assert!(first.len() < 120_000, "{} bytes", first.len());
    for sort in ["urgency", "deadline", "risk"] {
        let first = browser.open(&server, &format!("/?sort={sort}&q=send_")).await.text();
        let (_, rest) =
            first.split_once(&format!("/?q=send_&amp;sort={sort}&amp;after=")).expect("a next page");
        let after = rest.split('"').next().unwrap();
        let second = browser.open(&server, &format!("/?sort={sort}&q=send_&after={after}")).await.text();
        assert_eq!(second.matches("data-open").count(), 5, "{sort}");
        assert!(second.contains("The end of the list."), "{sort}");
        let shown = |page: &str| -> BTreeSet<String> {
            page.split("data-action=\"").skip(1).map(|rest| rest[..30].to_owned()).collect()
        };
        assert_eq!(shown(&first).union(&shown(&second)).count(), 30, "{sort}");
    }
    browser.open(&server, "/?after=nonsense").await.problem(422, "invalid_request");
}

#[tokio::test]
async fn a_search_tells_nothing_of_what_was_blackened() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("charge_card", json!({"amount": 12, "card": "4111-1111"})).await;
    for (words, found) in
        [("4111-1111", false), ("charge", true), ("%22amount%22:12", true), (id(&action), true)]
    {
        let page = browser.open(&server, &format!("/?q={words}")).await.text();
        assert_eq!(page.contains(&format!("data-action=\"{}\"", id(&action))), found, "{words}");
        assert!(!page.contains("Look further"), "{words}");
    }
}

#[tokio::test]
async fn a_card_offers_a_decision_only_if_it_shows_everything() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    for (tool, args, offers) in [
        ("send_email", json!({"to": "bob"}), true),
        ("send_email", json!({"to": "b".repeat(400)}), false),
        ("send_email", json!({"to": "x@p\u{430}ypal.com"}), false),
        ("fire", json!({"who": "bob"}), false),
        ("charge_card", json!({"amount": 1}), false),
        ("delete_customer", json!({"id": 1}), false),
    ] {
        let action = server.propose(tool, args).await;
        let page = browser.page(&server).await.text();
        assert_eq!(page.contains("data-approve"), offers, "{tool}: {page}");
        assert!(page.contains(&format!("/actions/{}", id(&action))));
        server.cancel(&server.riley, &action, json!({})).await.ok(200);
    }
}

#[tokio::test]
async fn risky_stretches_are_underlined_and_explained() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let body = json!({"tool": "shell", "kind": "shell", "args": {"command": "ls && rm -rf /srv"}});
    let action = server.propose_as(&server.riley, body).await;
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    assert!(page.contains("<mark class=\"risky"), "{page}");
    assert!(page.contains("<ol class=\"findings\">"), "{page}");
}

#[tokio::test]
async fn pages_are_told_what_changes_and_nothing_that_an_agent_wrote() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let request = Request::get("/live?since=0").header("Cookie", &browser.cookie);
    let action = server.propose("send_email", json!({"to": "a secret"})).await;
    let (head, mut stream) = server.open(request).await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let mut heard = String::new();
    while !heard.contains(id(&action)) {
        heard.push_str(&String::from_utf8_lossy(&stream.chunk().await.expect("the stream ended")));
    }
    assert!(heard.contains("\"status\":\"pending\""), "{heard}");
    assert!(!heard.contains("send_email") && !heard.contains("a secret"), "{heard}");
}

#[tokio::test]
async fn the_audit_page_shows_who_did_what_and_saves_it() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    server
        .decide(&server.ann, &action, json!({"decision": "deny", "reason": "not <b>today</b>"}))
        .await
        .ok(200);
    let page = browser.open(&server, "/audit?type=decided&reviewer=ann").await.text();
    assert!(page.contains("not &lt;b&gt;today"), "{page}");
    assert!(page.contains("/audit/export?type=decided&amp;reviewer=ann"), "{page}");
    let file = browser.open(&server, "/audit/export?type=decided&reviewer=ann").await;
    assert_eq!(file.header("content-type"), Some("application/jsonl"));
    let lines: Vec<serde_json::Value> =
        file.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["event"]["type"]), (1, &json!("decided")));
}

#[tokio::test]
async fn an_export_is_the_whole_log_oldest_first() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    // More than are read at a time.
    for round in 0..6 {
        let proposals = (0..100).map(|n| server.propose("read_file", json!({"round": round, "n": n})));
        futures_util::future::join_all(proposals).await;
    }
    for path in ["/audit/export", "/audit/export?order=desc&limit=5"] {
        let file = browser.open(&server, path).await;
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        let mut evidence = banksman_identity::Evidence::default();
        for line in file.text().lines() {
            let view: EventView = serde_json::from_str(line).unwrap();
            let event = Event::from_bytes(view.event.get().as_bytes()).unwrap();
            evidence.take(view.seq, &event).unwrap();
        }
        let newest =
            server.engine.events(EventQuery::following(0, 10_000)).await.unwrap().last().unwrap().seq;
        assert!(newest > 600);
        assert_eq!(evidence.last(), Some(newest), "{path}");
    }
}

#[tokio::test]
async fn an_action_shows_what_was_answered_before() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let before = server.propose("send_email", json!({"n": 1})).await;
    server.decide(&server.ann, &before, json!({"decision": "deny"})).await.ok(200);
    let other = server.propose("run_tests", json!({})).await;
    server.approve(&server.ann, &other).await;
    let foreign = server.propose_as(&server.sam, json!({"tool": "send_email", "args": {}})).await;
    server.approve(&server.ann, &foreign).await;
    let action = server.propose("send_email", json!({"n": 2})).await;
    let page = browser.open(&server, &format!("/actions/{}", id(&action))).await.text();
    let links =
        |action: &serde_json::Value| page.matches(&format!("href=\"/actions/{}\"", id(action))).count();
    assert_eq!((links(&before), links(&other), links(&foreign)), (3, 1, 1), "{page}");
}
