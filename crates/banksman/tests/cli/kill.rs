//! `kill -9` of the server at any moment, over live traffic: nothing that was acknowledged is lost, and nothing is
//! claimed twice.
//!
//! The server is killed and started again on the same folder, over and over, while a [`crate::crew`] works with it.
//!
//! `BANKSMAN_KILLS=2000 cargo test -p banksman --test cli kill` goes on for longer; `BANKSMAN_SEED` makes the same
//! choices again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::crew::site::Site;
use crate::crew::{Crew, POLICY, checker};
use crate::installation::{Installation, Server, now};

/// Kills in the ordinary run of the suite, and how long it may go on about them on a slow machine.
const KILLS: u32 = 40;
const BUDGET: Duration = Duration::from_secs(25);

/// How long a server lives at the most before it is killed.
const LIFETIME_MILLIS: u64 = 200;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn nothing_acknowledged_is_lost_and_nothing_runs_twice_however_often_the_server_is_killed() {
    let asked: Option<u32> = std::env::var("BANKSMAN_KILLS").ok().map(|text| text.trim().parse().unwrap());
    let seed = Chance::seed();
    eprintln!("BANKSMAN_SEED={seed}");
    let mut chance = Chance::new(seed);

    let installation = Installation::new();
    let policy = installation.policy(POLICY);
    let start = || installation.serve_with(&["--policy", policy.to_str().unwrap()]);
    let mut server = start();
    let site = Arc::new(Site::new(1, PATIENCE));
    site.came_up(0, server.url());
    let crew = Crew::employ(&site, &mut chance, |kind, name| installation.token(kind, name).token);
    let began = Instant::now();
    let mut kills = 0;
    while kills < asked.unwrap_or(KILLS) && (asked.is_some() || began.elapsed() < BUDGET) {
        std::thread::sleep(chance.up_to_millis(LIFETIME_MILLIS));
        server.kill();
        site.went_down(0);
        kills += 1;
        if chance.percent(20) {
            // Not even starting is a moment when it may not be killed.
            let command = installation.serve_command(&["--policy", policy.to_str().unwrap(), "--json"]);
            let starting = installation.spawn(command);
            std::thread::sleep(chance.up_to_millis(40));
            starting.kill();
            kills += 1;
        }
        server = start();
        site.came_up(0, server.url());
    }
    // What was under way gets its answer, because the server is up; then everyone goes home.
    crew.go_home(&site);
    // What is read from here on comes from the disk: whoever remembered it is gone.
    server.kill();
    let server = start();
    let reviewer = installation.token("reviewer", "the checker");
    let book = site.book();
    eprintln!("{kills} kills in {:?}: {}", began.elapsed(), book.summary());
    let (record, mut findings) = checker::read(&server.client(&reviewer.token));
    eprintln!("{}", record.tally());
    findings.extend(checker::check(&record, &book, now()));
    assert!(findings.is_empty(), "BANKSMAN_SEED={seed}\n{}\n{}", findings.join("\n"), log_end(&installation));
    assert_eq!(book.unavailable, 0, "its store is a file beside it");
    if asked.is_none_or(|asked| asked >= KILLS) {
        assert!(kills >= 10, "too slow a machine to prove anything: {kills} kills");
        book.expect_something_of_everything();
    }
    look_at_the_file(&installation, &server, &reviewer.token, policy.to_str().unwrap());
}

/// SQLite itself finds the file sound.
fn look_at_the_file(installation: &Installation, server: &Server, token: &str, policy: &str) {
    let data = installation.data();
    let report: serde_json::Value =
        server.run_json(token, &["doctor", "--data", data.to_str().unwrap(), "--policy", policy]);
    assert_eq!(report["ok"], true, "{report}");
}

/// The last the servers said.
fn log_end(installation: &Installation) -> String {
    let log = installation.log();
    let lines: Vec<&str> = log.lines().filter(|line| !line.contains("INFO")).collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

#[test]
fn a_server_that_was_killed_during_its_first_start_starts() {
    // Whatever the first start had got to: the folder, the policy, the key, the database, the tokens.
    let seed = Chance::seed();
    let mut chance = Chance::new(seed);
    for round in 0..25 {
        let installation = Installation::new();
        let starting = installation.spawn(installation.serve_command(&["--json"]));
        std::thread::sleep(chance.up_to_millis(50));
        starting.kill();
        let server = match installation.spawn(installation.serve_command(&["--json"])).ready() {
            Ok(server) => server,
            Err(status) => panic!("BANKSMAN_SEED={seed} round {round}: {status}\n{}", installation.log()),
        };
        // Either the tokens are shown now, or they were stored before and others can be had.
        let token = match &server.welcome.first {
            Some(first) => first.reviewer_token.clone(),
            None => installation.token("reviewer", "ann").token,
        };
        assert!(server.client(&token).mode().is_ok(), "BANKSMAN_SEED={seed} round {round}");
    }
}
