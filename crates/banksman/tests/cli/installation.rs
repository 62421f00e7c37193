//! A data folder of a test's own, the real server on it, and the real commands beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use banksman_client::Client;
use banksman_core::wire::{ActionView, DecisionRequest};
use banksman_core::{Decision, Timestamp};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

/// Nothing in these tests takes longer, unless something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Who installs, in these tests.
pub(crate) const OPERATOR: &str = "olga";

/// What could reach into a test from the environment of whoever runs it.
pub(crate) const AMBIENT: &[&str] = &[
    "BANKSMAN_DATA",
    "BANKSMAN_LISTEN",
    "BANKSMAN_DATABASE",
    "BANKSMAN_POLICY",
    "BANKSMAN_CHANNELS",
    "BANKSMAN_URL",
    "BANKSMAN_TOKEN",
    "BANKSMAN_LOG",
];

/// The binary under test, with nothing of the environment that it would heed.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_banksman"));
    for name in AMBIENT {
        command.env_remove(name);
    }
    command.env("USER", OPERATOR);
    command
}

/// A place for a server, gone with the test.
pub(crate) struct Installation {
    root: TempDir,
    data: PathBuf,
}

impl Installation {
    pub(crate) fn new() -> Self {
        let root = TempDir::new().unwrap();
        Self { data: root.path().join("data"), root }
    }

    /// The data folder; the server makes it.
    pub(crate) fn data(&self) -> PathBuf {
        self.data.clone()
    }

    /// Puts the data folder somewhere else.
    pub(crate) fn keep_data_in(&mut self, data: PathBuf) {
        self.data = data;
    }

    /// Beside the data folder, for whatever else a test needs.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a policy for `serve --policy`.
    pub(crate) fn policy(&self, text: &str) -> PathBuf {
        let path = self.beside("own-policy.yaml");
        fs::write(&path, text).unwrap();
        path
    }

    /// What all servers of this installation said on standard error.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.beside("server.log")
    }

    /// `banksman serve` on this folder and any free port, with more arguments.
    pub(crate) fn serve_command(&self, more: &[&str]) -> Command {
        let mut command = program();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(self.data()).args(more);
        command
    }

    /// A server that answers.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    pub(crate) fn serve_with(&self, more: &[&str]) -> Server {
        match self.spawn(self.serve_command(&[more, &["--json"]].concat())).ready() {
            Ok(server) => server,
            Err(status) => panic!("the server did not start ({status}):\n{}", self.log()),
        }
    }

    /// A server that is expected to give up, and what it did instead of serving.
    pub(crate) fn serve_in_vain(&self, more: &[&str]) -> Output {
        let mut command = self.serve_command(more);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut process = Process(child.unwrap());
        let status = process.end_within(PATIENCE).unwrap_or_else(|| panic!("{more:?}: it serves"));
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        process.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        process.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        Output { status, stdout, stderr }
    }

    /// Starts a server and does not wait for it.
    pub(crate) fn spawn(&self, mut command: Command) -> Starting {
        let log: File = OpenOptions::new().create(true).append(true).open(self.log_path()).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Starting { process: Process(child), stdout }
    }

    /// Runs a command of the operator's, who has the data folder.
    pub(crate) fn operator(&self, args: &[&str]) -> Output {
        program().args(args).arg("--data").arg(self.data()).stdin(Stdio::null()).output().unwrap()
    }

    /// A new token's id and secret.
    pub(crate) fn token(&self, kind: &str, name: &str) -> Issued {
        self.token_with(&[], kind, name)
    }

    /// The same, with more arguments, such as where the data is.
    pub(crate) fn token_with(&self, more: &[&str], kind: &str, name: &str) -> Issued {
        let new = ["new", "--kind", kind, "--name", name, "--json"];
        let output = self.operator(&[&["token"], more, &new].concat());
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        document(&output)
    }
}

/// What `token new --json` prints: this, and not more.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Issued {
    pub(crate) id: String,
    pub(crate) token: String,
}

