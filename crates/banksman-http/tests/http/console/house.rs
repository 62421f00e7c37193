//! `/grants`, `/delegations`, `/freezes`, `/mode`: the house rules, by forms.

use serde_json::json;

use super::{Browser, told};
use crate::client::Request;
use crate::server::{Server, id};

#[tokio::test]
async fn grants_are_given_and_revoked() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let fields =
        [("agent", "riley"), ("tool", "run_tests"), ("session", ""), ("uses", "3"), ("for_seconds", "3600")];
    let answer = browser.form(&server, "/grants", &fields).await;
    assert_eq!((answer.status, told(&answer)), (303, Some("/grants?said=granted")));
    assert_eq!(server.propose("run_tests", json!({})).await["status"], "authorised");
    let grants = server.send(Request::get("/v1/grants").by(&server.ann)).await.ok(200);
    let path = format!("/grants/{}/revoke", id(&grants["items"][0]));
    assert!(browser.open(&server, "/grants").await.text().contains(&path));
    assert_eq!(browser.form(&server, &path, &[]).await.status, 303);
    assert_eq!(server.propose("run_tests", json!({})).await["status"], "pending");
    assert_eq!(browser.form(&server, &path, &[]).await.status, 409, "it is gone");
    for (name, value) in [("agent", " "), ("uses", "many"), ("uses", "0")] {
        let wrong: Vec<_> =
            fields.iter().map(|field| if field.0 == name { (name, value) } else { *field }).collect();
        let answer = browser.form(&server, "/grants", &wrong).await;
        assert_eq!(answer.status, 409, "{name}={value:?}");
        assert!(answer.text().contains("Not done"), "{}", answer.text());
    }
}

#[tokio::test]
async fn delegations_are_made_and_ended() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let fields =
        [("from", "ben"), ("to", "ann"), ("roles", "finance, "), ("reason", "away"), ("for_seconds", "3600")];
    let answer = browser.form(&server, "/delegations", &fields).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let action = server.propose("pay", json!({})).await;
    assert_eq!(server.approve(&server.ann, &action).await["status"], "authorised");
    let all = server.send(Request::get("/v1/delegations").by(&server.ann)).await.ok(200);
    let path = format!("/delegations/{}/revoke", id(&all["items"][0]));
    assert!(browser.open(&server, "/delegations").await.text().contains(&path));
    assert_eq!(browser.form(&server, &path, &[]).await.status, 303);
    assert_eq!(
        browser
            .form(&server, "/delegations", &[("from", "ben"), ("to", "ada"), ("for_seconds", "60")])
            .await
            .status,
        409
    );
}

#[tokio::test]
async fn the_big_red_switch_stops_everything_until_it_is_lifted() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let action = server.propose("send_email", json!({})).await;
    let answer = browser.form(&server, "/freezes", &[("scope", "everything"), ("reason", "smoke")]).await;
    assert_eq!((answer.status, told(&answer)), (303, Some("/freezes?said=frozen")));
    for path in ["/", "/audit", "/mode"] {
        assert!(browser.open(&server, path).await.text().contains("Everything is frozen"), "{path}");
    }
    assert_eq!(browser.decide(&server, &action, "approve").await.status, 409);
    let freezes = server.send(Request::get("/v1/freezes").by(&server.ann)).await.ok(200);
    let lift = format!("/freezes/{}/lift", id(&freezes["items"][0]));
    assert_eq!(browser.form(&server, &lift, &[]).await.status, 303);
    assert_eq!(browser.decide(&server, &action, "approve").await.status, 303);
}

#[tokio::test]
async fn a_freeze_names_what_it_freezes() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    for scope in ["agent", "tool"] {
        assert_eq!(browser.form(&server, "/freezes", &[("scope", scope), ("name", " ")]).await.status, 409);
    }
    let problem =
        browser.form(&server, "/freezes", &[("scope", "all")]).await.problem(422, "invalid_request");
    assert!(problem["detail"].as_str().unwrap().contains("load it again"), "{problem}");
    assert_eq!(
        browser.form(&server, "/freezes", &[("scope", "tool"), ("name", "read_file")]).await.status,
        303
    );
    let refused = server
        .send(Request::post("/v1/actions", &json!({"tool": "read_file", "args": {}})).by(&server.riley))
        .await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn the_mode_changes_one_step_at_a_time() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    let mode =
        || async { server.send(Request::get("/v1/mode").by(&server.ann)).await.ok(200)["mode"].clone() };
    assert_eq!(mode().await, "production");
    assert_eq!(browser.form(&server, "/mode", &[("mode", "lab")]).await.status, 409);
    assert_eq!(browser.form(&server, "/mode/fallback", &[("reason", " ")]).await.status, 409);
    assert_eq!(browser.form(&server, "/mode/fallback", &[("reason", "errors")]).await.status, 303);
    assert_eq!(mode().await, "shadow");
    assert!(browser.open(&server, "/mode").await.text().contains("Fallen back"));
    assert_eq!(browser.form(&server, "/mode", &[("mode", "lab"), ("reason", "")]).await.status, 303);
    assert_eq!(mode().await, "lab");
    browser.form(&server, "/mode", &[("mode", "fast")]).await.problem(422, "invalid_request");
}

#[tokio::test]
async fn a_freeze_of_a_name_that_nobody_has_says_so() {
    let server = Server::start().await;
    let browser = Browser::sign_in(&server, "ada").await;
    server.propose("send_email", json!({})).await;
    let page = browser.open(&server, "/freezes?agent=riley").await.text();
    assert!(page.contains("name=\"name\" value=\"riley\""), "{page}");
    assert!(page.contains("<option value=\"send_email\">"), "{page}");
    for (scope, name, said) in [
        ("agent", "riley", "frozen"),
        ("agent", "rlley", "frozen-unseen"),
        ("tool", "send_email", "frozen"),
        ("tool", "send_emai1", "frozen-unseen"),
    ] {
        let answer = browser.form(&server, "/freezes", &[("scope", scope), ("name", name)]).await;
        assert_eq!(told(&answer), Some(format!("/freezes?said={said}").as_str()), "{name}");
    }
}
