//! What policy redacts is seen by whoever runs it, and by nobody else.

use serde_json::json;

use crate::client::Request;
use crate::server::Server;

const SECRET: &str = "4111-1111";

#[tokio::test]
async fn people_decide_without_seeing_what_is_redacted() {
    let server = Server::start().await;
    let args = json!({"amount": 50, "card": SECRET, "notes": [{"pin": "7-7-7"}], "url": format!("https://x.org/{SECRET}")});
    let body = json!({"tool": "charge_card", "args": args, "evidence": {"card": SECRET}, "checkpoint": {"c": SECRET}});
    let action = server.propose_as(&server.riley, body).await;
    assert_eq!(action["args"], args, "the agent knows what it asked for");
    assert_eq!(action["verdict"]["messages"], json!(["Is it theirs?"]));
    let seen = server.show(&server.ann, &action).await;
    assert_eq!(
        seen["args"],
        json!({"amount": 50, "card": "[redacted]", "notes": [{"pin": "[redacted]"}], "url": "[redacted]"})
    );
    assert_eq!(seen["digest"], action["digest"]);
    for path in ["/v1/actions", "/v1/audit"] {
        let shown = server.send_unchecked(&Request::get(path).by(&server.ann)).await.text();
        assert!(shown.contains("charge_card"), "{path}: {shown}");
        assert!(!shown.contains(SECRET) && !shown.contains("7-7-7"), "{path}: {shown}");
    }
    let approved = server.decide(&server.ann, &seen, json!({"decision": "approve"})).await.ok(200);
    assert_eq!(approved["args"], seen["args"]);
    let claimed = server.claim(&server.riley, &approved).await.ok(200);
    assert_eq!(claimed["args"], args);
}

#[tokio::test]
async fn an_edit_of_what_is_shown_keeps_what_is_not() {
    let server = Server::start().await;
    let action = server.propose("charge_card", json!({"amount": 50, "card": SECRET})).await;
    let edit = json!({"decision": "modify", "args": {"amount": 40, "card": "[redacted]"}});
    let edited = server.decide(&server.ann, &action, edit).await.ok(200);
    assert_eq!(edited["args"], json!({"amount": 40, "card": "[redacted]"}));
    let claimed = server.claim(&server.riley, &edited).await.ok(200);
    assert_eq!(claimed["args"], json!({"amount": 40, "card": SECRET}));
    let action = server.propose("charge_card", json!({"amount": 51, "card": SECRET})).await;
    let same = json!({"decision": "modify", "args": {"amount": 51, "card": "[redacted]"}});
    server.decide(&server.ann, &action, same).await.problem(422, "invalid_args");
}

#[tokio::test]
async fn what_came_of_it_shows_people_nothing_that_is_redacted() {
    let server = Server::start().await;
    let args = json!({"amount": 50, "card": SECRET});
    let said = format!("charge {SECRET}");
    let body = json!({"tool": "charge_card", "args": args, "description": said, "rationale": said,
                      "rollback_plan": said, "affected_systems": [said]});
    let action = server.propose_as(&server.riley, body).await;
    server.approve(&server.ann, &action).await;
    server.claim(&server.riley, &action).await.ok(200);
    let result = json!({"card": SECRET, "inner": {"pin": "7-7-7"}, "log": format!("{SECRET} by 7-7-7")});
    let error = format!("{SECRET} was refused");
    let failed = json!({"status": "failed", "error": error, "result": result});
    let own = server.outcome(&server.riley, &action, failed).await.ok(200);
    assert_eq!((&own["outcome"]["result"], &own["outcome"]["error"]), (&result, &json!(error)));
    let seen = server.show(&server.ann, &action).await;
    assert_eq!(seen["outcome"]["error"], "[redacted] was refused");
    assert_eq!(
        seen["outcome"]["result"],
        json!({"card": "[redacted]", "inner": {"pin": "[redacted]"}, "log": "[redacted] by [redacted]"})
    );
    let path = format!("/v1/actions/{}", crate::server::id(&action));
    for path in [path.as_str(), "/v1/actions", "/v1/audit"] {
        let shown = server.send_unchecked(&Request::get(path).by(&server.ann)).await.text();
        assert!(shown.contains("charge_card") && !shown.contains(SECRET), "{path}: {shown}");
        assert!(!shown.contains("7-7-7"), "{path}: {shown}");
    }
}
