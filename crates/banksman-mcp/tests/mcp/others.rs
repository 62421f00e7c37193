//! Clients and servers by other hands: each with a held call that outlasts its client's patience.
//!
//! `cargo xtask test` installs them; without them these tests have nothing to run and say so.

use std::path::{Path, PathBuf};
use std::time::Duration;

use banksman_core::Status;
use serde_json::json;
use tokio::process::Command;

use crate::calls::text;
use crate::conformance::{node, packages};
use crate::peer::Peer;
use crate::world::World;

/// Longer than the clients wait for one answer.
const A_WHILE: Duration = Duration::from_secs(5);

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

/// Runs a client, approves after a while, and takes what it printed.
async fn with_a_held_call(mut command: Command) {
    let peer = Peer::start().await;
    let config = format!("{}clients: [{{name: '*', window: 2s}}]\n", peer.config());
    let world = World::start(&config).await;
    command.env("URL", format!("http://{}/mcp", world.address)).env("TOKEN", &world.agent);
    let approving = async {
        let case = world.pending().await;
        tokio::time::sleep(A_WHILE).await;
        assert!(peer.calls().is_empty());
        world.decide(&case, banksman_core::Decision::Approve, Default::default()).await;
    };
    let (output, ()) = tokio::join!(command.output(), approving);
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), r#"ran with {"to":"ada"}"#, "{errors}");
    assert_eq!(peer.calls().len(), 1);
    assert_eq!(world.count(Status::Succeeded).await, 1);
}

#[tokio::test]
async fn the_python_client() {
    let Some(packages) = packages() else { return };
    let mut command = Command::new(packages.join("python/bin/python"));
    command.arg(script("held.py"));
    with_a_held_call(command).await;
}

/// A script of ours beside the packages that it imports.
fn beside(packages: &Path, name: &str) -> Command {
    let copy = packages.join(format!("{}-{name}", std::process::id()));
    std::fs::copy(script(name), &copy).unwrap();
    let mut command = Command::new(node(packages));
    command.arg(copy);
    command
}

#[tokio::test]
async fn the_typescript_client_of_era_one() {
    let Some(packages) = packages() else { return };
    with_a_held_call(beside(&packages, "held_one.mjs")).await;
}

#[tokio::test]
async fn the_typescript_client_of_era_two() {
    let Some(packages) = packages() else { return };
    with_a_held_call(beside(&packages, "held_two.mjs")).await;
}

#[tokio::test]
async fn the_inspector() {
    let Some(packages) = packages() else { return };
    let peer = Peer::start().await;
    let config = format!("{}clients: [{{name: '*', window: 2s}}]\n", peer.config());
    let world = World::start(&config).await;
    let run = || {
        let mut command = Command::new(node(&packages));
        command
            .arg(
                packages.join("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
            )
            .args(["--cli", &format!("http://{}/mcp", world.address), "--transport", "http"])
            .args(["--header", &format!("Authorization: Bearer {}", world.agent)])
            .args(["--method", "tools/call", "--tool-name", "send", "--tool-arg", "to=ada"]);
        command
    };
    let held = run().output().await.unwrap();
    let said = String::from_utf8_lossy(&held.stdout).into_owned();
    assert!(said.contains("PENDING, NOT EXECUTED"), "{said} {}", String::from_utf8_lossy(&held.stderr));
    let id = world.approve().await;
    world.becomes(id, Status::Succeeded).await;
    // The same command again joins, and gets the result of the one that ran.
    let done = run().output().await.unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("ran with"), "{said} {}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(peer.calls().len(), 1);
}

#[tokio::test]
async fn the_filesystem_server() {
    let Some(packages) = packages() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = packages.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let words = [node(&packages), server, folder.path().canonicalize().unwrap()]
        .map(|word| format!("'{}'", word.display()));
    let config = format!("version: 1\nupstreams: {{files: {{command: [{}]}}}}\n", words.join(", "));
    let world = World::start(&config).await;
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
    let server = packages.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let words = [node(&packages), server].map(|word| format!("'{}'", word.display()));
    let config = format!("version: 1\nupstreams: {{all: {{command: [{}, stdio]}}}}\n", words.join(", "));
    let world = World::start(&config).await;
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
