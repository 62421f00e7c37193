//! An agent on the real LangGraph waits at an interrupt, is called when people have decided, and acts once: also when it
//! is called twice, and when server and agent are killed in between.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use banksman_core::wire::{JobView, List};
use serde_json::Value;

use crate::installation::{Installation, Server};

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The pauses between calls are seconds; this is several of them.
const PATIENCE: Duration = Duration::from_secs(60);

/// The agent's process, killed with the test.
struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Agent {
    fn start(python: &PathBuf, folder: &str, token: &str, port: u16) -> Self {
        let script = "tests/cli/agents/langgraph_agent.py";
        let mut child = Command::new(python)
            .args([script, folder, token, KEY, &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self { child, input, output, port }
    }

    /// Begins a run that stops at its interrupt; answers the action that it waits for.
    fn begin(&mut self, thread: &str, amount: u32) -> Value {
        writeln!(self.input, r#"{{"thread":"{thread}","amount":{amount}}}"#).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

struct Scene {
    installation: Installation,
    python: PathBuf,
    folder: String,
    agent_token: String,
    reviewer: String,
    channels: PathBuf,
}

impl Scene {
    /// `None` where the packages are not installed.
    fn set() -> Option<(Self, Agent, Server)> {
        let packages = banksman_faults::packages()?;
        let installation = Installation::new();
        // A first start makes the tokens.
        let first = installation.serve();
        let reviewer = first.first().reviewer_token.clone();
        first.kill();
        let agent_token = installation.token("agent", "riley").token;
        let folder = installation.beside("agent");
        fs::create_dir(&folder).unwrap();
        let (python, folder) = (packages.join("python/bin/python3"), folder.display().to_string());
        let agent = Agent::start(&python, &folder, &agent_token, 0);
        let (key, channels) = (installation.beside("key"), installation.beside("channels.yaml"));
        fs::write(&key, KEY).unwrap();
        let written = format!(
            "version: 1\nreach: [127.0.0.0/8]\nresume: {{allow: ['http://127.0.0.1:{}/resume'], key: {{file: key}}}}\n",
            agent.port
        );
        fs::write(&channels, written).unwrap();
        let scene = Self { installation, python, folder, agent_token, reviewer, channels };
        let server = scene.serve();
        Some((scene, agent, server))
    }

    fn serve(&self) -> Server {
        let server = self.installation.serve_with(&["--channels", self.channels.to_str().unwrap()]);
        fs::write(format!("{}/url", self.folder), server.url()).unwrap();
        server
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(format!("{}/{name}", self.folder)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until all jobs are done, and answers them.
    fn jobs_done(&self, server: &Server) -> Vec<JobView> {
        let begin = Instant::now();
        loop {
            let jobs: List<JobView> = server.run_json(&self.reviewer, &["jobs"]);
            if !jobs.items.is_empty() && jobs.items.iter().all(|job| job.status.as_str() == "done") {
                return jobs.items;
            }
            assert!(begin.elapsed() < PATIENCE, "{jobs:?}\n{}", self.installation.log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn approve(&self, server: &Server, action: &Value) {
        let output = server.run(&self.reviewer, &["approve", action["id"].as_str().unwrap(), "--yes"]);
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn a_graph_goes_on_with_what_people_decided_and_acts_once() {
    let Some((scene, mut agent, server)) = Scene::set() else { return };
    let approved = agent.begin("t-1", 5);
    assert_eq!(approved["status"], "pending", "{approved}");
    let denied = agent.begin("t-2", 6);
    // It works, and says that it did not: it is called again.
    fs::write(format!("{}/answer-badly", scene.folder), "").unwrap();
    scene.approve(&server, &approved);
    let output = server.run(&scene.reviewer, &["deny", denied["id"].as_str().unwrap(), "--reason", "no"]);
    assert!(output.status.success(), "{output:?}");
    let jobs = scene.jobs_done(&server);
    assert_eq!(jobs.len(), 2);
    assert_eq!(scene.lines("effects"), [r#"{"amount": 5}"#]);
    let calls = scene.lines("calls");
    assert_eq!(calls.len(), 3, "one of the two was called twice: {calls:?}");
    let shown: Value = server.run_json(&scene.reviewer, &["show", approved["id"].as_str().unwrap()]);
    assert_eq!(shown["status"], "succeeded");
}

#[test]
fn killed_in_between_the_graph_still_goes_on_and_acts_once() {
    let Some((scene, mut agent, server)) = Scene::set() else { return };
    let action = agent.begin("t-1", 7);
    let port = agent.port;
    drop(agent);
    scene.approve(&server, &action);
    server.kill();
    let server = scene.serve();
    let agent = Agent::start(&scene.python, &scene.folder, &scene.agent_token, port);
    let [job] = scene.jobs_done(&server).try_into().unwrap();
    assert_eq!(job.action.to_string(), action["id"].as_str().unwrap());
    assert_eq!(scene.lines("effects"), [r#"{"amount": 7}"#]);
    drop(agent);
}
