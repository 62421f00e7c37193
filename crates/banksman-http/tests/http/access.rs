//! Who may call what: every route, tried with every kind of credential.

use std::time::Duration;

use banksman_core::PrincipalKind::{self, Admin, Agent, Reviewer};
use banksman_http::{Access, RouteInfo, route_table};
use serde_json::json;

use crate::client::{Request, Response};
use crate::console::Browser;
use crate::server::{Server, id};

/// A request for a route that is well-formed and names things that do not exist.
fn request_for(route: &RouteInfo) -> Request {
    let known = [
        ("people", "usr_"),
        ("sessions", "tok_"),
        ("batches", "bat_"),
        ("grants", "grt_"),
        ("freezes", "frz_"),
        ("delegations", "dlg_"),
    ];
    let prefix = known.iter().find(|(part, _)| route.path.split('/').any(|other| other == *part));
    let prefix = prefix.map_or("act_", |(_, prefix)| prefix);
    let path = route.path.replace("{id}", &format!("{prefix}01J9ZKQ7V8Y3F5T2M6N4P0R1SB"));
    match route.method.as_str() {
        "POST" => Request::post(path, &json!({})),
        "DELETE" => Request::delete(path),
        "GET" => Request::get(path),
        other => panic!("no request for {other}"),
    }
}

/// Whether an answer says that the caller came through, whatever happened then.
fn was_admitted(response: &Response) -> bool {
    if !matches!(response.status, 401 | 403) {
        return true;
    }
    if response.header("content-type") != Some("application/problem+json") {
        return true;
    }
    !matches!(response.json()["code"].as_str(), Some("unauthenticated" | "wrong_credential"))
}

#[test]
fn the_table_of_routes_is_as_it_was_reviewed() {
    let table: Vec<_> = route_table()
        .iter()
        .map(|route| format!("{:<6} {:<28} {}", route.method.as_str(), route.path, route.access.as_str()))
        .collect();
    insta::assert_snapshot!(table.join("\n"));
}

