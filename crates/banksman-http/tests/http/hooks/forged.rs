//! What is not from the provider, or not from now, changes nothing and is on record.

use std::time::Duration;

use serde_json::json;

use super::{CHANNEL, House, SIGNING, assert_not_signed, from_line, from_slack, press, tap};
use crate::client::Request;

#[tokio::test]
async fn forged_requests_change_nothing_and_are_on_record() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    let payload = press(&house, "ANN", "decide:approve", &action);
    let event = tap(&house, "E1", Some("ANN"), "approve", &action);
    for request in [
        from_slack(&payload, house.now(), "guessed"),
        from_line(&[event], "guessed"),
        Request::post("/hooks/slack", &payload),
        Request::post_bytes("/hooks/line", "{\"events\":[]}"),
        Request::post_bytes("/hooks/slack", "").header("X-Slack-Signature", "v0=00"),
    ] {
        assert_not_signed(&house.server.send(request).await);
    }
    let why = house.refusals(5).await;
    let expected =
        ["forged via slack", "forged via line", "forged via slack", "forged via line", "forged via slack"];
    assert_eq!(why, expected);
    assert_eq!(house.status(&action).await, "pending");
    assert!(house.provider.heard().is_empty());
}

#[tokio::test]
async fn replayed_and_late_requests_change_nothing_and_are_on_record() {
    let house = House::start().await;
    let (one, two) = (house.held("send_email").await, house.held("run_tests").await);
    let at = house.now();
    let first = from_slack(&press(&house, "ANN", "decide:approve", &one), at, SIGNING);
    house.words(first.clone()).await;
    house.server.send(first.clone()).await.ok(200);
    assert_eq!(house.refusals(1).await, ["replayed via slack"]);
    // Kept for later: Slack signed it, but that was a while ago.
    let kept = from_slack(&press(&house, "ANN", "decide:approve", &two), at, SIGNING);
    let kept_tap = from_line(&[tap(&house, "E1", Some("ANN"), "approve", &two)], CHANNEL);
    house.server.jump(Duration::from_secs(301));
    assert_not_signed(&house.server.send(kept).await);
    house.server.jump(Duration::from_secs(25 * 3600));
    house.server.send(kept_tap).await.ok(200);
    assert_eq!(house.refusals(3).await[1..], ["late via slack", "late via line"]);
    assert_eq!(house.audit("decided").await.len(), 1);
}

#[tokio::test]
async fn a_flood_of_forgeries_does_not_fill_the_log() {
    let house = House::start().await;
    let before = house.server.newest_seq().await;
    for n in 0..200 {
        let answer = house.server.send(Request::post("/hooks/slack", &json!({"n": n}))).await;
        assert_not_signed(&answer);
    }
    assert_eq!(house.server.newest_seq().await, before + 20);
    house.server.jump(Duration::from_secs(61));
    house.server.send(Request::post("/hooks/slack", &json!({}))).await;
    assert_eq!(house.audit("inbound_refused").await[0]["unrecorded"], 180);
}

#[tokio::test]
async fn a_flood_of_forgeries_does_not_keep_a_stranger_off_the_record() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    for n in 0..50 {
        assert_not_signed(&house.server.send(Request::post("/hooks/slack", &json!({"n": n}))).await);
    }
    let payload = press(&house, "EVE", "decide:approve", &action);
    house.words(from_slack(&payload, house.now(), SIGNING)).await;
    let why = house.refusals(21).await;
    assert_eq!(why.last().map(String::as_str), Some("stranger via slack"));
}

#[tokio::test]
async fn an_agents_credential_is_worth_nothing_here_and_other_channels_are_not_there() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    let payload = press(&house, "ANN", "decide:approve", &action);
    for token in [&house.server.riley, &house.server.ada] {
        assert_not_signed(&house.server.send(Request::post("/hooks/slack", &payload).by(token)).await);
    }
    for path in ["/hooks/other", "/hooks/Slack", "/hooks/slack%20"] {
        house.server.send(Request::post(path, &payload)).await.problem(404, "not_found");
    }
    let huge = Request::post_bytes("/hooks/slack", "x".repeat(1024 * 1024 + 1));
    house.server.send(huge).await.problem(413, "body_too_large");
    assert_eq!(house.status(&action).await, "pending");
}

#[tokio::test]
async fn a_provider_that_cannot_be_answered_changes_nothing_about_the_decision() {
    let house = House::start().await;
    let action = house.held("send_email").await;
    house.provider.change(|_, _| banksman_faults::Conduct::HangUp);
    let payload = press(&house, "ANN", "decide:approve", &action);
    house.server.send(from_slack(&payload, house.now(), SIGNING)).await.ok(200);
    house.told(0).await;
    assert_eq!(house.status(&action).await, "authorised");
}
