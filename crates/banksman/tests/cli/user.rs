//! `banksman user` and `banksman audit verify`, beside a server that runs.

use serde_json::Value;

use crate::help::{stderr, stdout};
use crate::installation::{Installation, document, said};

#[test]
fn people_are_added_invited_locked_and_removed() {
    let installation = Installation::new();
    let server = installation.serve();
    let added = installation.operator(&["user", "add", "ann", "--role", "finance", "--json"]);
    assert_eq!(added.status.code(), Some(0), "{}", said(&added));
    let added: Value = document(&added);
    assert_eq!((&added["person"]["name"], &added["person"]["kind"]), (&"ann".into(), &"reviewer".into()));
    let link = added["link"].as_str().unwrap();
    // Where passkeys work, whatever number the server listens on.
    let here = server.url().replace("127.0.0.1", "localhost");
    assert!(link.starts_with(&format!("{here}/join?code=")), "{link}");
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
    std::fs::write(&file, "").unwrap();
    let empty = verify();
    assert_eq!(empty.status.code(), Some(4));
    assert!(stdout(&empty).contains("there is no event in it"), "{}", said(&empty));
    std::fs::write(&file, "not an export\n").unwrap();
    assert!(stderr(&verify()).contains("export.jsonl:1: not an event"), "{}", said(&verify()));
}

#[test]
fn an_export_verifies_as_it_is_and_a_part_of_it_does_not() {
    let installation = Installation::new();
    let server = installation.serve();
    let first = server.first().clone();
    let file = installation.data().join("export.jsonl");
    let path = file.to_str().unwrap();
    let export = |more: &[&str]| server.run(&first.reviewer_token, &[&["audit", "export"], more].concat());
    let done = export(&["--out", path]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let verify = |more: &[&str]| installation.operator(&[&["audit", "verify", path], more].concat());
    let whole = verify(&[]);
    assert_eq!(whole.status.code(), Some(0), "{}", said(&whole));
    let lines = std::fs::read_to_string(&file).unwrap();
    let count = lines.lines().count();
    assert!(
        stdout(&whole).contains(&format!("{count} events read, 1 to {count}, the last of 2")),
        "{}",
        said(&whole)
    );
    assert_eq!(stdout(&export(&[])), lines, "the same on standard output");
    assert!(!installation.data().join("export.jsonl.unfinished").exists());
    // Its end is missing: that cannot be seen, unless someone knows how far it should go.
    let (newest, wanted) = (count.to_string(), (count + 1).to_string());
    assert_eq!(verify(&["--up-to", &newest]).status.code(), Some(0));
    let short = verify(&["--up-to", &wanted]);
    assert_eq!(short.status.code(), Some(4));
    assert!(stdout(&short).contains("its end is missing"), "{}", said(&short));
    // Its beginning is missing.
    let rest: Vec<&str> = lines.lines().skip(2).collect();
    std::fs::write(&file, rest.join("\n")).unwrap();
    let cut = verify(&[]);
    assert_eq!(cut.status.code(), Some(4), "{}", said(&cut));
    assert!(
        stdout(&cut).contains("event 3: it comes first, and what came before it is missing"),
        "{}",
        said(&cut)
    );
    let part = verify(&["--part"]);
    assert_eq!(part.status.code(), Some(0), "{}", said(&part));
    assert!(
        stdout(&part).contains("This is a part") && !stdout(&part).contains("All of it"),
        "{}",
        said(&part)
    );
    let none = export(&["--since", "2100-01-01T00:00:00Z"]);
    assert_eq!((none.status.code(), stdout(&none).as_str()), (Some(0), ""));
}
