//! What the ledger is for: nobody changes the log unnoticed, and one event can be proved to a stranger.

use banksman_client::Proposal;
use banksman_core::wire::ProofView;

use crate::help::stdout;
use crate::installation::{Installation, document, program, said};

#[test]
fn a_log_that_was_tampered_with_is_found_out_and_one_event_is_proved_to_a_stranger() {
    let installation = Installation::new();
    let server = installation.serve();
    let first = server.first().clone();
    let agent = server.client(&first.agent_token);
    for number in 0..300 {
        agent.propose(&Proposal::new(&format!(r#"{{"tool":"t","args":{{"n":{number}}}}}"#))).unwrap();
    }
    let held = server.client(&first.reviewer_token).actions(&Default::default()).unwrap().items.remove(0);
    let reason = ["deny", &held.id.to_string(), "--reason", "never"];
    assert_eq!(server.run(&first.reviewer_token, &reason).status.code(), Some(0));
    let file = installation.beside("log.jsonl");
    let path = file.to_str().unwrap();
    let exported = server.run(&first.reviewer_token, &["audit", "export", "--out", path]);
    assert_eq!(exported.status.code(), Some(0), "{}", said(&exported));

    // The export, with the checkpoint beside it, by someone who only has the key.
    let proof: ProofView = document(&server.run(&first.reviewer_token, &["audit", "prove", "1"]));
    let key = proof.checkpoint.key.as_str();
    let stranger = |more: &[&str]| {
        let nowhere = installation.beside("nowhere");
        let mut command = program();
        command.args(["audit", "verify", "--data"]).arg(nowhere).args(more).output().unwrap()
    };
    let fine = stranger(&[path, "--key", key]);
    assert_eq!(fine.status.code(), Some(0), "{}", said(&fine));
    assert!(
        stdout(&fine).contains("was changed, removed or inserted: 1 checkpoint fits."),
        "{}",
        said(&fine)
    );
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, lines.replace("\"never\"", "\"always\"")).unwrap();
    let forged = stranger(&[path, "--key", key]);
    assert_eq!(forged.status.code(), Some(4), "{}", said(&forged));
    assert!(stdout(&forged).contains("are not those that were signed"), "{}", said(&forged));
    // Also if the checkpoint is gone and the forger offers one of their own.
    let beside = installation.beside("log.jsonl.checkpoint");
    let note = std::fs::read_to_string(&beside).unwrap();
    std::fs::write(&beside, note.replacen('A', "B", 1)).unwrap();
    assert_eq!(stranger(&[path, "--key", key]).status.code(), Some(4));

    // One event, to a stranger.
    let seq = (1..=lines.lines().count())
        .rev()
        .find(|seq| lines.lines().nth(seq - 1).unwrap().contains("never"))
        .unwrap();
    let proof = installation.beside("proof.json");
    let proof = proof.to_str().unwrap();
    let proved = server.run(&first.reviewer_token, &["audit", "prove", &seq.to_string(), "--out", proof]);
    assert_eq!(proved.status.code(), Some(0), "{}", said(&proved));
    let holds = stranger(&["--proof", proof, "--key", key]);
    assert_eq!(holds.status.code(), Some(0), "{}", said(&holds));
    assert!(stdout(&holds).contains("is in the log of"), "{}", said(&holds));
    let text = std::fs::read_to_string(proof).unwrap();
    std::fs::write(proof, text.replace("\"never\"", "\"always\"")).unwrap();
    assert_eq!(stranger(&["--proof", proof, "--key", key]).status.code(), Some(4));
    assert_eq!(
        stranger(&["--proof", proof]).status.code(),
        Some(2),
        "nobody says whose signature it has to be"
    );

    // The database itself, changed by hand.
    server.kill();
    assert_eq!(installation.operator(&["audit", "verify"]).status.code(), Some(0));
    let database = rusqlite::Connection::open(installation.data().join("banksman.db")).unwrap();
    let edit = "DROP TRIGGER audit_is_never_edited; UPDATE audit SET body = replace(body, '\"never\"', '\"always\"')";
    database.execute_batch(edit).unwrap();
    let edited = installation.operator(&["audit", "verify"]);
    assert_eq!(edited.status.code(), Some(4), "{}", said(&edited));
    assert!(stdout(&edited).contains("not those that were"), "{}", said(&edited));
}
