//! From one machine to many: everything goes along, and nobody works on the old copy.

use banksman_client::{AuditQuery, Client, Proposal};
use banksman_core::Status;
use banksman_core::wire::{ActionView, ClaimBody, OutcomeBody, OutcomeStatus};
use banksman_store::conformance::Database;

use crate::help::{stderr, stdout};
use crate::installation::{Installation, PATIENCE, Server, said};

fn propose(agent: &Client, number: u32) -> ActionView {
    let body = format!(r#"{{"tool":"refund","args":{{"n":{number}}}}}"#);
    agent.propose(&Proposal::new(&body)).unwrap()
}

fn claim(agent: &Client, action: &ActionView) -> Result<(), String> {
    let claim = ClaimBody { digest: action.digest, preconditions: None };
    agent.claim(action.id, &claim).map(drop).map_err(|error| error.code().unwrap_or("?").to_owned())
}

fn succeeded() -> OutcomeBody {
    OutcomeBody { status: OutcomeStatus::Succeeded, result: None, error: None }
}

fn decide(server: &Server, reviewer: &str, verb: &[&str], action: &ActionView) {
    let id = action.id.to_string();
    let output = server.run(reviewer, &[verb, &[&id, "--reason", "because"]].concat());
    assert!(output.status.success(), "{}", said(&output));
}

fn end(server: Server) {
    server.tell_to_stop();
    assert!(server.end_within(PATIENCE).is_some(), "it does not end");
}

#[test]
fn what_was_pending_decided_and_claimed_on_one_machine_goes_on_on_many() {
    let (database, installation) = (Database::fresh(), Installation::new());
    let url = database.url();
    let server = installation.serve();
    let first = server.first().clone();
    let agent = server.client(&first.agent_token);
    let keyed = r#"{"tool":"refund","args":{"n":100}}"#;
    let keyed = Proposal { idempotency_key: Some("retry-7"), ..Proposal::new(keyed) };
    let [pending, approved, denied, claimed, done] = [1, 2, 3, 4, 5].map(|number| propose(&agent, number));
    let with_key = agent.propose(&keyed).unwrap();
    for action in [&approved, &claimed, &done] {
        decide(&server, &first.reviewer_token, &["approve", "--yes"], action);
    }
    decide(&server, &first.reviewer_token, &["deny"], &denied);
    claim(&agent, &claimed).unwrap();
    claim(&agent, &done).unwrap();
    agent.outcome(done.id, &succeeded()).unwrap();
    let reviewer = server.client(&first.reviewer_token);
    let everything = AuditQuery { limit: Some(200), ..AuditQuery::default() };
    let log_before = reviewer.audit(&everything).unwrap().items;

    let running = installation.operator(&["store", "copy", "--database", &url]);
    assert!(!running.status.success(), "it copies under a running server");
    assert!(stderr(&running).contains("running"), "{}", said(&running));
    end(server);

    let output = installation.operator(&["store", "copy", "--database", &url]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(stdout(&output).contains("Everything arrived as it was"), "{}", said(&output));
    assert!(stdout(&output).contains("actions"), "{}", said(&output));

    // Nobody goes on with the old file by mistake.
    let refused = installation.serve_in_vain(&[]);
    assert!(stderr(&refused).contains("--database"), "{}", said(&refused));

    let node = installation.serve_with(&["--database", &url]);
    assert!(node.welcome.first.is_none(), "the credentials went along");
    let agent = node.client(&first.agent_token);
    let mut log_after = node.client(&first.reviewer_token).audit(&everything).unwrap().items;
    // Latest first; this start has written that it loaded the policy.
    assert_eq!(log_after.remove(0).seq, log_before[0].seq + 1);
    assert!(
        serde_json::to_value(log_before).unwrap() == serde_json::to_value(log_after).unwrap(),
        "the log is another"
    );
    assert_eq!(agent.propose(&keyed).unwrap().id, with_key.id, "an idempotency key was forgotten");
    assert_eq!(propose(&agent, 1).id, pending.id, "the same proposal joins the one that waits");
    let statuses =
        [&pending, &approved, &denied, &claimed, &done].map(|action| agent.action(action.id).unwrap().status);
    let expected =
        [Status::Pending, Status::Authorised, Status::Denied, Status::Executing, Status::Succeeded];
    assert_eq!(statuses, expected);
    decide(&node, &first.reviewer_token, &["approve", "--yes"], &pending);
    claim(&agent, &pending).unwrap();
    claim(&agent, &approved).unwrap();
    assert_eq!(claim(&agent, &claimed), Err("already_claimed".into()));
    agent.outcome(claimed.id, &succeeded()).unwrap();
    end(node);

    let again = installation.operator(&["store", "copy", "--database", &url]);
    assert!(!again.status.success(), "it copies what is gone");
}

#[test]
fn a_database_that_is_somebodys_is_not_copied_into() {
    let (database, installation) = (Database::fresh(), Installation::new());
    let url = database.url();
    end(installation.serve());
    let other = Installation::new();
    let token = other.operator(&["token", "--database", &url, "new", "--kind", "agent", "--name", "riley"]);
    assert!(token.status.success(), "{}", said(&token));
    let output = installation.operator(&["store", "copy", "--database", &url]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("not empty"), "{}", said(&output));
    // Nothing changed here.
    end(installation.serve());
}

#[test]
fn a_row_that_arrives_as_another_stops_everything() {
    let (database, installation) = (Database::fresh(), Installation::new());
    let url = database.url();
    end(installation.serve());
    let migrated = installation.operator(&["migrate", "--database", &url]);
    assert!(migrated.status.success(), "{}", said(&migrated));
    database
        .execute(
            "CREATE FUNCTION twist() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN NEW.body := replace(NEW.body, 'agent', 'Agent'); RETURN NEW; END $$;
             CREATE TRIGGER twist BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION twist()",
        )
        .unwrap();
    let output = installation.operator(&["store", "copy", "--database", &url]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("did not arrive as it was sent"), "{}", said(&output));
    database.execute("DROP TRIGGER twist ON audit").unwrap();
    // The target is as empty as before, and the source where it was.
    let output = installation.operator(&["store", "copy", "--database", &url, "--keep", "--json"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(stdout(&output).contains("\"kept\""), "{}", said(&output));
    end(installation.serve());
}
