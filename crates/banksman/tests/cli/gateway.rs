//! `kill -9` of a server that holds MCP calls, and of one that is passing them on: clients come back to it, or to another
//! node, and get their results, and nothing that reached the MCP server reaches it again.

mod agent;
mod upstream;

use std::fs;
use std::time::{Duration, Instant};

use banksman_client::ActionsQuery;
use banksman_core::wire::{ActionView, DecisionRequest};
use banksman_core::{ActionId, Decision, Status};
use banksman_store::conformance::Database;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, Server};
use agent::{Agent, Held, Way};
use upstream::Upstream;

/// Everything is held. Nobody waits for long to learn that nobody knows what became of `stuck`.
const POLICY: &str = "
version: 1
defaults: {timeout: 1h, claim_within: 15m, lease: 10m}
tools:
  '*': {risk: high, tier: approve}
  stuck: {risk: high, tier: approve, lease: 3s}
";

fn ran(args: &Value) -> String {
    format!("ran with {args}")
}

/// A server before this one.
fn before(installation: &Installation, upstream: &Upstream, more: &[&str]) -> Server {
    let policy = installation.policy(POLICY);
    let servers = installation.beside("mcp.yaml");
    fs::write(&servers, upstream.config()).unwrap();
    let given = ["--policy", policy.to_str().unwrap(), "--mcp", servers.to_str().unwrap()];
    installation.serve_with(&[&given[..], more].concat())
}

