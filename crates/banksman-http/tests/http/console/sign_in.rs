//! `/sign-in`, `/sign-out`: the way in and out.

use banksman_engine::EngineConfig;
use banksman_http::PublicAddress;
use serde_json::json;

use super::{Browser, hidden};
use crate::client::{Request, percent_encoded};
use crate::server::Server;

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
        assert!(page.text().contains("Sign in"), "{}", page.text());
        assert!(!page.text().contains("a secret"), "{}", page.text());
    }
}

#[tokio::test]
async fn a_sign_in_link_works_once_and_only_by_a_click() {
    let server = Server::start().await;
    let code = server.sign_in_code("ada").await;
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
    let code = server.sign_in_code("ada").await;
    let answer = server.send(Request::form("/sign-in", &[("code", &code)])).await;
    let cookie = answer.header("set-cookie").unwrap();
    assert_eq!(answer.header("strict-transport-security"), None, "nobody comes here over TLS");
    let flags: Vec<_> = cookie.split("; ").skip(1).collect();
    for flag in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=43200"] {
        assert!(flags.contains(&flag), "{flag} in {cookie}");
    }
    assert!(!flags.iter().any(|flag| flag.starts_with("Domain")), "{cookie}");
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
async fn a_hostile_code_in_a_link_is_only_text() {
    let server = Server::start().await;
    let hostile = "\"><script>alert(1)</script>";
    let page = server.send(Request::get(format!("/sign-in?code={}", percent_encoded(hostile)))).await.text();
    assert!(!page.contains("<script>"), "{page}");
    assert!(page.contains("&lt;script&gt;"), "{page}");
}

#[tokio::test]
async fn nobody_is_sent_elsewhere_after_signing_in() {
    let server = Server::start().await;
    for foreign in ["//evil.example", "https://evil.example", "/\\\\evil.example", "javascript:alert(1)"] {
        let page =
            server.send(Request::get(format!("/sign-in?next={}", percent_encoded(foreign)))).await.text();
        assert_eq!(hidden(&page, "next"), "/", "{foreign}");
        assert!(!page.contains("evil.example"), "{page}");
    }
    let page = server.send(Request::get("/sign-in?next=/audit")).await.text();
    assert_eq!(hidden(&page, "next"), "/audit");
    // A page that was asked for by a stranger says how to come back to it, and to nothing else.
    let asked = Request::get("/actions/act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB").header("Accept", "text/html");
    // The document describes what programs get; a browser gets the same as a page.
    let page = server.send_unchecked(&asked).await;
    assert_eq!(page.status, 401);
    assert!(page.text().contains("/sign-in?next=/actions/act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB"), "{}", page.text());
}

#[tokio::test]
async fn over_tls_the_cookie_belongs_to_this_very_host() {
    let address = PublicAddress::parse("https://banksman.example").unwrap();
    let server = Server::start_at(Some(address), EngineConfig::default()).await;
    let code = server.sign_in_code("ada").await;
    let request = Request::form("/sign-in", &[("code", &code)]).header("Host", "banksman.example");
    let answer = server.send(request).await;
    assert_eq!(answer.header("strict-transport-security"), Some("max-age=63072000"));
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-banksman_session="), "{cookie}");
    for flag in ["Secure", "HttpOnly", "Path=/", "SameSite=Lax"] {
        assert!(cookie.split("; ").any(|part| part == flag), "{flag} in {cookie}");
    }
    let value = cookie.split(';').next().unwrap();
    assert_eq!(server.send(Request::get("/audit").header("Cookie", value)).await.status, 200);
    // The name that a neighbouring host could set counts for nothing here.
    let weaker = value.replace("__Host-", "");
    server.send(Request::get("/audit").header("Cookie", weaker)).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_page_of_elsewhere_signs_nobody_in_as_someone_else() {
    let server = Server::start().await;
    let code = server.sign_in_code("mallory").await;
    for path in ["/sign-in", "/sign-in/password", "/sign-in/passkey", "/join/password", "/join/passkey"] {
        let form = Request::form(path, &[("code", &code)]).header("Origin", "http://evil.example");
        server.send(form).await.problem(403, "origin_not_allowed");
    }
    assert_eq!(server.send(Request::form("/sign-in", &[("code", &code)])).await.status, 303, "still unused");
}
