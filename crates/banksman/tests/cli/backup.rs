//! Backups that were never restored are none: each kind is taken under a running server and brought back elsewhere.

use std::process::{Command, Output};

use banksman_client::{Client, Proposal};
use banksman_core::Status;
use banksman_core::wire::{ActionView, ClaimBody};
use banksman_store::conformance::Database;

use crate::help::stderr;
use crate::installation::{Installation, PATIENCE, Server, mode, said};

fn propose(agent: &Client, number: u32) -> ActionView {
    let body = format!(r#"{{"tool":"refund","args":{{"n":{number}}}}}"#);
    agent.propose(&Proposal::new(&body)).unwrap()
}

/// What waited when the backup was taken can be decided and run; what came later is not there.
fn goes_on(
    server: &Server,
    agent_token: &str,
    reviewer_token: &str,
    before: &ActionView,
    after: &ActionView,
) {
    let agent = server.client(agent_token);
    assert_eq!(agent.action(after.id).unwrap_err().code(), Some("not_found"));
    assert_eq!(agent.action(before.id).unwrap().status, Status::Pending);
    let output = server.run(reviewer_token, &["approve", &before.id.to_string(), "--yes"]);
    assert!(output.status.success(), "{}", said(&output));
    agent.claim(before.id, &ClaimBody { digest: before.digest, preconditions: None }).unwrap();
}

#[test]
fn a_backup_of_the_folder_is_restored_elsewhere() {
    let (here, there) = (Installation::new(), Installation::new());
    let server = here.serve();
    let first = server.first().clone();
    let agent = server.client(&first.agent_token);
    let before = propose(&agent, 1);
    let file = here.beside("backup.db");
    let path = file.to_str().unwrap();
    let output = here.operator(&["store", "backup", path]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(mode(&file), 0o600);
    let after = propose(&agent, 2);

    // A backup is never written over.
    let again = here.operator(&["store", "backup", path]);
    assert!(!again.status.success());
    assert!(stderr(&again).contains("backup.db"), "{}", said(&again));
    server.kill();

    std::fs::create_dir_all(there.data()).unwrap();
    std::fs::copy(&file, there.data().join("banksman.db")).unwrap();
    std::fs::copy(here.data().join("signing.key"), there.data().join("signing.key")).unwrap();
    let server = there.serve();
    assert!(server.welcome.first.is_none(), "the credentials are in the backup");
    goes_on(&server, &first.agent_token, &first.reviewer_token, &before, &after);
}

fn postgres(program: &str, args: &[&str]) -> Output {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program}: {}", said(&output));
    output
}

#[test]
fn a_dump_of_the_shared_database_is_restored_elsewhere() {
    let (database, elsewhere) = (Database::fresh(), Database::fresh());
    let installation = Installation::new();
    let server = installation.serve_with(&["--database", &database.url()]);
    let first = server.first().clone();
    let agent = server.client(&first.agent_token);
    let before = propose(&agent, 1);
    let file = installation.beside("banksman.dump");
    let path = file.to_str().unwrap();
    postgres("pg_dump", &["--format=custom", "--file", path, &database.url()]);
    let after = propose(&agent, 2);
    server.tell_to_stop();
    assert!(server.end_within(PATIENCE).is_some(), "it does not end");

    postgres("pg_restore", &["--exit-on-error", "--no-owner", "--dbname", &elsewhere.url(), path]);
    let server = installation.serve_with(&["--database", &elsewhere.url()]);
    assert!(server.welcome.first.is_none(), "the credentials are in the dump");
    goes_on(&server, &first.agent_token, &first.reviewer_token, &before, &after);
}