/// What a reviewer sees of a call.
fn action(server: &Server, reviewer: &str, tool: &str, args: &Value) -> ActionView {
    let began = Instant::now();
    loop {
        let actions = server.client(reviewer).all_actions(&ActionsQuery::default()).unwrap();
        let same = |action: &ActionView| {
            action.tool == tool && serde_json::to_value(&action.args).is_ok_and(|shown| shown == *args)
        };
        if let Some(action) = actions.into_iter().find(same) {
            return action;
        }
        assert!(began.elapsed() < PATIENCE, "{tool} {args} was never proposed");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn approve(server: &Server, reviewer: &str, tool: &str, args: &Value) -> ActionId {
    let held = action(server, reviewer, tool, args);
    let approval = DecisionRequest {
        decision: Decision::Approve,
        version: held.version,
        digest: held.digest,
        reason: None,
        args: None,
        message: None,
        remember: None,
    };
    server.client(reviewer).decide(held.id, &approval).unwrap();
    held.id
}

fn becomes(server: &Server, reviewer: &str, id: ActionId, status: Status) {
    let began = Instant::now();
    loop {
        let now = server.client(reviewer).action(id).unwrap().status;
        if now == status {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "it is {now:?}, not {status:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A client of each kind, with a call of each that is held.
fn one_of_each(server: &Server, token: &str) -> Vec<(Agent, Way, Held)> {
    let call = |way: Way| {
        let mut agent = Agent::new(token, way);
        agent.introduce(server.url());
        let held = agent.call(server.url(), "send", &way.args());
        (agent, way, held)
    };
    Way::ALL.map(call).into()
}

/// Everyone comes back to this server and gets their result; each call has run once.
///
/// A client whose connection broke sends its call again, and one that was given something to ask by asks. Half of them do
/// so before their call is approved, and the others after it.
fn everyone_gets_the_result(
    clients: Vec<(Agent, Way, Held)>,
    server: &Server,
    reviewer: &str,
    upstream: &Upstream,
) {
    let count = clients.len();
    for (agent, way, held) in clients {
        let args = way.args();
        let held = match held {
            Held::Open(mut connection) => {
                let _ = connection.read_to_end();
                agent.call(server.url(), "send", &args)
            }
            held @ Held::Handle(_) => held,
        };
        assert_eq!(upstream.ran("send", &args), 0, "{way:?} was not approved");
        let early = matches!(way, Way::Stream | Way::WaitTool | Way::Rounds);
        let fetch = || agent.result(server.url(), "send", &args, held);
        let result = if early {
            std::thread::scope(|scope| {
                let waiting = scope.spawn(fetch);
                std::thread::sleep(Duration::from_millis(200));
                approve(server, reviewer, "send", &args);
                waiting.join().unwrap()
            })
        } else {
            let id = approve(server, reviewer, "send", &args);
            becomes(server, reviewer, id, Status::Succeeded);
            fetch()
        };
        assert_eq!(result, ran(&args), "{way:?}");
        assert_eq!(upstream.ran("send", &args), 1, "{way:?}");
    }
    assert_eq!(upstream.total(), count);
}

#[test]
fn whoever_waited_when_the_server_was_killed_comes_back_and_gets_the_result_once() {
    let upstream = Upstream::start();
    let installation = Installation::new();
    let server = before(&installation, &upstream, &[]);
    let first = server.first().clone();
    let clients = one_of_each(&server, &first.agent_token);
    server.kill();
    let server = before(&installation, &upstream, &[]);
    everyone_gets_the_result(clients, &server, &first.reviewer_token, &upstream);
    // Once more: what has run stays what it was.
    let actions = server.client(&first.reviewer_token).all_actions(&ActionsQuery::default()).unwrap();
    server.kill();
    let server = before(&installation, &upstream, &[]);
    let again = Agent::new(&first.agent_token, Way::WaitTool);
    for action in &actions {
        let held = Held::Handle(action.id.to_string());
        let args = serde_json::to_value(&action.args).unwrap();
        assert_eq!(again.result(server.url(), "send", &args, held), ran(&args));
    }
    assert_eq!(upstream.total(), Way::ALL.len());
}

#[test]
fn what_was_being_passed_on_when_the_server_was_killed_is_unknown_unless_its_tool_may_be_called_again() {
    let upstream = Upstream::start();
    let installation = Installation::new();
    let server = before(&installation, &upstream, &[]);
    let first = server.first().clone();
    let reviewer = &first.reviewer_token;
    let mut agent = Agent::new(&first.agent_token, Way::Stream);
    agent.introduce(server.url());
    let args = json!({"to": "ada"});
    let (mut open, mut ids) = (Vec::new(), Vec::new());
    for tool in ["stuck", "stuck_once"] {
        open.push(agent.call(server.url(), tool, &args));
        ids.push(approve(&server, reviewer, tool, &args));
        upstream.until_ran(tool, &args, 1);
    }
    server.kill();
    drop(open);
    let server = before(&installation, &upstream, &[]);
    // The one may be called again, and is. Its client, which sends it once more, gets the result of that.
    becomes(&server, reviewer, ids[1], Status::Succeeded);
    let mut reader = Agent::new(&first.agent_token, Way::WaitTool);
    reader.introduce(server.url());
    let ask = |id: ActionId| reader.result(server.url(), "", &args, Held::Handle(id.to_string()));
    assert_eq!(ask(ids[1]), ran(&args));
    assert_eq!(upstream.ran("stuck_once", &args), 2);
    // Nobody knows about the other; a person has to find out.
    becomes(&server, reviewer, ids[0], Status::Unknown);
    assert!(ask(ids[0]).starts_with("UNKNOWN"), "{}", ask(ids[0]));
    assert_eq!(upstream.ran("stuck", &args), 1);
    // Asked for once more it is another call, which people decide about.
    let _held = agent.call(server.url(), "stuck", &args);
    let pending = server.client(reviewer).all_actions(&ActionsQuery::default()).unwrap();
    assert_eq!(pending.iter().filter(|action| action.status == Status::Pending).count(), 1);
    assert_eq!(upstream.ran("stuck", &args), 1);
}

#[test]
fn whoever_waited_at_a_node_that_was_killed_gets_the_result_at_another() {
    let upstream = Upstream::start();
    let database = Database::fresh();
    let (one, other) = (Installation::new(), Installation::new());
    let url = database.url();
    let more = ["--database", url.as_str()];
    let gone = before(&one, &upstream, &more);
    let first = gone.first().clone();
    // Nodes read each other's handles if they have the same key.
    fs::create_dir(other.data()).unwrap();
    fs::copy(one.data().join("signing.key"), other.data().join("signing.key")).unwrap();
    let stays = before(&other, &upstream, &more);
    let clients = one_of_each(&gone, &first.agent_token);
    let mut agent = Agent::new(&first.agent_token, Way::Stream);
    agent.introduce(gone.url());
    let args = json!({"to": "ada"});
    let open = agent.call(gone.url(), "stuck", &args);
    let stuck = approve(&stays, &first.reviewer_token, "stuck", &args);
    upstream.until_ran("stuck", &args, 1);
    gone.kill();
    drop(open);
    becomes(&stays, &first.reviewer_token, stuck, Status::Unknown);
    assert_eq!(upstream.ran("stuck", &args), 1);
    assert_eq!(upstream.total(), 1, "what is held does not run because its node is gone");
    upstream.forget();
    everyone_gets_the_result(clients, &stays, &first.reviewer_token, &upstream);
}
