//! Several nodes over one PostgreSQL, each by a line of its own, and everything about them that can be broken.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use banksman_client::Client;
use banksman_faults::{Cluster, Proxy, Weather};

use super::schedule::Step;
use crate::crew::POLICY;
use crate::crew::site::Site;
use crate::installation::{Installation, PATIENCE, Server};

/// How long starting a node may take, when the database recovers meanwhile and it has to be started again.
const START: Duration = Duration::from_secs(60);

pub(super) struct Town {
    cluster: Cluster,
    /// Follows it, and takes over when it is gone for good.
    standby: Cluster,
    pub(super) site: Arc<Site>,
    nodes: Vec<Node>,
    policy: PathBuf,
}

struct Node {
    place: Installation,
    line: Proxy,
    server: Option<Server>,
}

impl Town {
    pub(super) fn build(nodes: usize, patience: Duration) -> Self {
        let cluster = Cluster::start().unwrap();
        let standby = cluster.follow().unwrap();
        let node =
            |_| Node { place: Installation::new(), line: Proxy::to(&cluster.url()).unwrap(), server: None };
        let places: Vec<Node> = (0..nodes).map(node).collect();
        let policy = places[0].place.policy(POLICY);
        let site = Arc::new(Site::new(nodes, patience));
        let mut town = Self { cluster, standby, site, nodes: places, policy };
        (0..nodes).for_each(|node| town.start(node));
        town
    }

    /// A credential, made by an operator who reaches the database directly.
    pub(super) fn token(&self, kind: &str, name: &str) -> String {
        self.nodes[0].place.token_with(&["--database", &self.cluster.url()], kind, name).token
    }

    pub(super) fn perform(&mut self, step: Step) {
        match step {
            Step::Kill(node) => {
                self.site.went_down(node);
                self.nodes[node].server.take().unwrap().kill();
            }
            Step::Start(node) => self.start(node),
            Step::Freeze(node) => self.server(node).freeze(),
            Step::Thaw(node) => self.server(node).thaw(),
            Step::Lay(node, trap) => self.nodes[node].line.lay(trap),
            Step::Cut(node) => self.nodes[node].line.cut(),
            Step::Change(node, weather) => self.nodes[node].line.weather(weather),
            Step::CrashDatabase => {
                self.cluster.crash().unwrap();
                self.cluster.start_again().unwrap();
            }
            // Perhaps nobody is connected just now, and then there is nothing to crash.
            Step::CrashConnection(choice) => {
                self.cluster.crash_connection(choice);
            }
            Step::FailOver => self.fail_over(),
        }
    }

    /// The standby takes over, and gets one of its own. The former primary never comes back.
    fn fail_over(&mut self) {
        self.cluster.await_follower().unwrap();
        self.cluster.crash().unwrap();
        self.standby.promote().unwrap();
        for node in &self.nodes {
            node.line.lead_to(&self.standby.url()).unwrap();
        }
        let next = self.standby.follow().unwrap();
        self.cluster = std::mem::replace(&mut self.standby, next);
    }

    fn server(&self, node: usize) -> &Server {
        self.nodes[node].server.as_ref().unwrap()
    }

    /// Starts a node, again and again while the database recovers, as whatever supervises it would.
    fn start(&mut self, node: usize) {
        let Node { place, line, server } = &mut self.nodes[node];
        let database = line.over(&self.cluster.url()).unwrap();
        // A start that met a trap would be over only after seconds, in which nothing else could be mended.
        line.disarm();
        let began = Instant::now();
        loop {
            let arguments = ["--database", &database, "--policy", self.policy.to_str().unwrap(), "--json"];
            match place.spawn(place.serve_command(&arguments)).ready() {
                Ok(started) => {
                    self.site.came_up(node, started.url());
                    *server = Some(started);
                    return;
                }
                Err(status) => assert!(began.elapsed() < START, "{status}\n{}", place.log()),
            }
        }
    }

    /// Mends everything, and says how long it took the nodes that were up to be ready, without a restart.
    pub(super) fn mend(&mut self) -> Duration {
        for node in 0..self.nodes.len() {
            self.nodes[node].line.weather(Weather::Fair);
            match &self.nodes[node].server {
                Some(server) => server.thaw(),
                None => self.start(node),
            }
        }
        let began = Instant::now();
        for node in 0..self.nodes.len() {
            while let Err(error) = self.server(node).client("nobody").ready() {
                assert!(began.elapsed() < PATIENCE, "node {node} never recovered: {error}");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        began.elapsed()
    }

    /// Crashes all there is and starts one node anew: what it says comes from the disk and from nobody's memory.
    pub(super) fn crash_all_and_look(&mut self, token: &str) -> Client {
        for node in 0..self.nodes.len() {
            self.perform(Step::Kill(node));
        }
        self.perform(Step::CrashDatabase);
        self.start(0);
        self.server(0).client(token)
    }

    pub(super) fn traps_sprung(&self) -> u64 {
        self.nodes.iter().map(|node| node.line.sprung()).sum()
    }

    /// The last that everyone said.
    pub(super) fn last_words(&self) -> String {
        let mut words = String::new();
        for (number, node) in self.nodes.iter().enumerate() {
            words.push_str(&format!("node {number}:\n{}\n", end_of(&node.place.log())));
        }
        words + "PostgreSQL:\n" + &end_of(&self.cluster.log())
    }
}

fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.contains("INFO")).collect();
    lines[lines.len().saturating_sub(25)..].join("\n")
}
