//! `/v1/notifications`, `/v1/actions/{id}/notifications` and `/v1/jobs`

use banksman_core::{ActionId, DeliveryStatus, JobStatus, Purpose};
use banksman_store::{Attempt, NewDelivery, NewJob, Post, Run};
use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, id};

async fn items(server: &Server, path: &str) -> Vec<Value> {
    let list = server.send(Request::get(path).by(&server.ann)).await.ok(200);
    list["items"].as_array().unwrap().clone()
}

/// Someone was told in vain, and someone else is to be told.
async fn told(server: &Server) -> Value {
    let action = server.propose("send_email", json!({"to": "ann"})).await;
    let about: ActionId = id(&action).parse().unwrap();
    let at = server.engine.now();
    let delivery = |number, recipient: &str| NewDelivery {
        id: number,
        action: about,
        version: 1,
        purpose: Purpose::Ask,
        round: 0,
        channel: "slack".into(),
        recipient: recipient.into(),
        next_at: at,
        at,
    };
    let failed = Attempt {
        id: 1,
        after: 0,
        attempt: 1,
        status: DeliveryStatus::Failed,
        next_at: None,
        message: None,
        provider_id: None,
        error: Some("no such channel".into()),
        bundle: None,
        strikes: 1,
        at,
    };
    let dead = Run {
        id: 3,
        after: 0,
        attempt: 1,
        status: JobStatus::Dead,
        next_at: None,
        error: Some("answered 404".into()),
        at,
    };
    let planned = Post {
        deliveries: vec![delivery(1, "ann"), delivery(2, "ben")],
        jobs: vec![NewJob { id: 3, action: about, at }],
        ..Post::default()
    };
    server.engine.record_post(planned, Vec::new()).await.unwrap();
    let came_of_it = Post { attempts: vec![failed], runs: vec![dead], ..Post::default() };
    server.engine.record_post(came_of_it, Vec::new()).await.unwrap();
    action
}

#[tokio::test]
async fn who_was_told_is_listed_and_what_failed_is_sent_again() {
    let server = Server::start().await;
    let action = told(&server).await;
    let of_action = items(&server, &format!("/v1/actions/{}/notifications", id(&action))).await;
    assert_eq!(of_action.iter().map(|told| told["recipient"].clone()).collect::<Vec<_>>(), ["ann", "ben"]);
    assert_eq!(
        (&of_action[0]["status"], &of_action[0]["error"]),
        (&json!("failed"), &json!("no such channel"))
    );
    assert_eq!(items(&server, "/v1/notifications").await.len(), 2);
    assert_eq!(items(&server, "/v1/notifications?status=failed&channel=slack").await.len(), 1);
    assert_eq!(items(&server, "/v1/notifications?channel=line").await.len(), 0);
    assert_eq!(items(&server, "/v1/notifications?before=2").await.len(), 1);

    let retry = |number: i64| {
        server.send(Request::post(format!("/v1/notifications/{number}/retry"), &json!({})).by(&server.ann))
    };
    let again = retry(1).await.ok(200);
    assert_eq!((&again["status"], &again["attempt"]), (&json!("queued"), &json!(0)));
    retry(1).await.any_problem();
    retry(99).await.problem(404, "not_found");
    let log = server.send(Request::get("/v1/audit?type=notification_retried").by(&server.ann)).await.ok(200);
    assert_eq!(log["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn jobs_that_were_given_up_are_done_again_or_dropped() {
    let server = Server::start().await;
    told(&server).await;
    let dead = items(&server, "/v1/jobs?status=dead").await;
    assert_eq!((dead.len(), &dead[0]["error"]), (1, &json!("answered 404")));
    let change =
        |what: &str| server.send(Request::post(format!("/v1/jobs/3/{what}"), &json!({})).by(&server.ann));
    assert_eq!(change("retry").await.ok(200)["status"], "waiting");
    assert_eq!(change("drop").await.ok(200)["status"], "dropped");
    server.send(Request::post("/v1/jobs/4/drop", &json!({})).by(&server.ann)).await.problem(404, "not_found");
}

#[tokio::test]
async fn agents_do_not_get_to_see_who_is_told() {
    let server = Server::start().await;
    let action = told(&server).await;
    for path in [
        "/v1/notifications".to_owned(),
        "/v1/jobs".to_owned(),
        format!("/v1/actions/{}/notifications", id(&action)),
    ] {
        assert_eq!(server.send(Request::get(path).by(&server.riley)).await.any_problem()["status"], 403);
    }
}

#[tokio::test]
async fn without_channels_there_is_nothing_to_test() {
    let server = Server::start().await;
    let test = Request::post("/v1/notifications/test", &json!({"channel": "slack"})).by(&server.ann);
    let problem = server.send(test).await.any_problem();
    assert!(problem["detail"].as_str().unwrap().contains("channels.yaml"), "{problem}");
}
