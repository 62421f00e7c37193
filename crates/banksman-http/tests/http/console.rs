//! `/`, `/sign-in`, `/decide`, `/sign-out`: the first pages that a person sees.

use serde_json::{Value, json};

use crate::client::{Request, Response, percent_encoded};
use crate::server::{Server, id};

/// Someone who signed in with a browser: the cookie, and what the forms carry.
struct Browser {
    cookie: String,
    csrf: String,
}

impl Browser {
    async fn sign_in(server: &Server, name: &str) -> Self {
        let code = server.app.sign_in_code(name).unwrap();
        let answer = server.send(Request::form("/sign-in", &[("code", &code)])).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{}", answer.text());
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let mut browser = Self { cookie, csrf: String::new() };
        browser.csrf = hidden(&browser.page(server).await.text(), "csrf");
        browser
    }

    async fn page(&self, server: &Server) -> Response {
        server.send(Request::get("/").header("Cookie", &self.cookie)).await
    }

    async fn submit(&self, server: &Server, path: &str, fields: &[(&str, &str)]) -> Response {
        let origin = format!("http://{}", server.address);
        server.send(Request::form(path, fields).header("Cookie", &self.cookie).header("Origin", origin)).await
    }

    async fn decide(&self, server: &Server, action: &Value, decision: &str) -> Response {
        let version = action["version"].to_string();
        let fields = [
            ("csrf", self.csrf.as_str()),
            ("id", id(action)),
            ("version", &version),
            ("digest", action["digest"].as_str().unwrap()),
            ("decision", decision),
            ("reason", "seen"),
        ];
        self.submit(server, "/decide", &fields).await
    }
}

/// The value of a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let start = format!("name={name} value=\"");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {name} in {page}"));
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn strangers_learn_how_to_sign_in_and_nothing_else() {
    let server = Server::start().await;
    server.propose("send_email", json!({"to": "a secret"})).await;
    for request in [
        Request::get("/"),
        Request::get("/").header("Cookie", "banksman_session=nonsense"),
        Request::get("/").header("Cookie", format!("banksman_session={}", server.riley)),
    ] {
        let page = server.send(request).await;
        assert_eq!(page.status, 200);
        assert!(page.text().contains("sign in"), "{}", page.text());
        assert!(!page.text().contains("a secret"), "{}", page.text());
    }
}

#[tokio::test]
async fn a_sign_in_link_works_once_and_only_by_a_click() {
    let server = Server::start().await;
    let code = server.app.sign_in_code("ada").unwrap();
    // A scanner of mail that follows the link does not use it up.
    for _ in 0..2 {
        let page = server.send(Request::get(format!("/sign-in?code={code}"))).await;
        assert_eq!((page.status, page.header("set-cookie")), (200, None));
        assert_eq!(hidden(&page.text(), "code"), code);
    }
    let click = || Request::form("/sign-in", &[("code", &code)]);
    let first = server.send(click()).await;
    assert_eq!(first.status, 303);
    let again = server.send(click()).await;
    assert_eq!((again.status, again.header("set-cookie")), (403, None));
    for wrong in ["", "x", &code[1..], &format!("{code} ")] {
        let answer = server.send(Request::form("/sign-in", &[("code", wrong)])).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (403, None), "{wrong:?}");
    }
}

