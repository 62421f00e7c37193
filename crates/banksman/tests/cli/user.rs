//! `banksman user` and `banksman audit verify`, beside a server that runs.

use serde_json::Value;

use crate::help::{stderr, stdout};
use crate::installation::{Installation, document, said};

#[test]
fn people_are_added_invited_locked_and_removed() {
    let installation = Installation::new();
    let _server = installation.serve();
    let added = installation.operator(&["user", "add", "ann", "--role", "finance", "--json"]);
    assert_eq!(added.status.code(), Some(0), "{}", said(&added));
    let added: Value = document(&added);
    assert_eq!((&added["person"]["name"], &added["person"]["kind"]), (&"ann".into(), &"reviewer".into()));
    let link = added["link"].as_str().unwrap();
    // Where passkeys work, whatever number the server listens on.
    assert!(link.starts_with("http://localhost:7447/join?code="), "{link}");
    let again =
        installation.operator(&["user", "invite", "ann", "--url", "https://banksman.example", "--json"]);
    let other = document::<Value>(&again)["link"].as_str().unwrap().to_owned();
    assert!(other.starts_with("https://banksman.example/join?code=") && other != link, "{other}");

    let list = stdout(&installation.operator(&["user", "list"]));
    assert!(list.contains("ann  [finance]  no way to sign in yet"), "{list}");
    for (command, words) in [
        (["user", "lock", "ann"], "ann is locked out."),
        (["user", "unlock", "ann"], "ann may come in again."),
        (["user", "remove", "ann"], "ann is removed."),
    ] {
        let done = installation.operator(&command);
        assert_eq!(stdout(&done).trim(), words, "{}", said(&done));
    }
    let shown: serde_json::Value = document(&installation.operator(&["user", "show", "ann", "--json"]));
    assert_eq!(shown["standing"], "removed");
    for refused in [&["user", "unlock", "ann"][..], &["user", "add", "ann"], &["user", "sign-in-link", "ann"]]
    {
        let output = installation.operator(refused);
        assert_eq!(output.status.code(), Some(2), "{refused:?}: {}", said(&output));
    }
    let nobody = installation.operator(&["user", "show", "nobody"]);
    assert!(stderr(&nobody).contains("banksman user list"), "{}", said(&nobody));
    // Who changed whose rights is on record, and no code of a link is.
    let log = stdout(&installation.operator(&["audit", "verify", "--json"]));
    assert!(log.contains("\"flaws\":[]"), "{log}");
}

#[test]
fn an_exported_log_is_checked_line_by_line() {
    let installation = Installation::new();
    let server = installation.serve();
    drop(server);
    let file = installation.data().join("export.jsonl");
    let verify = || installation.operator(&["audit", "verify", file.to_str().unwrap()]);
    std::fs::write(&file, "{\"seq\":1,\"event\":{\"v\":9}}\n").unwrap();
    let flawed = verify();
    assert_ne!(flawed.status.code(), Some(0));
    assert!(stdout(&flawed).contains("event 1: it cannot be read"), "{}", said(&flawed));
    std::fs::write(&file, "not an export\n").unwrap();
    assert!(stderr(&verify()).contains("export.jsonl:1: not an event"), "{}", said(&verify()));
}
