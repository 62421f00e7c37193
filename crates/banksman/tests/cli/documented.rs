//! What `docs/agents.md` shows works as it stands there, against a real server.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use banksman_core::wire::ActionView;
use banksman_core::{Status, wire::DecisionRequest};
use serde_json::Value;

use crate::help::stdout;
use crate::installation::{Installation, Server, approval, said};

const PATIENCE: Duration = Duration::from_secs(30);

fn shell(server: &Server, script: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-e", "-c", script])
        .env("BANKSMAN_URL", server.url())
        .env("BANKSMAN_TOKEN", &server.first().agent_token)
        .current_dir("../..");
    command
}

/// The agent to copy, as it is.
fn agent(server: &Server) -> Child {
    let mut command = shell(server, "exec python3 examples/agent.py");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What waits, once something does.
fn waiting(server: &Server) -> ActionView {
    let reviewer = server.client(&server.first().reviewer_token);
    let begin = Instant::now();
    loop {
        let page = reviewer.actions(&Default::default()).unwrap();
        if let Some(held) = page.items.into_iter().find(|action| action.status == Status::Pending) {
            return held;
        }
        assert!(begin.elapsed() < PATIENCE, "nothing was asked for");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn decide(server: &Server, held: &ActionView, decision: &DecisionRequest) {
    server.client(&server.first().reviewer_token).decide(held.id, decision).unwrap();
}

fn ended(agent: Child) -> Output {
    agent.wait_with_output().unwrap()
}

#[test]
fn the_agent_to_copy_runs_what_was_approved_once_and_tells_why_not() {
    let installation = Installation::new();
    let server = installation.serve();
    let first = agent(&server);
    let held = waiting(&server);
    decide(&server, &held, &approval(&held));
    let output = ended(first);
    assert_eq!(stdout(&output), "refunded 20 for order 4711\n", "{}", said(&output));
    let reviewer = server.client(&server.first().reviewer_token);
    assert_eq!(reviewer.action(held.id).unwrap().status, Status::Succeeded);
    // It has been done. Whoever starts the agent again does not do it twice.
    let output = ended(agent(&server));
    assert_eq!(stdout(&output), "refund was not allowed: succeeded\n", "{}", said(&output));

    let installation = Installation::new();
    let server = installation.serve();
    let second = agent(&server);
    let held = waiting(&server);
    let no = r#"{"decision": "respond", "message": "Ask accounting first.", "version": 1}"#;
    let mut no: Value = serde_json::from_str(no).unwrap();
    no["digest"] = held.digest.to_string().into();
    decide(&server, &held, &serde_json::from_value(no).unwrap());
    let output = ended(second);
    let text = stdout(&output);
    assert!(
        text.starts_with("refund was not allowed: ") && text.contains("Ask accounting first."),
        "{}",
        said(&output)
    );
}

#[test]
fn every_call_of_the_page_is_answered() {
    if !banksman_faults::has_curl() {
        return;
    }
    let installation = Installation::new();
    let server = installation.serve();
    let page = std::fs::read_to_string("../../docs/agents.md").unwrap();
    let blocks: Vec<&str> = page
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .filter(|block| block.starts_with("curl"))
        .collect();
    assert_eq!(blocks.len(), 4, "the calls were not found");
    let mut held: Option<ActionView> = None;
    for block in blocks {
        let mut command = shell(&server, &block.replace("wait=60", "wait=0"));
        if let Some(action) = &held {
            command.env("ID", action.id.to_string()).env("DIGEST", action.digest.to_string());
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{block}\n{}", said(&output));
        for answer in serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>() {
            let answer = answer.unwrap();
            assert!(answer.get("code").is_none(), "{block}\n{answer}");
            if held.is_none() {
                let action: ActionView = serde_json::from_value(answer).unwrap();
                decide(&server, &action, &approval(&action));
                held = Some(action);
            }
        }
    }
    let reviewer = server.client(&server.first().reviewer_token);
    assert_eq!(reviewer.action(held.unwrap().id).unwrap().status, Status::Succeeded);
}
