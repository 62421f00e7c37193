//! `/people`: looking after people, by those who may.

use banksman_core::PrincipalKind::{Admin, Reviewer};
use serde_json::json;

use super::{Browser, cookie_of, told};
use crate::client::Request;
use crate::server::Server;

/// The link that a page shows once.
fn link(page: &str) -> &str {
    page.split("data-link>").nth(1).unwrap_or_else(|| panic!("no link: {page}")).split('<').next().unwrap()
}

#[tokio::test]
async fn an_administrator_adds_someone_who_is_then_shown_with_their_rights() {
    let server = Server::start().await;
    let ada = Browser::sign_in(&server, "ada").await;
    let fields = [
        ("name", "carl"),
        ("display_name", "Carl <b>C</b>"),
        ("roles", " finance, lead ,"),
        ("admin", "yes"),
    ];
    let added = ada.form(&server, "/people", &fields).await;
    assert_eq!(added.status, 200, "{}", added.text());
    let page = added.text();
    assert!(page.contains("Carl &lt;b&gt;"), "{page}");
    let address = link(&page);
    assert!(
        address.starts_with(&format!("http://localhost:{}/join?code=", server.address.port())),
        "{address}"
    );
    let code = address.rsplit('=').next().unwrap();
    let welcome = server.send(Request::get(format!("/join?code={code}"))).await.text();
    assert!(welcome.contains("Welcome") && welcome.contains("carl"), "{welcome}");
    // The link is nowhere else.
    assert!(!ada.open(&server, "/people").await.text().contains(code));
    let log = ada.open(&server, "/audit?type=person").await.text();
    assert!(log.contains("added as admin, finance, lead") && !log.contains(code), "{log}");
    let taken = ada.form(&server, "/people", &fields).await;
    assert_eq!(taken.status, 409);
}

#[tokio::test]
async fn a_reviewer_looks_after_nobody() {
    let server = Server::start().await;
    server.person(Reviewer, "rita", &[]).await;
    let id = server.person(Reviewer, "carl", &[]).await;
    let rita = Browser::sign_in(&server, "rita").await;
    rita.open(&server, "/people").await.problem(403, "not_yours");
    assert!(!rita.page(&server).await.text().contains("href=\"/people\""));
    for (path, fields) in [
        ("/people".to_owned(), vec![("name", "x"), ("roles", "")]),
        (format!("/people/{id}/invite"), vec![]),
        (format!("/people/{id}/reset"), vec![]),
        (format!("/people/{id}/rights"), vec![("roles", "finance"), ("admin", "yes")]),
        (format!("/people/{id}/standing"), vec![("standing", "removed")]),
    ] {
        rita.form(&server, &path, &fields).await.problem(403, "not_yours");
    }
    // Nor over the API, with a token of their own.
    server.send(Request::get("/v1/people").by(&server.ann)).await.problem(403, "wrong_credential");
}

#[tokio::test]
async fn new_rights_end_the_sessions_that_had_the_old_ones() {
    let server = Server::start().await;
    let ada = Browser::sign_in(&server, "ada").await;
    let id = server.person(Reviewer, "carl", &[]).await;
    let carl = Browser::sign_in(&server, "carl").await;
    let action = server.propose("pay", json!({})).await;
    assert_eq!(carl.decide(&server, &action, "approve").await.status, 409, "finance is missing");
    let changed = ada.form(&server, &format!("/people/{id}/rights"), &[("roles", "finance")]).await;
    assert_eq!(told(&changed), Some("/people?said=rights-changed"));
    carl.decide(&server, &action, "approve").await.problem(401, "unauthenticated");
    let again = Browser::sign_in(&server, "carl").await;
    assert_ne!(again.cookie, carl.cookie);
    assert_eq!(again.decide(&server, &action, "approve").await.status, 303);
}

