//! Servers that are programs, and several servers behind one endpoint.

use std::path::PathBuf;
use std::time::Duration;

use banksman_core::Status;
use http::Method;
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use crate::calls::text;
use crate::peer::Peer;
use crate::world::World;

/// A program beside this one that `cargo` has built with it.
pub(crate) fn example(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().unwrap().parent().unwrap().join("examples").join(name)
}

pub(crate) fn program() -> PathBuf {
    example("stdio_peer")
}

pub(crate) fn config() -> String {
    format!(
        "version: 1\nupstreams:\n  prog: {{command: ['{}'], env: {{PEER_SECRET: hidden}}}}\n",
        program().display()
    )
}

pub(crate) fn both(peer: &Peer) -> String {
    format!("{}  prog: {{command: ['{}']}}\n", peer.config(), program().display())
}

/// A server that heeds neither the end of its input nor a signal, and notes each time that it is started.
struct Stubborn(tempfile::TempDir);

impl Stubborn {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // It stays as long as its folder: a test is over before all that it started is.
        let script = "trap '' TERM\necho $$ >> \"$2\"\n\"$1\"\nwhile [ -e \"$0\" ]; do sleep 1; done\n";
        std::fs::write(folder.path().join("server.sh"), script).unwrap();
        Self(folder)
    }

    fn config(&self) -> String {
        let (script, pids) = (self.0.path().join("server.sh"), self.0.path().join("pids"));
        let words = [&script, &program(), &pids].map(|word| format!("'{}'", word.display()));
        format!("version: 1\nupstreams: {{prog: {{command: [sh, {}]}}}}\n", words.join(", "))
    }

    fn started(&self) -> Vec<i32> {
        let pids = std::fs::read_to_string(self.0.path().join("pids")).unwrap();
        pids.lines().map(|pid| pid.parse().unwrap()).collect()
    }

    /// How many are still there; one that ended and was not waited for is.
    fn left(&self) -> usize {
        let is_there = |pid: &i32| test_kill_process(Pid::from_raw(*pid).unwrap()).is_ok();
        self.started().iter().filter(|pid| is_there(pid)).count()
    }
}