/// What `serve --json` prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Welcome {
    pub(crate) url: String,
    pub(crate) data: PathBuf,
    pub(crate) policy: PathBuf,
    pub(crate) first: Option<FirstStart>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FirstStart {
    pub(crate) reviewer_token: String,
    pub(crate) agent_token: String,
    pub(crate) sign_in_link: String,
}

/// A child that does not outlive the test, however that ends.
struct Process(Child);

impl Process {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Waits for the end, but not for ever.
    fn end_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        loop {
            match self.0.try_wait().unwrap() {
                Some(status) => return Some(status),
                None if began.elapsed() > patience => return None,
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SIGKILL, by its id, and only if it is still ours: a child that was waited for is not signalled.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server that may not answer yet.
pub(crate) struct Starting {
    process: Process,
    stdout: BufReader<ChildStdout>,
}

impl Starting {
    /// Waits until it serves; `Err` is how it ended instead.
    pub(crate) fn ready(mut self) -> Result<Server, ExitStatus> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        if line.is_empty() {
            return Err(self.process.0.wait().unwrap());
        }
        let Ok(welcome) = serde_json::from_str::<Welcome>(&line) else {
            // A document about what went wrong, or something else that no server says.
            return Err(self.process.0.wait().unwrap());
        };
        let server = Server { process: self.process, stdout: self.stdout, welcome };
        let anyone = server.client("nobody");
        let began = Instant::now();
        while let Err(error) = anyone.ready() {
            assert!(began.elapsed() < PATIENCE, "never ready: {error}");
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(server)
    }

    /// What it prints for people, up to a line that contains this, or all of it if none does.
    pub(crate) fn text_until(&mut self, wanted: &str) -> String {
        let mut text = String::new();
        loop {
            let mut line = String::new();
            let count = self.stdout.read_line(&mut line).unwrap();
            text.push_str(&line);
            if count == 0 || line.contains(wanted) {
                return text;
            }
        }
    }

    /// SIGKILL, at whatever it is doing.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

/// A server that answers.
pub(crate) struct Server {
    process: Process,
    stdout: BufReader<ChildStdout>,
    pub(crate) welcome: Welcome,
}

impl Server {
    pub(crate) fn url(&self) -> &str {
        &self.welcome.url
    }

    /// The credentials of the first start.
    pub(crate) fn first(&self) -> &FirstStart {
        self.welcome.first.as_ref().unwrap()
    }

    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(self.url(), token).unwrap()
    }

    /// SIGKILL, at whatever it is doing. It is gone when this returns.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// SIGSTOP: it is there and does nothing, not even notice.
    pub(crate) fn freeze(&self) {
        self.process.signal(Signal::STOP);
    }

    /// SIGCONT: it goes on where it was, as if no time had passed.
    pub(crate) fn thaw(&self) {
        self.process.signal(Signal::CONT);
    }

    /// SIGTERM; it is not waited for.
    pub(crate) fn tell_to_stop(&self) {
        self.process.signal(Signal::TERM);
    }

    /// How it ended, and what else it had printed, if it ended in time.
    pub(crate) fn end_within(mut self, patience: Duration) -> Option<(ExitStatus, String)> {
        let status = self.process.end_within(patience)?;
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        Some((status, rest))
    }

    /// Runs a command as someone with this token.
    pub(crate) fn run(&self, token: &str, args: &[&str]) -> Output {
        program()
            .args(args)
            .env("BANKSMAN_URL", self.url())
            .env("BANKSMAN_TOKEN", token)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// The same with `--json`, for the document that it prints when all goes well.
    pub(crate) fn run_json<T: DeserializeOwned>(&self, token: &str, args: &[&str]) -> T {
        let output = self.run(token, &[args, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", said(&output));
        document(&output)
    }
}

/// The one document on standard output.
pub(crate) fn document<T: DeserializeOwned>(output: &Output) -> T {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

/// Everything that a command said, for messages.
pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The time now, as servers on this machine see it.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_micros(0).after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
}

/// The permission bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Exactly what was shown may run.
pub(crate) fn approval(action: &ActionView) -> DecisionRequest {
    DecisionRequest {
        decision: Decision::Approve,
        version: action.version,
        digest: action.digest,
        reason: None,
        args: None,
        message: None,
        remember: None,
    }
}
