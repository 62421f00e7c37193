//! Servers by other hands behind the gateway. Clients by other hands are in `patience.rs`.
//!
//! `cargo xtask test` installs them; without them these tests have nothing to run and say so.

use std::path::Path;

use serde_json::{Value, json};

use crate::calls::text;
use crate::conformance::{node, packages};
use crate::patience::{Beside, printed};
use crate::world::World;

/// Before a program that Node runs with these words.
async fn before(packages: &Path, words: &[&Path]) -> World {
    let node = node(packages);
    let words: Vec<String> =
        [&[node.as_path()], words].concat().iter().map(|word| format!("'{}'", word.display())).collect();
    World::start(&format!("version: 1\nupstreams: {{it: {{command: [{}]}}}}\n", words.join(", "))).await
}

async fn before_everything(packages: &Path) -> World {
    let server = packages.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    before(packages, &[&server, Path::new("stdio")]).await
}

#[tokio::test]
async fn the_filesystem_server() {
    let Some(packages) = packages() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = packages.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let world = before(&packages, &[&server, &folder.path().canonicalize().unwrap()]).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let path = folder.path().canonicalize().unwrap().join("note.txt");
    let written = client.call(1, "write_file", json!({"path": path, "content": "hello"})).await;
    assert!(text(&written).contains("Successfully"), "{written}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello");
    let read = client.call(2, "read_text_file", json!({"path": path})).await;
    assert!(text(&read).contains("hello"), "{read}");
}

#[tokio::test]
async fn the_everything_server() {
    let Some(packages) = packages() else { return };
    let world = before_everything(&packages).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let echoed = client.call(1, "echo", json!({"message": "hi"})).await;
    assert!(text(&echoed).contains("hi"), "{echoed}");
    let sum = client.call(2, "get-sum", json!({"a": 2, "b": 3})).await;
    assert!(text(&sum).contains('5'), "{sum}");
    for method in ["resources/list", "prompts/list", "resources/templates/list"] {
        let list = client.post(&json!({"jsonrpc": "2.0", "id": 3, "method": method})).await.last().await;
        assert!(list["result"].is_object(), "{method}: {list}");
    }
}

#[tokio::test]
async fn the_everything_server_asks_the_typescript_client_of_the_other_era() {
    let Some(packages) = packages() else { return };
    let world = before_everything(&packages).await;
    let client = Beside::new(&packages, "asked_two.mjs", "everything");
    let said = printed(client.run(&packages), &world, "all").await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["era"], "2026-07-28", "{said}");
    assert!(said["said"][0].as_str().unwrap().contains("sampled"), "{said}");
    assert!(said["said"][1].as_str().unwrap().contains("Ada"), "{said}");
    assert_eq!(said["progress"], 4, "{said}");
}

#[tokio::test]
async fn a_typescript_server_without_sessions_asks_the_typescript_client_with_one() {
    let Some(packages) = packages() else { return };
    let server = Beside::new(&packages, "asks.mjs", "server");
    let world = before(&packages, &[server.path()]).await;
    let client = Beside::new(&packages, "asked_one.mjs", "client");
    let said = printed(client.run(&packages), &world, "prod").await;
    assert_eq!(said, r#"{"asked":["Deploy to prod?"],"text":"deployed to prod"}"#);
}

#[tokio::test]
async fn the_typescript_client_hears_of_a_resource_of_the_everything_server_of_the_other_era() {
    let Some(packages) = packages() else { return };
    let world = before_everything(&packages).await;
    let client = Beside::new(&packages, "listens_two.mjs", "client");
    let said = printed(client.run(&packages), &world, "all").await;
    assert_eq!(said, r#"{"era":"2026-07-28","honored":1,"heard":true}"#);
}

#[tokio::test]
async fn the_typescript_client_hears_of_a_resource_of_a_typescript_server_of_the_other_era() {
    let Some(packages) = packages() else { return };
    let server = Beside::new(&packages, "updates.mjs", "server");
    let world = before(&packages, &[server.path()]).await;
    let client = Beside::new(&packages, "listens_one.mjs", "client");
    assert_eq!(printed(client.run(&packages), &world, "prod").await, "note://today");
}
