//! Several servers over one PostgreSQL: any node, any moment.

use std::time::{Duration, Instant};

use banksman_client::Proposal;
use banksman_core::Status;
use banksman_core::wire::ClaimBody;
use banksman_store::conformance::Database;

use crate::help::{stderr, stdout};
use crate::installation::{Installation, PATIENCE, Server, Starting, program, said};

fn node(installation: &Installation, database: &Database) -> Server {
    installation.serve_with(&["--database", &database.url()])
}

#[test]
fn proposed_on_one_node_decided_on_another_awaited_on_a_third_and_claimed_on_a_fourth() {
    let database = Database::fresh();
    let places: [Installation; 4] = std::array::from_fn(|_| Installation::new());
    let nodes = places.each_ref().map(|place| node(place, &database));
    let first = nodes[0].first().clone();
    assert!(nodes[1..].iter().all(|node| node.welcome.first.is_none()), "only the first start is the first");

    let agents = nodes.each_ref().map(|node| node.client(&first.agent_token));
    let held = agents[0].propose(&Proposal::new(r#"{"tool":"refund","args":{"n":1}}"#)).unwrap();
    assert_eq!(held.status, Status::Pending);
    // All have looked at it while it was pending, so that each remembers it so.
    for agent in &agents {
        assert_eq!(agent.action(held.id).unwrap().status, Status::Pending);
    }
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let answer = agents[2].await_action(held.id, 15).unwrap();
            (answer.status, Instant::now())
        });
        // It is waiting by then; if it is not, it finds the decision, and the test is only less strict.
        std::thread::sleep(Duration::from_millis(300));
        let id = held.id.to_string();
        let output = nodes[1].run(&first.reviewer_token, &["approve", &id, "--yes"]);
        assert!(output.status.success(), "{}", said(&output));
        let decided = Instant::now();
        let (status, woke) = waiting.join().unwrap();
        assert_eq!(status, Status::Authorised);
        assert!(woke.saturating_duration_since(decided) < Duration::from_secs(3), "it slept on");
    });
    let claim = ClaimBody { digest: held.digest, preconditions: None };
    agents[3].claim(held.id, &claim).unwrap();
    for agent in &agents {
        assert_eq!(agent.claim(held.id, &claim).unwrap_err().code(), Some("already_claimed"));
    }
}

#[test]
fn of_nodes_that_start_at_once_over_an_empty_database_one_shows_tokens() {
    let database = Database::fresh();
    let places: [Installation; 4] = std::array::from_fn(|_| Installation::new());
    let url = database.url();
    let start = |place: &Installation| place.spawn(place.serve_command(&["--database", &url, "--json"]));
    let starting = places.each_ref().map(start);
    let nodes = starting.map(Starting::ready);
    let logs = || places.each_ref().map(Installation::log).join("\n");
    let nodes = nodes.map(|node| node.unwrap_or_else(|status| panic!("one gave up ({status}):\n{}", logs())));
    let first: Vec<_> = nodes.iter().filter_map(|node| node.welcome.first.as_ref()).collect();
    assert_eq!(first.len(), 1);
    for node in &nodes {
        assert!(node.client(&first[0].reviewer_token).mode().is_ok());
    }
    let tokens = stdout(&places[0].operator(&["token", "--database", &url, "list"]));
    assert_eq!(tokens.matches("tok_").count(), 2, "{tokens}");
}

#[test]
fn a_node_with_another_signing_key_says_so_loudly() {
    let database = Database::fresh();
    let [one, same, other] = std::array::from_fn(|_| Installation::new());
    let first = node(&one, &database);
    std::fs::create_dir(same.data()).unwrap();
    std::fs::copy(one.data().join("signing.key"), same.data().join("signing.key")).unwrap();
    let _same = node(&same, &database);
    assert!(!same.log().contains("sign with another key"), "{}", same.log());
    let _other = node(&other, &database);
    assert!(other.log().contains("other nodes sign with another key"), "{}", other.log());
    assert!(other.log().contains("ERROR"), "{}", other.log());
    first.kill();
}

#[test]
fn a_killed_node_leaves_nothing_undone() {
    let database = Database::fresh();
    let (one, other) = (Installation::new(), Installation::new());
    let gone = node(&one, &database);
    let first = gone.first().clone();
    let stays = node(&other, &database);
    let body = r#"{"tool":"refund","args":{"n":1},"timeout_seconds":2}"#;
    let held = gone.client(&first.agent_token).propose(&Proposal::new(body)).unwrap();
    gone.kill();
    // Nobody but the other node can end it now.
    let agent = stays.client(&first.agent_token);
    let began = Instant::now();
    while agent.action(held.id).unwrap().status != Status::Expired {
        assert!(began.elapsed() < PATIENCE, "it was never ended");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn operators_reach_the_shared_database_too() {
    let database = Database::fresh();
    let installation = Installation::new();
    let url = database.url();
    for (args, expected) in [
        (&["migrate", "--database", &url][..], "up to date"),
        (&["token", "--database", &url, "new", "--kind", "agent", "--name", "riley"], "bkm_agent_"),
        (&["token", "--database", &url, "list"], "riley"),
    ] {
        let output = installation.operator(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", said(&output));
        assert!(stdout(&output).contains(expected), "{args:?}: {}", said(&output));
    }
}

#[test]
fn an_address_that_is_none_is_a_usage_error_and_is_not_repeated() {
    for url in ["mysql://u:hunter2@host/db", "/var/lib/hunter2.db"] {
        let output = program().args(["serve", "--database", url]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(stderr(&output).contains("postgres://USER@HOST/NAME"), "{}", said(&output));
        assert!(!stderr(&output).contains("hunter2"), "{}", said(&output));
    }
}
