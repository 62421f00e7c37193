//! Servers that close a stream before its answer, and are asked for the rest.

use banksman_core::Status;
use serde_json::json;

use crate::calls::text;
use crate::peer::Peer;
use crate::world::World;

#[tokio::test]
async fn a_server_that_closes_its_stream_is_asked_for_the_rest_in_the_same_session() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let mut answer = client.start(1, "polled", json!({})).await;
    assert_eq!(answer.next().await.unwrap()["params"]["data"], "half");
    assert_eq!(text(&answer.last().await), "polled");
    assert_eq!(
        text(&client.call(2, "broken", json!({})).await),
        "mended",
        "the half of an event is not in it"
    );
    assert_eq!(peer.calls().len(), 2, "nothing is called twice");
    let seen = peer.seen.headers.lock().unwrap();
    let bodies = peer.seen.bodies.lock().unwrap();
    let called = bodies.iter().position(|body| body.contains("tools/call")).unwrap();
    let session = &seen[called]["mcp-session-id"];
    let fetched: Vec<_> =
        seen.iter().filter_map(|headers| Some((headers.get("last-event-id")?, headers))).collect();
    let ids: Vec<&str> = fetched.iter().map(|(id, _)| id.to_str().unwrap()).collect();
    assert_eq!(ids, ["p-1", "p-2", "b-1"]);
    for (_, headers) in fetched {
        assert_eq!(headers["mcp-session-id"], session);
        assert_eq!(headers["accept"], "text/event-stream");
        assert_eq!(headers["authorization"], "Bearer upstream-secret");
    }
}

#[tokio::test]
async fn a_plain_clients_call_is_seen_through_as_well() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    assert_eq!(text(&world.client("/mcp").plain().call(1, "polled", json!({})).await), "polled");
    assert_eq!(peer.calls().len(), 1);
}

#[tokio::test]
async fn a_stream_that_breaks_and_names_no_place_to_go_on_is_lost() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let answer = client.call(1, "broken_for_good", json!({})).await;
    assert!(text(&answer).starts_with("UNKNOWN"), "{answer}");
    assert_eq!(world.count(Status::Executing).await, 1);
}

#[tokio::test]
async fn a_server_that_does_not_say_when_is_asked_for_the_rest_while_its_client_listens() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let called = client.call(1, "polled_slowly", json!({}));
    let done = tokio::time::timeout(std::time::Duration::from_secs(10), called).await.expect("no answer");
    assert_eq!(text(&done), "polled slowly");
}