#[tokio::test]
async fn every_route_admits_exactly_those_that_the_table_says() {
    let server = Server::start().await;
    // A browser of someone for each kind of person; agents have none.
    let admin = Browser::sign_in(&server, "ada").await;
    server.person(Reviewer, "rita", &[]).await;
    let reviewer = Browser::sign_in(&server, "rita").await;
    let callers: [(&str, PrincipalKind, &str); 4] = [
        ("an agent", Agent, &server.riley),
        ("another agent", Agent, &server.sam),
        ("a reviewer", Reviewer, &server.ann),
        ("an administrator", Admin, &server.ada),
    ];
    for route in route_table() {
        let name = format!("{} {}", route.method, route.path);
        let request = || request_for(&route);
        let nobody = server.send(request()).await;
        let garbage = server.send(request().by("bkm_admin_garbage")).await;
        if route.access == Access::Public {
            assert!(was_admitted(&nobody) && was_admitted(&garbage), "{name}");
        } else {
            nobody.problem(401, "unauthenticated");
            // MCP's routes also say where to read about credentials.
            let challenge = nobody.header("www-authenticate").unwrap_or_default();
            assert!(challenge.starts_with("Bearer realm=\"banksman\""), "{name}: {challenge}");
            garbage.problem(401, "unauthenticated");
        }
        if route.access == Access::Session {
            for browser in [&admin, &reviewer] {
                let answer = server.send(request().header("Cookie", &browser.cookie)).await;
                assert!(was_admitted(&answer), "{name}: {answer:?}");
            }
        }
        for browser in [&admin, &reviewer].map(|browser| browser.cookie.split_once('=').unwrap().1) {
            let answer = server.send(request().by(browser)).await;
            if route.access != Access::Public {
                // What a browser keeps opens no API, wherever it was copied to.
                answer.problem(401, "unauthenticated");
            }
        }
        for (who, kind, token) in callers {
            let answer = server.send(request().by(token)).await;
            match route.access {
                // A browser shows a cookie; a token alone opens no page.
                Access::Session => {
                    answer.problem(401, "unauthenticated");
                    let with_cookie = request().header("Cookie", format!("banksman_session={token}"));
                    server.send(with_cookie).await.problem(401, "unauthenticated");
                }
                _ if route.access.admits(kind) => {
                    assert!(was_admitted(&answer), "{name} for {who}: {answer:?}")
                }
                _ => {
                    answer.problem(403, "wrong_credential");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_credential_is_shown_in_one_way_only() {
    let server = Server::start().await;
    let ann = &server.ann;
    let plain = || Request::get("/v1/mode");
    for header in [
        String::new(),
        ann.clone(),
        format!("Bearer{ann}"),
        format!("Basic {ann}"),
        "Bearer".into(),
        "Bearer ".into(),
        format!("Bearer {}", &ann[..ann.len() - 1]),
        format!("Bearer {ann}x"),
        format!("Bearer {}", ann.to_uppercase()),
    ] {
        let answer = server.send(plain().header("Authorization", header.clone())).await;
        answer.problem(401, "unauthenticated");
    }
    server.send(Request::get(format!("/v1/actions?token={ann}"))).await.problem(401, "unauthenticated");
    server
        .send(plain().header("Cookie", format!("banksman_session={ann}")))
        .await
        .problem(401, "unauthenticated");
    server.send(plain().header("Authorization", format!("bearer {ann}"))).await.ok(200);
}

#[tokio::test]
async fn a_credential_that_has_ended_opens_nothing() {
    let server = Server::start().await;
    let short = server.issue(Reviewer, "temp", Some(Duration::from_secs(60))).await;
    let list = || Request::get("/v1/actions").by(&short);
    server.send(list()).await.ok(200);
    server.jump(Duration::from_secs(61));
    server.send(list()).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_revoked_credential_changes_nothing_from_then_on() {
    let server = Server::start().await;
    let action = server.propose("send_email", json!({})).await;
    let tokens = server.engine.tokens().await.unwrap();
    let ann = tokens.iter().find(|token| token.name == "ann").unwrap().id;
    server.send(Request::get("/v1/actions").by(&server.ann)).await.ok(200);
    server.engine.revoke_token(ann, banksman_core::Actor::Operator).await.unwrap();
    let decision = server.decide(&server.ann, &action, json!({"decision": "approve"})).await;
    decision.problem(401, "unauthenticated");
    assert_eq!(server.show(&server.riley, &action).await["status"], "pending");
}

#[tokio::test]
async fn what_belongs_to_another_agent_does_not_exist() {
    let server = Server::start().await;
    let pending = server.propose("send_email", json!({"to": "ada"})).await;
    let running = server.propose("read_file", json!({"path": "a"})).await;
    let body = json!({"items": [{"tool": "send_email", "args": {"to": "bob"}}]});
    let batch = server.send(Request::post("/v1/batches", &body).by(&server.riley)).await.ok(200);
    let sam = &server.sam;

    let nobodys = json!({"id": "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB", "digest": pending["digest"]});
    let show = |action: &serde_json::Value| Request::get(format!("/v1/actions/{}", id(action))).by(sam);
    let unknown = server.send(show(&nobodys)).await.problem(404, "not_found");
    for action in [&pending, &running] {
        // The same words as for what was never there: ids cannot be probed.
        assert_eq!(server.send(show(action)).await.problem(404, "not_found"), unknown);
        assert_eq!(
            server.send(show(action).header("Prefer", "wait=5")).await.problem(404, "not_found"),
            unknown
        );
        assert_eq!(server.claim(sam, action).await.problem(404, "not_found"), unknown);
        let done = json!({"status": "succeeded"});
        assert_eq!(server.outcome(sam, action, done).await.problem(404, "not_found"), unknown);
        assert_eq!(server.cancel(sam, action, json!({})).await.problem(404, "not_found"), unknown);
    }
    let of_sam = server.send(Request::get(format!("/v1/batches/{}", id(&batch))).by(sam)).await;
    of_sam.problem(404, "not_found");

    // And all of it is as it was.
    assert_eq!(server.show(&server.riley, &pending).await["status"], "pending");
    server.claim(&server.riley, &running).await.ok(200);
    server.outcome(sam, &running, json!({"status": "failed"})).await.problem(404, "not_found");
    assert_eq!(server.show(&server.riley, &running).await["status"], "executing");
}
