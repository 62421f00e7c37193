//! `/people`: looking after people, by those who may.

use banksman_core::PrincipalKind::{self, Admin, Reviewer};
use banksman_core::{Actor, PersonId, Standing};
use banksman_engine::{By, EngineError, NewToken, VouchedFor};
use banksman_store::{Person, Subject};
use serde_json::json;

use super::key::{AtHome, Key, challenge};
use super::{Browser, cookie_of, hidden, told};
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

fn token(kind: PrincipalKind, name: &str, roles: &[&str]) -> NewToken {
    let roles = roles.iter().copied().map(String::from).collect();
    NewToken { kind, name: name.into(), owner: None, roles, lifetime: None }
}

#[tokio::test]
async fn a_token_gives_no_more_than_its_owner_may_now() {
    let server = Server::start().await;
    let bob = server.person(Admin, "bob", &["finance"]).await;
    let issue = |new: NewToken| server.engine.issue_token(new, Actor::Operator);
    let secret = issue(token(Admin, "bob", &["finance"])).await.unwrap().secret;
    let people = || server.send(Request::get("/v1/people").by(&secret));
    let action = server.propose("pay", json!({})).await;
    assert_eq!(people().await.status, 200);
    let rights = |kind, roles: &[&str]| {
        let roles = roles.iter().copied().map(String::from).collect();
        server.engine.change_rights(By::Operator, bob, kind, roles)
    };
    rights(Reviewer, &["support"]).await.unwrap();
    people().await.problem(403, "wrong_credential");
    let refused = server.decide(&secret, &action, json!({"decision": "approve"})).await;
    assert_eq!(refused.problem(403, "missing_role")["code"], "missing_role");
    // What was taken comes back with the rights, but no token gets more than it was made for.
    rights(Admin, &["finance", "support"]).await.unwrap();
    assert_eq!(people().await.status, 200);
    let plain = issue(token(Reviewer, "bob", &[])).await.unwrap().secret;
    server.send(Request::get("/v1/people").by(&plain)).await.problem(403, "wrong_credential");
    server.engine.reset_person(By::Operator, bob).await.unwrap();
    people().await.problem(401, "unauthenticated");
    // And none is made that would give more.
    rights(Reviewer, &["support"]).await.unwrap();
    for beyond in [token(Admin, "bob", &[]), token(Reviewer, "bob", &["finance"])] {
        assert!(matches!(issue(beyond).await, Err(EngineError::Invalid(_))));
    }
    server.engine.change_standing(By::Operator, bob, Standing::Locked).await.unwrap();
    assert!(matches!(issue(token(Reviewer, "bob", &[])).await, Err(EngineError::Invalid(_))));
    assert!(issue(token(PrincipalKind::Agent, "bob", &[])).await.is_ok(), "an agent is nobody's person");
}

/// Adds someone over the page and accepts the invitation with a key of one's own.
async fn puppet<'a>(
    server: &'a Server,
    by: &AtHome<'_>,
    name: &str,
    admin: bool,
    key: &mut Key,
) -> (AtHome<'a>, PersonId) {
    let mut fields = vec![("name", name), ("roles", "")];
    if admin {
        fields.push(("admin", "yes"));
    }
    let page = by.submit("/people", &fields, &Vec::new()).await;
    assert_eq!(page.status, 200, "{}", page.text());
    let page = page.text();
    let code = link(&page).rsplit('=').next().unwrap().to_owned();
    let home = AtHome::stranger(server);
    let asked = challenge(&home.open(&format!("/join?code={code}")).await.text());
    let answer = key.create(&asked, &home.origin());
    let joined = home.submit("/join/passkey", &[("code", &code)], &answer).await;
    let id = server.person(Reviewer, name, &[]).await;
    (home.signed_in(&joined).await, id)
}

async fn at_home<'a>(server: &'a Server, name: &str) -> AtHome<'a> {
    let code = server.sign_in_code(name).await;
    let door = AtHome::stranger(server);
    let answer = door.submit("/sign-in", &[("code", &code)], &Vec::new()).await;
    door.signed_in(&answer).await
}

async fn approve(who: &AtHome<'_>, action: &serde_json::Value) -> crate::client::Response {
    let (version, digest) = (action["version"].to_string(), action["digest"].as_str().unwrap());
    let fields = [
        ("id", crate::server::id(action)),
        ("version", version.as_str()),
        ("digest", digest),
        ("decision", "approve"),
    ];
    who.submit("/decide", &fields, &Vec::new()).await
}

