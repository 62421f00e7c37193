//! Single resources: whoever subscribed to one hears when it changes, whatever the server speaks and how many there are.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::between::heard_while;
use crate::calls::text;
use crate::client::{Answer, Client};
use crate::mood::{Mood, before};
use crate::programs;
use crate::world::World;

/// A server with sessions and one without.
fn config() -> String {
    format!(
        "version: 1\nupstreams:\n  one: {{command: ['{}']}}\n  two: {{command: ['{}'], env: {{PEER_ERA: two}}}}\n",
        programs::program().display(),
        programs::example("stateless_peer").display()
    )
}

async fn with_session(world: &World, path: &str) -> Client {
    let mut client = world.client(path);
    client.initialize("test", json!({})).await;
    client
}

/// A subscription of a client without a session, and what it is told that it will hear.
async fn listening(client: &Client, id: u64, uris: &[&str]) -> (Answer, Value) {
    let params = json!({"notifications": {"resourceSubscriptions": uris}});
    let mut heard = client.ask_two(id, "subscriptions/listen", params, json!({})).await;
    let acknowledged = heard.next().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    (heard, acknowledged["params"]["notifications"]["resourceSubscriptions"].clone())
}

async fn asked(client: &Client, method: &str, uri: &str) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": {"uri": uri}});
    client.post(&request).await.last().await
}

/// Lets the server say that all has changed that anybody subscribed to there; what that is.
async fn updated(client: &Client, tool: &str) -> Value {
    let call = json!({"name": tool, "arguments": {}});
    serde_json::from_str(text(&client.ask_two(2, "tools/call", call, json!({})).await.last().await)).unwrap()
}

fn is_update(said: &Value, uri: &str, subscription: Option<u64>) {
    let mut params = json!({"uri": uri, "title": "T"});
    if let Some(subscription) = subscription {
        params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": subscription});
    }
    let all = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params});
    assert_eq!(*said, all);
}