#[tokio::test]
async fn whoever_is_locked_out_is_out_at_once() {
    let server = Server::start().await;
    let ada = Browser::sign_in(&server, "ada").await;
    let id = server.person(Reviewer, "carl", &[]).await;
    let carl = Browser::sign_in(&server, "carl").await;
    let token = server.issue(Reviewer, "carl", None).await;
    let waiting = server.sign_in_code("carl").await;
    let stand = |standing: &'static str| {
        let (ada, server, path) = (&ada, &server, format!("/people/{id}/standing"));
        async move { ada.form(server, &path, &[("standing", standing)]).await }
    };
    assert_eq!(stand("locked").await.status, 303);
    carl.open(&server, "/audit").await.problem(401, "unauthenticated");
    server.send(Request::get("/v1/actions").by(&token)).await.problem(401, "unauthenticated");
    assert_eq!(server.send(Request::form("/sign-in", &[("code", &waiting)])).await.status, 403);
    assert_eq!(stand("active").await.status, 303);
    carl.open(&server, "/audit").await.problem(401, "unauthenticated");
    assert_eq!(Browser::sign_in(&server, "carl").await.open(&server, "/audit").await.status, 200);
    assert_eq!(stand("removed").await.status, 303);
    assert_eq!(stand("active").await.status, 409, "for good");
    let taken = ada.form(&server, "/people", &[("name", "carl"), ("roles", "")]).await;
    assert_eq!(taken.status, 409, "the name stays taken");
}

#[tokio::test]
async fn nobody_changes_their_own_rights_and_one_administrator_stays() {
    let server = Server::start().await;
    let ada = Browser::sign_in(&server, "ada").await;
    let own = server.person(Admin, "ada", &[]).await;
    for (what, fields) in [("rights", [("roles", "finance")]), ("standing", [("standing", "locked")])] {
        ada.form(&server, &format!("/people/{own}/{what}"), &fields).await.problem(403, "not_yours");
    }
    // A token of an administrator who is no person may not remove the last one either.
    let boss = server.issue(Admin, "boss", None).await;
    let lock = Request::post(format!("/v1/people/{own}/standing"), &json!({"standing": "locked"})).by(&boss);
    server.send(lock).await.problem(422, "invalid_request");
    server.person(Admin, "abe", &[]).await;
    let lock = Request::post(format!("/v1/people/{own}/standing"), &json!({"standing": "locked"})).by(&boss);
    assert_eq!(server.send(lock).await.ok(200)["standing"], "locked");
}

#[tokio::test]
async fn a_reset_takes_every_way_in() {
    let server = Server::start().await;
    let ada = Browser::sign_in(&server, "ada").await;
    let mut key = super::key::Key::new("key-1");
    let carl = super::key::AtHome::invited(&server, "carl-otto", &[], &mut key).await;
    let id = server.person(Reviewer, "carl-otto", &[]).await;
    let refused = ada.form(&server, &format!("/people/{id}/invite"), &[]).await;
    assert_eq!(refused.status, 409, "can sign in already");
    let page = ada.form(&server, &format!("/people/{id}/reset"), &[]).await;
    assert!(link(&page.text()).contains("/join?code="));
    carl.open("/audit").await.problem(401, "unauthenticated");
    let door = super::key::AtHome::stranger(&server);
    let asked = super::key::challenge(&door.open("/sign-in").await.text());
    let answer = key.sign(&asked, &door.origin());
    assert_eq!(door.submit("/sign-in/passkey", &[], &answer).await.status, 403);
}

#[tokio::test]
async fn a_session_that_someone_else_chose_is_never_taken_over() {
    let server = Server::start().await;
    // Someone foists a cookie on a browser: of a session of theirs, and of nothing at all.
    let mallory = Browser::sign_in(&server, "mallory").await;
    for foisted in [mallory.cookie.clone(), "banksman_session=bkm_session_chosen".to_owned()] {
        let code = server.sign_in_code("ada").await;
        let request = Request::form("/sign-in", &[("code", &code)]).header("Cookie", &foisted);
        let answer = server.send(request).await;
        assert_eq!(answer.status, 303);
        assert_ne!(cookie_of(&answer), foisted);
        let page = server.send(Request::get("/audit").header("Cookie", &foisted)).await;
        assert!(page.status == 401 || page.text().contains("mallory"), "the old cookie is not ada's");
    }
}