#[tokio::test]
async fn one_administrator_alone_is_one_person_however_many_they_make() {
    let server = Server::start().await;
    let ada = at_home(&server, "ada").await;
    let (mut one, mut two) = (Key::new("key-1"), Key::new("key-2"));
    let (bob, bob_id) = puppet(&server, &ada, "bob-dylan", true, &mut one).await;
    // Whom a puppet makes is no more of a person.
    let (carl, carl_id) = puppet(&server, &bob, "carl-otto", false, &mut two).await;
    let action = server.propose("delete_customer", json!({"id": 7})).await;
    assert_eq!(approve(&carl, &action).await.status, 303);
    for who in [&ada, &bob] {
        let refused = approve(who, &action).await;
        assert_eq!(refused.status, 409);
        assert!(refused.text().contains("do not count as two people"), "{}", refused.text());
    }
    // Nor can they vouch for one another.
    for (who, id) in [(&ada, bob_id), (&ada, carl_id), (&bob, carl_id), (&bob, bob_id)] {
        who.submit(&format!("/people/{id}/confirm"), &[], &Vec::new()).await.problem(403, "not_yours");
    }
    let page = ada.open("/people").await.text();
    assert!(page.contains("brought in by") && page.contains("not confirmed"), "{page}");
    // Somebody else may; from then on carl is himself, and only he.
    server.person(Admin, "eve", &[]).await;
    let eve = at_home(&server, "eve").await;
    let confirmed = eve.submit(&format!("/people/{carl_id}/confirm"), &[], &Vec::new()).await;
    assert_eq!(told(&confirmed), Some("/people?said=person-confirmed"));
    let twice = eve.submit(&format!("/people/{carl_id}/confirm"), &[], &Vec::new()).await;
    assert_eq!(twice.status, 409, "there is nothing to confirm any more");
    let other = server.propose("delete_customer", json!({"id": 8})).await;
    assert_eq!(approve(&ada, &other).await.status, 303);
    assert_eq!(approve(&bob, &other).await.status, 409);
    assert_eq!(approve(&carl, &other).await.status, 303);
    assert_eq!(server.show(&server.riley, &other).await["status"], "authorised");
    let log = ada.open("/audit?type=person").await.text();
    assert!(log.contains("confirmed to be a person of their own"), "{log}");
}

#[tokio::test]
async fn whoever_is_reset_is_in_the_hand_of_whoever_did_it() {
    let server = Server::start().await;
    let ada = at_home(&server, "ada").await;
    let (mut old, mut new) = (Key::new("key-1"), Key::new("key-2"));
    AtHome::invited(&server, "bob-dylan", &[], &mut old).await;
    let id = server.person(Reviewer, "bob-dylan", &[]).await;
    let page = ada.submit(&format!("/people/{id}/reset"), &[], &Vec::new()).await.text();
    let code = link(&page).rsplit('=').next().unwrap().to_owned();
    let door = AtHome::stranger(&server);
    let asked = challenge(&door.open(&format!("/join?code={code}")).await.text());
    let joined = door.submit("/join/passkey", &[("code", &code)], &new.create(&asked, &door.origin())).await;
    let bob = door.signed_in(&joined).await;
    let action = server.propose("delete_customer", json!({"id": 7})).await;
    assert_eq!(approve(&ada, &action).await.status, 303);
    assert_eq!(approve(&bob, &action).await.status, 409);
    server.engine.confirm_person(By::Operator, id).await.unwrap();
    assert_eq!(approve(&bob, &action).await.status, 303, "whoever is at the machine may say so");
}

fn vouched(name: &str) -> VouchedFor {
    let subject = Subject { issuer: "https://id.example".into(), subject: "4711".into(), set_aside: false };
    VouchedFor { subject, name: name.into(), kind: Reviewer, roles: vec!["finance".into()] }
}

async fn everyone(server: &Server) -> Vec<Person> {
    server.engine.people(By::Operator).await.unwrap()
}

#[tokio::test]
async fn whoever_was_removed_does_not_come_back_under_another_name() {
    let server = Server::start().await;
    server.engine.sign_in_vouched(vouched("dora"), "x").await.unwrap();
    let dora = everyone(&server).await.pop().unwrap();
    server.engine.change_standing(By::Operator, dora.id, Standing::Removed).await.unwrap();
    for name in ["dora", "dora2"] {
        let refused = server.engine.sign_in_vouched(vouched(name), "x").await;
        assert!(matches!(refused, Err(EngineError::Unauthenticated)), "{name}: {refused:?}");
    }
    assert_eq!(everyone(&server).await.len(), 1);
}

