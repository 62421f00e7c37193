//! What the README tells a newcomer to paste works as it stands there.

use std::process::Command;

use banksman_core::Status;

use crate::help::stdout;
use crate::installation::{AMBIENT, Installation, said};

/// Everything that is to be pasted once the server runs, as one script.
fn quickstart() -> String {
    let readme = std::fs::read_to_string("../../README.md").unwrap();
    let (_, rest) = readme.split_once("## Quickstart").unwrap();
    let (chapter, _) = rest.split_once("\n## ").unwrap();
    let blocks: Vec<&str> =
        chapter.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.first(), Some(&"banksman serve\n"), "the first is the server");
    assert_eq!(blocks.len(), 4);
    blocks[1..].concat()
}

#[test]
fn what_the_readme_shows_a_newcomer_can_be_pasted() {
    let installation = Installation::new();
    let server = installation.serve();
    let script = quickstart();
    assert_eq!(script.matches("http://127.0.0.1:7447").count(), 3, "{script}");
    assert_eq!(script.matches("banksman approve \"$ID\"").count(), 1, "{script}");
    // Another port than everybody's, and nobody is there to answer `y`.
    let script = script
        .replace("http://127.0.0.1:7447", server.url())
        .replace("banksman approve \"$ID\"", "banksman approve \"$ID\" --yes");
    let binary = env!("CARGO_BIN_EXE_banksman");
    let folder = std::path::Path::new(binary).parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    for name in AMBIENT {
        shell.env_remove(name);
    }
    let output = shell
        .args(["-e", "-c", &script])
        .env("PATH", path)
        .env("BANKSMAN_DATA", installation.data())
        .env("BANKSMAN_URL", server.url())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let shown = stdout(&output);
    for expected in
        ["is held. What was asked for has the digest sha256:", "Approved: send_email may run once"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let record = shown.lines().rev().take(4).collect::<Vec<_>>().join("\n");
    for event in ["proposed", "decided", "claimed", "finished"] {
        assert!(record.contains(event), "{event}: {record}");
    }
    let reviewer = server.client(&server.first().reviewer_token);
    let actions = reviewer.actions(&Default::default()).unwrap().items;
    assert_eq!(actions.iter().map(|action| action.status).collect::<Vec<_>>(), [Status::Succeeded]);
}
