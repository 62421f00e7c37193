//! A store that cannot be used: nothing is let through, everyone is told to come again, and then it goes on without a
//! restart.

use std::time::{Duration, Instant};

use banksman_client::{Client, ClientError, Proposal};
use banksman_core::Status;
use banksman_core::wire::{ActionView, ClaimBody};
use banksman_faults::{Cluster, Proxy, SmallDisk, Weather};
use banksman_store::conformance::Database;

use crate::installation::{Installation, PATIENCE, Server, approval, said};
use crate::raw::Connection;

/// A server, and one action in each state that something can be asked about.
struct Scene {
    server: Server,
    agent: Client,
    reviewer: Client,
    held: ActionView,
    approved: ActionView,
    running: ActionView,
}

fn propose(agent: &Client, number: u32) -> Result<ActionView, ClientError> {
    agent.propose(&Proposal::new(&format!(r#"{{"tool":"refund","args":{{"n":{number}}}}}"#)))
}

fn claim(action: &ActionView) -> ClaimBody {
    ClaimBody { digest: action.digest, preconditions: None }
}

impl Scene {
    fn of(server: Server) -> Self {
        let agent = server.client(&server.first().agent_token);
        let reviewer = server.client(&server.first().reviewer_token);
        let held = propose(&agent, 1).unwrap();
        let [approved, running] = [2, 3].map(|number| {
            let action = propose(&agent, number).unwrap();
            reviewer.decide(action.id, &approval(&action)).unwrap()
        });
        agent.claim(running.id, &claim(&running)).unwrap();
        Self { server, agent, reviewer, held, approved, running }
    }

    /// The head of the answer to a request, byte for byte.
    fn head(&self, method: &str, path: &str, token: &str, body: &str) -> String {
        let url = self.server.url();
        let host = url.strip_prefix("http://").unwrap();
        let length = body.len();
        let mut connection = Connection::open(url);
        connection.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        ));
        connection.read_until("\r\n\r\n").to_lowercase()
    }

    /// Whatever would change something is answered with 503 and when to come again.
    fn nothing_is_let_through(&self, number: u32) {
        let (agent, reviewer) = (&self.server.first().agent_token, &self.server.first().reviewer_token);
        let actions = "/v1/actions".to_owned();
        let proposal = format!(r#"{{"tool":"refund","args":{{"n":{number}}}}}"#);
        // Not even what needs nobody.
        let harmless = r#"{"tool":"read_file","args":{"path":"notes.txt"}}"#.to_owned();
        let decision = serde_json::to_string(&approval(&self.held)).unwrap();
        let take = serde_json::to_string(&claim(&self.approved)).unwrap();
        let outcome = r#"{"status":"succeeded"}"#.to_owned();
        for (path, token, body) in [
            (actions.clone(), agent, proposal),
            (actions.clone(), agent, harmless),
            (format!("{actions}/{}/decision", self.held.id), reviewer, decision),
            (format!("{actions}/{}/claim", self.approved.id), agent, take),
            (format!("{actions}/{}/outcome", self.running.id), agent, outcome),
            ("/v1/freezes".into(), reviewer, r#"{"agent":"someone"}"#.into()),
        ] {
            let head = self.head("POST", &path, token, &body);
            assert!(head.starts_with("http/1.1 503"), "{path}: {head}");
            assert!(head.contains("\r\nretry-after: 2\r\n"), "{path}: {head}");
        }
        let head = self.head("GET", "/ready", "nobody", "");
        assert!(head.starts_with("http/1.1 503") && head.contains("retry-after"), "{head}");
        // It lives, and need not be killed for this.
        assert!(self.head("GET", "/health", "nobody", "").starts_with("http/1.1 200"));
    }

    /// It recovers by itself; then each action stands where it stood, and goes on from there.
    fn all_goes_on(&self) {
        let began = Instant::now();
        while let Err(error) = self.agent.ready() {
            assert!(began.elapsed() < PATIENCE, "it never recovered: {error}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let status = |action: &ActionView| self.agent.action(action.id).unwrap().status;
        assert_eq!(
            [&self.held, &self.approved, &self.running].map(status),
            [Status::Pending, Status::Authorised, Status::Executing]
        );
        self.reviewer.decide(self.held.id, &approval(&self.held)).unwrap();
        self.agent.claim(self.approved.id, &claim(&self.approved)).unwrap();
        assert_eq!(propose(&self.agent, 99).unwrap().status, Status::Pending);
    }
}

#[test]
fn a_database_that_is_gone_lets_nothing_through_and_comes_back_without_a_restart() {
    let database = Database::fresh();
    let line = Proxy::to(&database.url()).unwrap();
    let installation = Installation::new();
    let scene = Scene::of(installation.serve_with(&["--database", &line.over(&database.url()).unwrap()]));
    line.weather(Weather::Away);
    scene.nothing_is_let_through(50);
    line.weather(Weather::Fair);
    scene.all_goes_on();
}

#[test]
fn when_a_standby_takes_over_a_server_begins_anew_without_being_started_again() {
    let mut primary = Cluster::start().unwrap();
    let standby = primary.follow().unwrap();
    let installation = Installation::new();
    let url = primary.url_with(&standby, "postgres");
    let scene = Scene::of(installation.serve_with(&["--database", &url]));
    primary.crash().unwrap();
    // The standby answers, and may not write.
    scene.nothing_is_let_through(50);
    standby.promote().unwrap();
    scene.all_goes_on();
    let log = installation.log();
    assert_eq!(log.matches("beginning anew").count(), 1, "{log}");
    assert!(log.contains("a standby took over or a backup was restored"), "{log}");
    assert!(!log.contains("freezing everything"), "nothing was lost: {log}");
}

#[test]
fn where_a_database_has_lost_what_was_written_everything_is_frozen_until_a_person_has_looked() {
    let database = Database::fresh();
    let installation = Installation::new();
    let scene = Scene::of(installation.serve_with(&["--database", &database.url()]));
    // As a backup does that was taken before the last approval.
    let forget = "SET session_replication_role = replica;
                  DELETE FROM audit WHERE seq > (SELECT last_seq - 1 FROM head);
                  DELETE FROM outbox; UPDATE head SET last_seq = last_seq - 1; RESET session_replication_role";
    database.execute(forget).unwrap();
    database.cut_connections();
    let began = Instant::now();
    while !installation.log().contains("freezing everything") || scene.agent.ready().is_err() {
        assert!(began.elapsed() < PATIENCE, "it was not noticed: {}", installation.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let refused = scene.agent.claim(scene.approved.id, &claim(&scene.approved)).unwrap_err();
    assert!(refused.to_string().contains("frozen"), "{refused}");
    let freezes = scene.reviewer.freezes().unwrap().items;
    assert_eq!(freezes.len(), 1, "{freezes:?}");
    assert!(freezes[0].reason.contains("Backup and restore"), "{freezes:?}");
    scene.reviewer.unfreeze(freezes[0].id).unwrap();
    scene.agent.claim(scene.approved.id, &claim(&scene.approved)).unwrap();
}

#[test]
fn a_server_that_cannot_begin_anew_yet_can_be_told_to_stop() {
    let mut primary = Cluster::start().unwrap();
    let standby = primary.follow().unwrap();
    let installation = Installation::new();
    let url = primary.url_with(&standby, "postgres");
    let scene = Scene::of(installation.serve_with(&["--database", &url]));
    primary.crash().unwrap();
    standby.promote().unwrap();
    let began = Instant::now();
    while !installation.log().contains("beginning anew") {
        assert!(began.elapsed() < PATIENCE, "it was not noticed: {}", installation.log());
        let _ = scene.agent.ready();
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(standby);
    while !installation.log().contains("cannot begin anew; trying again") {
        assert!(began.elapsed() < PATIENCE, "it does not try: {}", installation.log());
        std::thread::sleep(Duration::from_millis(5));
    }
    // Nobody has to kill it for this, and everybody is told when to come again.
    scene.nothing_is_let_through(50);
    scene.server.tell_to_stop();
    let (status, _) = scene.server.end_within(PATIENCE).expect("it ends");
    assert!(status.success(), "{status}");
}

#[test]
fn a_read_only_database_can_be_looked_at_and_lets_nothing_through() {
    let database = Database::fresh();
    let installation = Installation::new();
    let scene = Scene::of(installation.serve_with(&["--database", &database.url()]));
    database.alter("SET default_transaction_read_only = on");
    database.cut_connections();
    scene.nothing_is_let_through(50);
    assert_eq!(scene.agent.action(scene.held.id).unwrap().status, Status::Pending, "looking is allowed");
    assert!(installation.log().contains("read-only transaction"), "{}", installation.log());
    // The sessions that there are stay read-only; nobody cuts them.
    database.alter("RESET default_transaction_read_only");
    scene.all_goes_on();
}

#[test]
fn a_full_disk_lets_nothing_through_and_when_there_is_room_it_goes_on() {
    let Some(disk) = SmallDisk::of(4) else {
        return banksman_faults::skip_without_small_disk();
    };
    let mut installation = Installation::new();
    installation.keep_data_in(disk.path().join("data"));
    let scene = Scene::of(installation.serve());
    disk.fill().unwrap();
    scene.nothing_is_let_through(50);
    assert_eq!(scene.agent.action(scene.held.id).unwrap().status, Status::Pending, "looking is allowed");
    disk.clear().unwrap();
    scene.all_goes_on();
    scene.server.kill();
    // Only the server is missing now.
    let report = said(&installation.operator(&["doctor"]));
    assert!(report.contains("database     sound"), "{report}");
}
