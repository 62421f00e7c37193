//! Clients by other hands, each with a call that is held for longer than the client waits for an answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use banksman_core::{Decision, Status};
use tokio::process::Command;

use crate::conformance::{node, packages};
use crate::peer::Peer;
use crate::world::World;

/// How long clients wait that were told how long, and for how long their calls are held.
const TOLD: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(5));

/// The TypeScript client gives up after 60 seconds, and so does the inspector, which is made of it.
const LONGER_THAN_TYPESCRIPT: Duration = Duration::from_secs(63);

/// The Python client has no limit, but 300 seconds of silence end its connection.
const LONGER_THAN_PYTHON: Duration = Duration::from_secs(305);

fn script(name: &str) -> PathBuf {
    std::path::absolute("tests/clients").unwrap().join(name)
}

fn python(packages: &Path) -> Command {
    let mut command = Command::new(packages.join("python/bin/python"));
    command.arg(script("held.py"));
    command
}

/// A script of ours, beside the packages that it imports for as long as it runs.
pub(crate) struct Beside(PathBuf);

impl Beside {
    pub(crate) fn new(packages: &Path, name: &str, to: &str) -> Self {
        let copy = packages.join(format!("{}-{to}-{name}", std::process::id()));
        std::fs::copy(script(name), &copy).unwrap();
        Self(copy)
    }

    pub(crate) fn run(&self, packages: &Path) -> Command {
        let mut command = Command::new(node(packages));
        command.arg(&self.0);
        command
    }
}

impl Beside {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn inspector(packages: &Path, world: &World, era: &str, to: &str) -> Command {
    let launcher = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let mut command = Command::new(node(packages));
    command
        .arg(packages.join(launcher))
        .args(["--cli", &format!("http://{}/mcp", world.address), "--transport", "http"])
        .args(["--protocol-era", era, "--header", &format!("Authorization: Bearer {}", world.agent)])
        .args(["--method", "tools/call", "--tool-name", "send", "--tool-arg", &format!("to={to}")]);
    command
}

/// Runs a client to its end, and says what it printed.
pub(crate) async fn printed(mut command: Command, world: &World, to: &str) -> String {
    command
        .env("URL", format!("http://{}/mcp", world.address))
        .env("TOKEN", &world.agent)
        .env("TO", to)
        .kill_on_drop(true);
    let output = command.output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(!said.is_empty(), "{to}: {errors}");
    said
}

/// The result that only a call that ran has.
fn ran(to: &str) -> String {
    format!(r#"ran with {{"to":"{to}"}}"#)
}

/// A client that was told to be impatient, before a gateway that was told so too.
async fn with_a_held_call(mut command: Command) {
    let (patience, held) = TOLD;
    let peer = Peer::start().await;
    let config = format!("{}clients: [{{name: '*', window: 2s}}]\n", peer.config());
    let world = World::start(&config).await;
    command.env("PATIENCE_S", patience.as_secs().to_string());
    let approving = async {
        let case = world.pending().await;
        tokio::time::sleep(held).await;
        assert!(peer.calls().is_empty());
        world.decide(&case, Decision::Approve, Default::default()).await;
    };
    let (said, ()) = tokio::join!(printed(command, &world, "ada"), approving);
    assert_eq!(said, ran("ada"));
    assert_eq!(peer.calls().len(), 1);
    assert_eq!(world.count(Status::Succeeded).await, 1);
}

#[tokio::test]
async fn the_python_client() {
    let Some(packages) = packages() else { return };
    with_a_held_call(python(&packages)).await;
}

#[tokio::test]
async fn the_typescript_client_of_era_one() {
    let Some(packages) = packages() else { return };
    let beside = Beside::new(&packages, "held_one.mjs", "told");
    with_a_held_call(beside.run(&packages)).await;
}

#[tokio::test]
async fn the_typescript_client_of_era_two() {
    let Some(packages) = packages() else { return };
    let beside = Beside::new(&packages, "held_two.mjs", "told");
    with_a_held_call(beside.run(&packages)).await;
}

#[tokio::test]
async fn the_inspector() {
    let Some(packages) = packages() else { return };
    let peer = Peer::start().await;
    let config = format!("{}clients: [{{name: '*', window: 2s}}]\n", peer.config());
    let world = World::start(&config).await;
    let run = async || printed(inspector(&packages, &world, "legacy", "ada"), &world, "ada").await;
    let said = run().await;
    assert!(said.contains("PENDING, NOT EXECUTED"), "{said}");
    let id = world.approve().await;
    world.becomes(id, Status::Succeeded).await;
    // The same command again joins, and gets the result of the one that ran.
    let said = run().await;
    assert!(said.contains("ran with"), "{said}");
    assert_eq!(peer.calls().len(), 1);
}

/// All at once, because it takes as long as the most patient of them waits.
///
/// A minute is what the ordinary run of the suite can spare: it outlasts the TypeScript client and the inspector, and the
/// Python client hears a comment every ten seconds as it would for hours. `BANKSMAN_LONG`, which `cargo xtask test
/// --long` sets, holds for longer than the five minutes of silence that end the Python client, and than the window that
/// we keep its stream open.
#[tokio::test]
async fn clients_as_they_come_get_the_result_of_a_call_that_is_held_for_longer_than_they_wait() {
    let Some(packages) = packages() else { return };
    let long = std::env::var_os("BANKSMAN_LONG").is_some();
    let held = if long { LONGER_THAN_PYTHON } else { LONGER_THAN_TYPESCRIPT };
    let peer = Peer::start().await;
    // Nothing is configured for any of them.
    let world = World::start(&peer.config()).await;
    let (one, two) = (
        Beside::new(&packages, "held_one.mjs", "as-it-comes"),
        Beside::new(&packages, "held_two.mjs", "as-it-comes"),
    );
    let client = async |mut command: Command, to: &str| {
        // So that it can tell us if a newer version of it waits for longer than this.
        command.env("HELD_S", held.as_secs().to_string());
        assert_eq!(printed(command, &world, to).await, ran(to));
    };
    let inspect = async |era: &str, to: &str| {
        let said = printed(inspector(&packages, &world, era, to), &world, to).await;
        assert!(said.contains(r#"ran with {\"to\":"#) && said.contains(to), "{said}");
    };
    // In era one the inspector is told PENDING, and ends; whoever runs it again joins the same call.
    let inspect_again = async |to: &str| {
        let mut pending = 0;
        loop {
            let said = printed(inspector(&packages, &world, "legacy", to), &world, to).await;
            if !said.contains("PENDING, NOT EXECUTED") {
                assert!(said.contains(r#"ran with {\"to\":"#) && said.contains(to), "{said}");
                break;
            }
            pending += 1;
        }
        assert!(pending >= 1, "it was not held for longer than one run of it waits");
    };
    let everyone = 5;
    let approving = async {
        let cases = world.all_pending(everyone).await;
        tokio::time::sleep(held).await;
        assert!(peer.calls().is_empty());
        for case in &cases {
            world.decide(case, Decision::Approve, Default::default()).await;
        }
    };
    tokio::join!(
        approving,
        client(python(&packages), "python"),
        client(one.run(&packages), "typescript-one"),
        client(two.run(&packages), "typescript-two"),
        inspect("auto", "inspector-two"),
        inspect_again("inspector-one"),
    );
    assert_eq!(peer.calls().len(), everyone, "each ran once");
    assert_eq!(world.count(Status::Succeeded).await, everyone);
    assert_eq!(world.count(Status::Pending).await, 0);
}