#[tokio::test]
async fn whoever_was_reset_comes_back_by_the_provider_as_who_they_were() {
    let server = Server::start().await;
    let session = server.engine.sign_in_vouched(vouched("dora"), "x").await.unwrap();
    let dora = everyone(&server).await.pop().unwrap();
    server.engine.reset_person(By::Operator, dora.id).await.unwrap();
    assert!(server.engine.authenticate_session(&session.secret).await.is_err());
    // The provider may be what was lost: an invitation works as well, until they come by the provider again.
    let link = server.engine.invite(By::Operator, dora.id).await.unwrap();
    server.engine.sign_in_vouched(vouched("dora-renamed"), "x").await.unwrap();
    assert!(server.engine.invited(&link.code).await.is_err());
    let [after] = everyone(&server).await.try_into().unwrap();
    assert_eq!((after.id, after.name.as_str(), after.can_sign_in()), (dora.id, "dora", true));
}

#[tokio::test]
async fn whoever_accepted_in_anothers_place_is_out_once_the_provider_vouches_for_them() {
    let server = Server::start().await;
    server.engine.sign_in_vouched(vouched("dora"), "x").await.unwrap();
    let dora = everyone(&server).await.pop().unwrap();
    let ada = at_home(&server, "ada").await;
    let page = ada.submit(&format!("/people/{}/reset", dora.id), &[], &Vec::new()).await.text();
    let code = link(&page).rsplit('=').next().unwrap().to_owned();
    // Ada accepts it herself: with a key of hers, and then a password.
    let mut key = Key::new("key-1");
    let door = AtHome::stranger(&server);
    let asked = challenge(&door.open(&format!("/join?code={code}")).await.text());
    let joined = door.submit("/join/passkey", &[("code", &code)], &key.create(&asked, &door.origin())).await;
    let mask = door.signed_in(&joined).await;
    let secret = server.engine.new_totp_secret().unwrap();
    let seconds = u64::try_from(server.engine.now().as_micros() / 1_000_000).unwrap();
    let (shown, totp) = (secret.to_base32(), secret.code_at(seconds));
    let fields = [("password", "the cranes stand still"), ("totp_secret", &shown), ("totp_code", &totp)];
    assert_eq!(mask.submit("/account/password", &fields, &Vec::new()).await.status, 200);
    let dora_now = async || everyone(&server).await.into_iter().find(|person| person.id == dora.id).unwrap();
    let held = dora_now().await.view();
    assert_eq!((held.has_password, held.passkeys.len(), held.brought_by.as_deref()), (true, 1, Some("ada")));

    let session = server.engine.sign_in_vouched(vouched("dora"), "x").await.unwrap();
    let after = dora_now().await;
    assert_eq!((&after.password, &after.totp, &after.brought_by, &after.link), (&None, &None, &None, &None));
    assert!(after.recovery.is_empty() && after.passkeys.is_empty(), "{after:?}");
    assert_ne!(mask.open("/account").await.status, 200, "her session is over");
    let asked = challenge(&AtHome::stranger(&server).open("/sign-in").await.text());
    let door = AtHome::stranger(&server);
    let refused = door.submit("/sign-in/passkey", &[], &key.sign(&asked, &door.origin())).await;
    assert_eq!(refused.header("set-cookie"), None, "and her key opens nothing");
    let log = ada.open("/audit?type=person").await.text();
    for gone in ["a password", "an authenticator app", "recovery codes", "the passkey"] {
        assert!(log.contains(&format!("no longer has {gone}")), "{gone}: {log}");
    }
    // Dora counts beside Ada, and it is Dora who decides.
    let mut browser = AtHome::stranger(&server);
    browser.cookie = format!("banksman_session={}", session.secret);
    browser.csrf = hidden(&browser.open("/mode").await.text(), "csrf");
    let action = server.propose("delete_customer", json!({"id": 7})).await;
    for who in [&ada, &browser] {
        assert_eq!(approve(who, &action).await.status, 303);
    }
    assert_eq!(server.show(&server.riley, &action).await["status"], "authorised");
    server.engine.sign_in_vouched(vouched("dora"), "x").await.unwrap();
    assert_eq!(browser.open("/account").await.status, 200, "nobody is signed out twice");
}