#[tokio::test]
async fn the_cookie_is_for_this_site_and_no_script() {
    let server = Server::start().await;
    let code = server.app.sign_in_code("ada").unwrap();
    let answer = server.send(Request::form("/sign-in", &[("code", &code)])).await;
    let cookie = answer.header("set-cookie").unwrap();
    let flags: Vec<_> = cookie.split("; ").skip(1).collect();
    for flag in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(flags.contains(&flag), "{flag} in {cookie}");
    }
    assert!(!flags.iter().any(|flag| flag.starts_with("Domain")), "{cookie}");
}

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
        for rule in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"]
        {
            assert!(policy.contains(rule), "{rule} in {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    }
    let style = server.send(Request::get("/console.css")).await;
    assert_eq!((style.status, style.header("content-type")), (200, Some("text/css; charset=utf-8")));
}

#[tokio::test]
async fn the_buttons_decide_about_what_the_page_showed() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({"to": "bob"})).await;
    let page = browser.page(&server).await.text();
    assert_eq!(hidden(&page, "id"), id(&action));
    assert_eq!(hidden(&page, "digest"), action["digest"].as_str().unwrap());
    assert_eq!(hidden(&page, "version"), "1");
    let answer = browser.decide(&server, &action, "approve").await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let shown = server.show(&server.riley, &action).await;
    assert_eq!(shown["status"], "authorised");
    assert_eq!((&shown["votes"][0]["by"], &shown["votes"][0]["reason"]), (&json!("ada"), &json!("seen")));

    let denied = server.propose("send_email", json!({"to": "eve"})).await;
    assert_eq!(browser.decide(&server, &denied, "deny").await.status, 303);
    assert_eq!(server.show(&server.riley, &denied).await["status"], "denied");
}

#[tokio::test]
async fn a_page_that_is_out_of_date_decides_nothing() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("delete_customer", json!({"id": 1})).await;
    let edit = json!({"decision": "modify", "args": {"id": 2}});
    server.decide(&server.ann, &action, edit).await.ok(200);
    let stale = browser.decide(&server, &action, "approve").await;
    assert_eq!(stale.status, 409);
    assert!(stale.text().contains("version 2"), "{}", stale.text());
    let mut swapped = server.show(&server.riley, &action).await;
    swapped["digest"] = action["digest"].clone();
    assert_eq!(browser.decide(&server, &swapped, "approve").await.status, 409);
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
}

#[tokio::test]
async fn a_form_that_is_not_from_this_session_is_refused() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let other = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    for csrf in ["", "x", other.csrf.as_str()] {
        let forged = Browser { cookie: browser.cookie.clone(), csrf: csrf.into() };
        forged.decide(&server, &action, "approve").await.problem(403, "origin_not_allowed");
        let out = forged.submit(&server, "/sign-out", &[("csrf", csrf)]).await;
        out.problem(403, "origin_not_allowed");
    }
    // A page of another origin does not even get that far.
    let request = Request::form("/decide", &[("csrf", &browser.csrf)]).header("Cookie", &browser.cookie);
    server.send(request.header("Origin", "http://evil.example")).await.problem(403, "origin_not_allowed");
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
    assert!(browser.page(&server).await.text().contains("send_email"));
}

#[tokio::test]
async fn a_form_that_is_none_of_ours_is_refused() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    let digest = action["digest"].as_str().unwrap();
    let csrf = browser.csrf.as_str();
    for fields in [
        vec![],
        vec![("csrf", csrf)],
        vec![
            ("csrf", csrf),
            ("id", id(&action)),
            ("version", "one"),
            ("digest", digest),
            ("decision", "approve"),
        ],
        vec![("csrf", csrf), ("id", "x"), ("version", "1"), ("digest", digest), ("decision", "approve")],
        vec![("csrf", csrf), ("id", id(&action)), ("version", "1"), ("digest", "x"), ("decision", "approve")],
        vec![("csrf", csrf), ("id", id(&action)), ("version", "1"), ("digest", digest), ("decision", "yes")],
    ] {
        browser.submit(&server, "/decide", &fields).await.problem(422, "invalid_request");
    }
    let json = Request::post("/decide", &json!({"csrf": csrf})).header("Cookie", &browser.cookie);
    server.send(json).await.problem(422, "invalid_request");
    let long = "x".repeat(2_000_000);
    browser.submit(&server, "/decide", &[("csrf", &long)]).await.problem(413, "body_too_large");
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
}