#[tokio::test]
async fn a_program_that_does_not_end_with_its_session_is_made_to() {
    let stubborn = Stubborn::new();
    let world = World::start(&stubborn.config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    assert_eq!(text(&client.call(1, "echo", json!({})).await), "{}");
    // One is the session's; Banksman asks for tools in another, which stays.
    assert_eq!((stubborn.started().len(), stubborn.left()), (2, 2));
    assert_eq!(client.send(Method::DELETE, "").await.status, 204);
    for _ in 0..150 {
        if stubborn.left() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it is still there");
}

#[tokio::test]
async fn sessions_that_are_ended_at_once_do_not_add_up_to_more_programs_than_an_agent_may_have() {
    let stubborn = Stubborn::new();
    let world = World::start(&stubborn.config()).await;
    let mut opened = 0;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    for _ in 0..70 {
        let mut client = world.client("/mcp");
        let answer = client.post(&hello).await;
        let Some(session) = answer.headers.get("mcp-session-id") else {
            assert_eq!(answer.status, 502);
            let said = answer.last().await;
            assert!(said["error"]["message"].as_str().unwrap().contains("64 programs"), "{said}");
            continue;
        };
        client.session = Some(session.to_str().unwrap().to_owned());
        opened += 1;
        assert_eq!(client.send(Method::DELETE, "").await.status, 204);
        // On a slow machine the first are gone before the last are started.
        assert!(stubborn.left() <= 64);
    }
    assert_eq!(stubborn.started().len(), opened, "nothing is started only to be refused");
    // Another agent is not in their way.
    assert_eq!(world.other_client("/mcp").post(&hello).await.status, 200);
}

#[tokio::test]
async fn each_session_has_a_program_of_its_own() {
    let world = World::start(&config()).await;
    let (mut one, mut two) = (world.client("/mcp"), world.client("/mcp"));
    let said = one.initialize("test", json!({})).await;
    assert_eq!(said["result"]["serverInfo"]["name"], "stdio-peer");
    two.initialize("test", json!({})).await;
    let first = text(&one.call(1, "pid", json!({})).await).to_owned();
    assert_ne!(first, text(&two.call(1, "pid", json!({})).await));
    assert_eq!(text(&one.call(2, "pid", json!({})).await), first);
    assert_eq!(text(&one.call(3, "env", json!({})).await), "hidden");
    // A message over several lines is one line for the program.
    let pretty = serde_json::to_string_pretty(&crate::client::call(4, "echo", json!({"a": "b\nc"}))).unwrap();
    let answer = one.send(Method::POST, pretty).await.last().await;
    assert_eq!(text(&answer), r#"{"a":"b\nc"}"#);
}

#[tokio::test]
async fn a_program_that_dies_is_started_again_and_the_call_it_died_of_is_not_repeated() {
    let world = World::start(&config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let first = text(&client.call(1, "pid", json!({})).await).to_owned();
    let lost = client.call(2, "die", json!({})).await;
    assert!(text(&lost).starts_with("UNKNOWN"), "{lost}");
    assert_eq!(world.count(Status::Executing).await, 1, "until its lease ends");
    let second = text(&client.call(3, "pid", json!({})).await).to_owned();
    assert_ne!(first, second);
}

#[tokio::test]
async fn what_a_program_asks_and_says_reaches_its_client() {
    let world = World::start(&config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({"roots": {}})).await;
    let mut answer = client.start(1, "ask", json!({})).await;
    let asked = answer.next().await.unwrap();
    assert_eq!(asked["method"], "roots/list");
    let roots = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": ["here"]}});
    assert_eq!(client.post(&roots).await.status, 202);
    assert_eq!(text(&answer.last().await), r#"roots: ["here"]"#);
    let talk = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "talk", "arguments": {}, "_meta": {"progressToken": 5}}});
    let mut answer = client.post(&talk).await;
    assert_eq!(answer.next().await.unwrap()["params"]["progressToken"], 5);
    assert_eq!(text(&answer.last().await), "talked");
    client.call(3, "change", json!({})).await;
    let mut listening = client.send(Method::GET, "").await;
    assert_eq!(listening.next().await.unwrap()["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_program_sees_what_it_needs_of_our_environment_and_what_is_configured() {
    // The test runner gives us this, as an operator gives a server the credentials of others.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let world = World::start(&config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let answer = client.call(1, "environment", json!({})).await;
    let seen: Vec<&str> = text(&answer).split(' ').collect();
    assert!(seen.contains(&"PATH") && seen.contains(&"PEER_SECRET"), "{seen:?}");
    let known = [
        "HOME",
        "PATH",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TMP",
        "TEMP",
        "LD_LIBRARY_PATH",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "PEER_SECRET",
    ];
    for name in seen {
        assert!(known.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_"), "{name}");
    }
}

#[tokio::test]
async fn an_answer_arrives_however_much_its_program_says_before_it() {
    let world = World::start(&config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let quick = client.start(1, "flood", json!({"count": 500})).await;
    assert_eq!(text(&quick.last().await), "flooded");
    // This one does not read for a while, and neither its connection nor its queue has room for all of it.
    let slow = client.start(2, "flood", json!({"count": 20_000})).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(text(&slow.last().await), "flooded");
    for _ in 0..500 {
        if world.count(Status::Succeeded).await == 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody knows how it ended");
}

#[tokio::test]
async fn what_a_program_asks_is_not_lost_to_a_request_that_only_wants_its_answer() {
    let world = World::start(&config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({"roots": {}})).await;
    let call = {
        let client = client.clone();
        tokio::spawn(async move {
            let mut answer = client.start(1, "ask_when_listed", json!({})).await;
            let asked = answer.next().await.unwrap();
            assert_eq!(asked["method"], "roots/list");
            let roots = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": ["here"]}});
            assert_eq!(client.post(&roots).await.status, 202);
            answer.last().await
        })
    };
    while world.count(Status::Executing).await == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let list = client.post(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await.last().await;
    assert_eq!(list["result"]["tools"][0]["name"], "echo");
    assert_eq!(text(&call.await.unwrap()), r#"roots: ["here"]"#);
}

#[tokio::test]
async fn a_server_that_a_session_meets_later_hears_what_level_of_logs_it_wants() {
    let peer = Peer::start().await;
    let world = World::start(&both(&peer)).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    assert_eq!(text(&client.call(1, "peer__echo", json!({})).await), "ran with {}");
    let level =
        json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "warning"}});
    assert_eq!(client.post(&level).await.last().await["result"], json!({}));
    assert_eq!(text(&client.call(3, "prog__level", json!({})).await), "warning");
}

#[tokio::test]
async fn a_held_call_to_a_program_runs_in_its_own_session() {
    let world = World::start(&config()).await;
    let mut client = world.client("/mcp/prog");
    client.initialize("test", json!({})).await;
    let answer = client.start(1, "send", json!({"to": "ada"})).await;
    world.approve().await;
    assert_eq!(text(&answer.last().await), r#"{"to":"ada"}"#);
}

#[tokio::test]
async fn a_session_with_a_program_survives_a_restart() {
    let world = World::start(&config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    client.call(1, "pid", json!({})).await;
    let world = world.restart().await;
    assert_eq!(text(&client.call(2, "echo", json!({"a": 1})).await), r#"{"a":1}"#);
    assert_eq!(client.send(Method::DELETE, "").await.status, 204);
    assert_eq!(client.start(3, "echo", json!({})).await.status, 404);
    drop(world);
}

#[tokio::test]
async fn nobody_uses_the_session_of_another() {
    let world = World::start(&config()).await;
    let mut client = world.client("/mcp");
    client.initialize("test", json!({})).await;
    let mut thief = world.other_client("/mcp");
    thief.session = client.session.clone();
    assert_eq!(thief.start(1, "echo", json!({})).await.status, 404);
    assert_eq!(thief.send(Method::GET, "").await.status, 404);
    assert_eq!(thief.send(Method::DELETE, "").await.status, 404);
    // At another endpoint it is no session either.
    let mut elsewhere = world.client("/mcp/prog");
    elsewhere.session = client.session.clone();
    assert_eq!(elsewhere.start(1, "echo", json!({})).await.status, 404);
    assert_eq!(text(&client.call(2, "echo", json!({})).await), "{}");
}

#[tokio::test]
async fn a_client_of_era_two_speaks_to_a_program_of_era_one() {
    let world = World::start(&config()).await;
    let client = world.client("/mcp");
    let discovered = client.ask_two(1, "server/discover", json!({}), json!({})).await.last().await;
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]), "{discovered}");
    let list = client.ask_two(2, "tools/list", json!({}), json!({})).await.last().await;
    assert_eq!(list["result"]["ttlMs"], 0, "{list}");
    assert_eq!(list["result"]["tools"][0]["name"], "echo");
    let call = json!({"name": "echo", "arguments": {"n": 1}});
    let done = client.ask_two(3, "tools/call", call, json!({})).await.last().await;
    assert_eq!(text(&done), r#"{"n":1}"#);
    assert_eq!(done["result"]["resultType"], "complete");
}

#[tokio::test]
async fn clients_of_both_eras_speak_to_a_program_of_era_two() {
    let config = format!(
        "version: 1\nupstreams:\n  two: {{command: ['{0}'], env: {{PEER_ERA: two}}}}\n  prog: {{command: ['{0}']}}\n",
        program().display()
    );
    let world = World::start(&config).await;
    let mut client = world.client("/mcp/two");
    let said = client.initialize("test", json!({})).await;
    assert_eq!(said["result"]["instructions"], "Mind the gap", "{said}");
    assert_eq!(text(&client.call(1, "echo", json!({"a": 1})).await), r#"{"a":1}"#);
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(client.post(&list).await.last().await["result"]["tools"][0]["name"], "echo");
    let world = world.restart().await;
    assert_eq!(text(&client.call(3, "echo", json!({"a": 2})).await), r#"{"a":2}"#);
    let call = json!({"name": "echo", "arguments": {"a": 3}});
    let done = client.ask_two(4, "tools/call", call, json!({})).await.last().await;
    assert_eq!(text(&done), r#"{"a":3}"#);
    let mut both = world.client("/mcp");
    both.initialize("test", json!({})).await;
    assert_eq!(text(&both.call(6, "two__echo", json!({"a": 4})).await), r#"{"a":4}"#);
    assert_eq!(text(&both.call(7, "prog__echo", json!({"a": 5})).await), r#"{"a":5}"#);
}

#[tokio::test]
async fn several_servers_are_one_with_their_tools_told_apart() {
    let peer = Peer::start().await;
    let world = World::start(&both(&peer)).await;
    let mut client = world.client("/mcp");
    let said = client.initialize("test", json!({})).await;
    assert_eq!(said["result"]["serverInfo"]["name"], "banksman");
    let list = client.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await.last().await;
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(&names[..5], ["peer__echo", "peer__send", "peer__send_ask", "prog__echo", "prog__pid"]);
    assert_eq!(*names.last().unwrap(), "banksman_wait");
    assert_eq!(text(&client.call(2, "peer__echo", json!({"a": 1})).await), r#"ran with {"a":1}"#);
    assert_eq!(text(&client.call(3, "prog__echo", json!({"a": 1})).await), r#"{"a":1}"#);
    let sent: Value = serde_json::from_str(&peer.calls()[0]).unwrap();
    assert_eq!(sent["params"]["name"], "echo", "its own name");
    for unknown in ["echo", "nobody__echo", "__echo"] {
        assert_eq!(client.call(4, unknown, json!({})).await["error"]["code"], -32602, "{unknown}");
    }
    // Blocked is blocked under any name, and the same tool of two servers is two actions.
    assert!(text(&client.call(5, "peer__wipe", json!({})).await).starts_with("BLOCKED"));
    let one = client.start(6, "peer__send", json!({})).await;
    let first = world.pending().await;
    let two = client.start(7, "prog__send", json!({})).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(world.count(Status::Pending).await, 2);
    world.decide(&first, banksman_core::Decision::Approve, Default::default()).await;
    assert_eq!(text(&one.last().await), "ran with {}");
    assert_eq!(peer.calls().len(), 2);
    world.approve().await;
    assert_eq!(text(&two.last().await), "{}");
    // What a server asks finds back to it.
    let mut asking = client.start(8, "prog__ask", json!({})).await;
    let asked = asking.next().await.unwrap();
    assert_eq!(asked["id"], "prog__0");
    let roots = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}});
    assert_eq!(client.post(&roots).await.status, 202);
    assert_eq!(text(&asking.last().await), "roots: []");
    // A name that two servers could mean is found by its own path, too.
    let mut alone = world.client("/mcp/prog");
    alone.initialize("test", json!({})).await;
    assert_eq!(text(&alone.call(9, "echo", json!({})).await), "{}");
}