/// Until the server tells nobody of anything any more.
async fn comes_to_nothing(update: impl AsyncFn() -> Value) {
    for _ in 0..1000 {
        if update().await == json!([]) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it is subscribed to for nobody");
}

async fn silence(heard: &mut Answer) {
    let said = tokio::time::timeout(Duration::from_millis(200), heard.next()).await;
    assert!(said.is_err(), "{said:?}");
}

#[tokio::test]
async fn a_client_without_a_session_hears_of_a_resource_of_a_server_with_one() {
    let world = World::start(&config()).await;
    let client = world.client("/mcp/one");
    let (mut heard, told) = listening(&client, 7, &["stdio://note", "stdio://secret"]).await;
    // The server refuses the other.
    assert_eq!(told, json!(["stdio://note"]));
    assert_eq!(updated(&client, "update").await, json!(["stdio://note"]));
    is_update(&heard.next().await.unwrap(), "stdio://note", Some(7));
    // Another one subscribes to the same and goes: the first still hears, and once.
    let (other, _) = listening(&client, 8, &["stdio://note"]).await;
    drop(other);
    assert_eq!(updated(&client, "update").await, json!(["stdio://note"]));
    is_update(&heard.next().await.unwrap(), "stdio://note", Some(7));
    silence(&mut heard).await;
    // When nobody wants to hear any more, the server is told.
    drop(heard);
    comes_to_nothing(async || updated(&client, "update").await).await;
}

#[tokio::test]
async fn a_session_hears_of_a_resource_of_a_server_without_any() {
    for path in ["/mcp/two", "/mcp"] {
        let world = World::start(&config()).await;
        let client = with_session(&world, path).await;
        let tool = if path == "/mcp" { "two__update" } else { "update" };
        let list = json!({"jsonrpc": "2.0", "id": 4, "method": "resources/list"});
        client.post(&list).await.last().await;
        let update = async || {
            let updated = client.call(3, tool, json!({})).await;
            serde_json::from_str::<Value>(text(&updated)).unwrap()
        };
        let mut heard = client.send(Method::GET, String::new()).await;
        assert!(heard.is_stream());
        assert_eq!(asked(&client, "resources/subscribe", "two://note").await["result"], json!({}), "{path}");
        let refused = asked(&client, "resources/subscribe", "two://secret").await;
        assert_eq!(refused["error"]["code"], -32602, "{path} {refused}");
        assert_eq!(update().await, json!(["two://note"]), "{path}");
        let again = async || drop(client.call(3, tool, json!({})).await);
        let mut said = heard_while(&mut heard, again).await;
        if path == "/mcp" && said["params"].get("title").is_none() {
            // The server was not listened to yet when it was subscribed to: nobody knows what became of it meanwhile.
            said = heard_while(&mut heard, again).await;
        }
        is_update(&said, "two://note", None);
        assert_eq!(
            asked(&client, "resources/unsubscribe", "two://note").await["result"],
            json!({}),
            "{path}"
        );
        comes_to_nothing(update).await;
        // What came of asking again and again.
        while tokio::time::timeout(Duration::from_millis(100), heard.next()).await.is_ok() {}
        update().await;
        silence(&mut heard).await;
        // Whoever subscribes before it listens hears as well.
        drop(heard);
        assert_eq!(asked(&client, "resources/subscribe", "two://note").await["result"], json!({}), "{path}");
        let mut heard = client.send(Method::GET, String::new()).await;
        // What became of it meanwhile nobody knows.
        let first = heard.next().await.unwrap();
        assert_eq!(first["params"], json!({"uri": "two://note"}), "{first}");
        is_update(&heard_while(&mut heard, again).await, "two://note", None);
        // The stream ends with its session.
        assert!(client.send(Method::DELETE, String::new()).await.status.is_success());
        let end =
            tokio::time::timeout(Duration::from_secs(5), async { while heard.next().await.is_some() {} });
        assert!(end.await.is_ok(), "{path}");
    }
}

#[tokio::test]
async fn behind_one_endpoint_each_resource_is_asked_of_the_server_that_has_it() {
    let world = World::start(&config()).await;
    let client = world.client("/mcp");
    let listed = client.ask_two(1, "resources/list", json!({}), json!({})).await.last().await;
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 4, "{listed}");
    let discovered = client.ask_two(1, "server/discover", json!({}), json!({})).await.last().await;
    assert_eq!(
        discovered["result"]["capabilities"]["resources"],
        json!({"subscribe": true, "listChanged": true})
    );
    let uris = ["stdio://note", "stdio://secret", "two://note", "two://secret", "nobody://knows"];
    let (mut heard, told) = listening(&client, 7, &uris).await;
    // What nobody has listed may be anybody's: the first server takes it.
    let mut told: Vec<String> = serde_json::from_value(told).unwrap();
    told.sort_unstable();
    assert_eq!(told, ["nobody://knows", "stdio://note", "two://note"]);
    let two = world.client("/mcp/two");
    // A client of the same agent, and of no concern to the other.
    let (mut beside, _) = listening(&two, 9, &["two://secret"]).await;
    // In the order in which they were asked for, which is none.
    let changed = updated(&client, "one__update").await;
    let changed = changed.as_array().unwrap();
    assert_eq!(changed.len(), 2, "{changed:?}");
    for uri in changed {
        is_update(&heard.next().await.unwrap(), uri.as_str().unwrap(), Some(7));
    }
    assert_eq!(updated(&client, "two__update").await, json!(["two://note"]));
    is_update(&heard.next().await.unwrap(), "two://note", Some(7));
    silence(&mut beside).await;
    silence(&mut heard).await;
}