#[tokio::test]
async fn whoever_signs_out_is_out() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    let answer = browser.submit(&server, "/sign-out", &[("csrf", &browser.csrf)]).await;
    assert_eq!(answer.status, 303);
    assert!(answer.header("set-cookie").unwrap().contains("Max-Age=0"));
    // The cookie is worth nothing any more, wherever it was copied to.
    assert!(!browser.page(&server).await.text().contains("send_email"));
    browser.decide(&server, &action, "approve").await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn what_an_agent_writes_never_becomes_markup_and_never_hides() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    for (n, hostile) in [
        "<script>alert(1)</script>",
        "<svg/onload=alert(1)>",
        "\"><img src=x onerror=alert(1)>",
        "'><form action=//evil.example><button>Approve</button></form>",
        "</pre></article><h1>Approved</h1>",
        "<!--",
        "&lt;script&gt;",
        "\u{202e}gnp.exe",
        "\u{2066}a\u{2069}",
        "safe\u{200b}\u{feff}\u{ad}",
        "\u{1b}[2J\u{7}\u{8}",
        "tag\u{e0041}\u{e0042}",
        "{{7*7}} ${7*7}",
    ]
    .into_iter()
    .enumerate()
    {
        let seen_name: String = hostile.chars().filter(|c| !c.is_control()).collect();
        let body = json!({"tool": format!("{seen_name}{n}"), "args": {hostile: hostile}, "description": hostile,
            "rationale": hostile});
        let action = server.propose_as(&server.riley, body).await;
        let page = browser.page(&server).await.text();
        let markup: String = page.matches('<').collect();
        server.cancel(&server.riley, &action, json!({})).await.ok(200);

        // The page has exactly the markup that it has for harmless text, but for the marks on what is unseen.
        let plain: String = "x".into();
        let body = json!({"tool": format!("{plain}{n}"), "args": {plain.clone(): plain}, "description": plain,
            "rationale": plain});
        let action = server.propose_as(&server.riley, body).await;
        let harmless = browser.page(&server).await.text();
        server.cancel(&server.riley, &action, json!({})).await.ok(200);
        let marks = 2 * page.matches("<span class=unseen>").count();
        assert_eq!(markup.len(), harmless.matches('<').count() + marks, "{hostile:?}: {page}");
        for unseen in hostile.chars().filter(|c| !c.is_ascii() || c.is_control()) {
            assert!(!page.contains(unseen), "{unseen:?} in {page}");
        }
    }
}

#[tokio::test]
async fn the_page_shows_what_rules_say_and_hides_what_they_redact() {
    let server = Server::start().await;
    server.propose("charge_card", json!({"amount": 50, "card": "4111-1111"})).await;
    let browser = Browser::sign_in(&server, "ada").await;
    let page = browser.page(&server).await.text();
    assert!(page.contains("Is it theirs?"), "{page}");
    assert!(page.contains("[redacted]") && !page.contains("4111"), "{page}");
}

#[tokio::test]
async fn a_hostile_code_in_a_link_is_only_text() {
    let server = Server::start().await;
    let hostile = "\"><script>alert(1)</script>";
    let page = server.send(Request::get(format!("/sign-in?code={}", percent_encoded(hostile)))).await.text();
    assert!(!page.contains("<script>"), "{page}");
    assert!(page.contains("&lt;script&gt;"), "{page}");
}

#[tokio::test]
async fn the_inbox_reads_like_this() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let body = json!({"tool": "fire", "args": {"who": "<b>bob</b>"}, "description": "Say \"goodbye\"\u{202e}",
        "rationale": "cost & speed"});
    let action = server.propose_as(&server.riley, body).await;
    let page = browser
        .page(&server)
        .await
        .text()
        .replace(&browser.csrf, "[csrf]")
        .replace(id(&action), "[id]")
        .replace(action["expires_at"].as_str().unwrap(), "[deadline]");
    insta::assert_snapshot!(page);
}
