//! Headers that say something else than the body.

use http::Method;
use serde_json::{Value, json};

use crate::client::{Client, ERA_TWO};
use crate::peer::Peer;
use crate::programs;
use crate::world::World;

fn body(method: &str, params: Value, version: &str) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The status, and the code of the error if there is one.
async fn answered(client: &Client, headers: &[(&'static str, &str)], body: &Value) -> (u16, Option<i64>) {
    let mut client = client.clone();
    for (name, value) in headers {
        client.headers.insert(*name, value.parse().unwrap());
    }
    let answer = client.post(body).await;
    (answer.status.as_u16(), answer.last().await["error"]["code"].as_i64())
}

#[tokio::test]
async fn whoever_goes_by_the_headers_goes_by_what_the_body_says() {
    let peer = Peer::start().await;
    let one = World::start(&peer.config()).await;
    let program = World::start(&programs::config()).await;
    let both = World::start(&programs::both(&peer)).await;
    let version = ("mcp-protocol-version", ERA_TWO);
    for (world, tool) in [(&one, "echo"), (&program, "echo"), (&both, "peer__echo")] {
        let client = world.client("/mcp");
        let list = body("tools/list", json!({}), ERA_TWO);
        let listing = ("mcp-method", "tools/list");
        assert_eq!(answered(&client, &[version, listing], &list).await, (200, None));
        for (headers, code) in [
            (&[version, ("mcp-method", "ping")][..], -32020),
            (&[version], -32020),
            (&[listing], -32020),
            (&[("mcp-protocol-version", "2025-11-25"), listing], -32020),
        ] {
            assert_eq!(answered(&client, headers, &list).await, (400, Some(code)), "{headers:?}");
        }
        let newer = body("tools/list", json!({}), "2027-01-01");
        let headers = [("mcp-protocol-version", "2027-01-01"), listing];
        assert_eq!(answered(&client, &headers, &newer).await, (400, Some(-32022)));
        let call = body("tools/call", json!({"name": tool, "arguments": {}}), ERA_TWO);
        let calling = ("mcp-method", "tools/call");
        for headers in [&[version, calling][..], &[version, calling, ("mcp-name", "other")]] {
            assert_eq!(answered(&client, headers, &call).await, (400, Some(-32020)), "{headers:?}");
        }
        assert!(peer.calls().is_empty());
    }
    let call = body("tools/call", json!({"name": "peer__echo", "arguments": {}}), ERA_TWO);
    let headers = [version, ("mcp-method", "tools/call"), ("mcp-name", "peer__echo")];
    assert_eq!(answered(&both.client("/mcp"), &headers, &call).await, (200, None));
}

#[tokio::test]
async fn a_session_is_of_a_revision_that_there_is() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for known in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        assert_eq!(
            answered(&client, &[("mcp-protocol-version", known)], &list).await,
            (200, None),
            "{known}"
        );
    }
    for unknown in ["1999-01-01", "nonsense", "2027-01-01"] {
        let headers = [("mcp-protocol-version", unknown)];
        assert_eq!(answered(&client, &headers, &list).await, (400, Some(-32022)), "{unknown}");
        client.headers.insert("mcp-protocol-version", unknown.parse().unwrap());
        for method in [Method::GET, Method::DELETE] {
            assert_eq!(client.send(method, "").await.status, 400, "{unknown}");
        }
    }
}

#[tokio::test]
async fn an_argument_in_a_header_is_the_argument_of_the_body() {
    let peer = Peer::start().await;
    let world = World::start(&peer.config()).await;
    let client = world.client("/mcp");
    let headers = |more: &[(&'static str, &'static str)]| {
        let mut all =
            vec![("mcp-protocol-version", ERA_TWO), ("mcp-method", "tools/call"), ("mcp-name", "send_ask")];
        all.extend(more);
        all
    };
    let call = |args: Value| body("tools/call", json!({"name": "send_ask", "arguments": args}), ERA_TWO);
    let to_ada = call(json!({"to": "ada"}));
    for (more, body) in [
        (&[("mcp-param-to", "everyone")][..], &to_ada),
        (&[], &to_ada),
        (&[("mcp-param-to", "ada")], &call(json!({}))),
    ] {
        assert_eq!(answered(&client, &headers(more), body).await, (400, Some(-32020)), "{more:?}");
    }
    assert!(world.engine.actions(banksman_store::CaseQuery::pending(10)).await.unwrap().is_empty());
    let (said, _) = tokio::join!(
        async { answered(&client, &headers(&[("mcp-param-to", "ada")]), &to_ada).await },
        world.approve()
    );
    assert_eq!(said, (200, None));
}