#[tokio::test]
async fn behind_one_endpoint_a_session_hears_of_what_its_own_sessions_with_servers_say() {
    let world = World::start(&config()).await;
    let client = with_session(&world, "/mcp").await;
    for uri in ["stdio://note", "two://note"] {
        // Nobody has listed them: the first server that takes them.
        assert_eq!(asked(&client, "resources/subscribe", uri).await["result"], json!({}), "{uri}");
    }
    // What a program says while it works is heard with the answer.
    let mut heard = client.start(3, "one__update", json!({})).await;
    for uri in ["stdio://note", "two://note"] {
        is_update(&heard.next().await.unwrap(), uri, None);
    }
    assert_eq!(text(&heard.last().await), r#"["stdio://note","two://note"]"#);
}

#[tokio::test]
async fn what_is_of_no_use_is_refused_and_said() {
    let world = World::start(&config()).await;
    // Without a session there is nobody to tell.
    let plain = world.client("/mcp/two").plain();
    let refused = asked(&plain, "resources/subscribe", "two://note").await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("session"), "{refused}");
    // In the revision without sessions there is no such request, before whatever server.
    for path in ["/mcp", "/mcp/one", "/mcp/two"] {
        let client = world.client(path);
        let params = json!({"uri": "stdio://note"});
        let refused = client.ask_two(1, "resources/subscribe", params, json!({})).await.last().await;
        assert_eq!(refused["error"]["code"], -32601, "{path} {refused}");
    }
    let client = with_session(&world, "/mcp/two").await;
    let too_long = format!("two://{}", "x".repeat(3000));
    let refused = asked(&client, "resources/subscribe", &too_long).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("too long"), "{refused}");
    // So many are heard of by an agent, and no more.
    let many: Vec<String> = (0..300).map(|n| format!("stdio://{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let client = world.client("/mcp/one");
    let (first, told) = listening(&client, 7, &many[..200]).await;
    assert_eq!(told.as_array().unwrap().len(), 200);
    let (_second, told) = listening(&client, 8, &many[200..]).await;
    assert_eq!(told.as_array().unwrap().len(), 56);
    // Who goes makes room.
    drop(first);
    for _ in 0..500 {
        let (_third, told) = listening(&client, 9, &many[..100]).await;
        if told.as_array().is_some_and(|told| told.len() == 100) {
            return;
        }
    }
    panic!("there is no room again");
}

/// A server without sessions whose streams end as soon as they have begun; of `note://bad` it does not want to hear.
async fn breathless() -> Mood {
    Mood::start(|message, _| {
        let two = message["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some();
        let wanted = &message["params"]["notifications"];
        match message["method"].as_str().unwrap() {
            _ if !two => Mood::refused(message),
            "server/discover" => {
                let capabilities = json!({"tools": {}, "resources": {"subscribe": true}});
                Mood::said(message, &json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities}))
            }
            "subscriptions/listen" if wanted["resourceSubscriptions"] == json!(["note://bad"]) => {
                Mood::refused(message)
            }
            "subscriptions/listen" => {
                let params = json!({"notifications": wanted, "_meta": {"io.modelcontextprotocol/subscriptionId": message["id"]}});
                let said = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
                // Something else comes first.
                (200, format!("data:\n\ndata: {said}\n\n"))
            }
            _ => Mood::refused(message),
        }
    })
    .await
}

#[tokio::test]
async fn a_server_whose_streams_end_is_asked_again_and_what_it_refuses_is_not_others_loss() {
    let server = breathless().await;
    let world = before(&server).await;
    let client = with_session(&world, "/mcp").await;
    // Its lists are listened to by now, with pauses.
    let mut heard = client.send(Method::GET, String::new()).await;
    for _ in 0..2 {
        let refused = asked(&client, "resources/subscribe", "note://bad").await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert_eq!(asked(&client, "resources/subscribe", "note://good").await["result"], json!({}));
    }
    // Nobody knows what has become of it meanwhile, and of nothing else.
    let update = loop {
        let said = heard.next().await.unwrap();
        if said["method"] == "notifications/resources/updated" {
            break said;
        }
    };
    assert_eq!(update["params"], json!({"uri": "note://good"}));
}

#[tokio::test]
async fn a_server_that_says_nothing_on_its_own_account_tells_of_no_resource() {
    // It answers every request in its sessions, and has no standing stream.
    let server = Mood::start(|message, _| match message["method"].as_str().unwrap() {
        "initialize" => Mood::met(message),
        "server/discover" => Mood::refused(message),
        _ => Mood::said(message, &json!({})),
    })
    .await;
    let world = before(&server).await;
    let client = world.client("/mcp");
    let (_heard, told) = listening(&client, 7, &["note://good"]).await;
    assert_eq!(told, Value::Null);
}

#[tokio::test]
async fn whoever_took_it_is_told_that_nobody_wants_it_any_more() {
    // The first refuses what the second takes.
    let server = breathless().await;
    let config = format!(
        "version: 1\nupstreams:\n{}  one: {{command: ['{}']}}\n",
        server.config("a"),
        programs::program().display()
    );
    let world = World::start(&config).await;
    let client = with_session(&world, "/mcp").await;
    assert_eq!(asked(&client, "resources/subscribe", "note://bad").await["result"], json!({}));
    assert_eq!(text(&client.call(3, "one__update", json!({})).await), r#"["note://bad"]"#);
    assert_eq!(asked(&client, "resources/unsubscribe", "note://bad").await["result"], json!({}));
    assert_eq!(text(&client.call(3, "one__update", json!({})).await), "[]");
}
