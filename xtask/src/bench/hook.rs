//! `cargo xtask bench hook`: a hook from start to answer, as a whole process, beside `/bin/true` and `cat`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::server::{self, House};
use super::{median, percentile};

/// What lets the measured call run at once: a held one would measure people.
const POLICY: &str = "version: 1\ntools:\n  Bash: {tier: auto}\n";

pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (mut runs, mut binary) = (200, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match *word {
            "--runs" => runs = value()?.parse()?,
            "--binary" => binary = Some(PathBuf::from(value()?)),
            _ => bail!("unknown option {word}"),
        }
    }
    let binary = match binary {
        Some(binary) => binary,
        None => server::build()?,
    };
    let folder = tempfile::tempdir()?;
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, POLICY)?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data)?;
    std::fs::copy(&policy, data.join("policy.yaml"))?;
    let house = House::start(&binary, vec![data], None)?;
    let address = house.addresses().first().map(|address| format!("http://{address}")).context("no node")?;

    let contenders = ["true", "cat", "embedded", "server"];
    let mut samples: Vec<Vec<f64>> = contenders.iter().map(|_| Vec::new()).collect();
    // They take turns, so that whatever else the machine does troubles all of them alike.
    for run in 0..runs {
        for (name, samples) in contenders.iter().zip(&mut samples) {
            let mut command = match *name {
                "true" => Command::new("/bin/true"),
                "cat" => Command::new("cat"),
                "embedded" => hook(&binary, folder.path(), &["--policy", &policy.to_string_lossy()]),
                _ => {
                    let mut command = hook(&binary, folder.path(), &[]);
                    command.env("BANKSMAN_URL", &address);
                    command.env("BANKSMAN_TOKEN", &house.agent);
                    command
                }
            };
            samples.push(timed(&mut command, &input(run), name)?);
        }
    }
    for (name, mut samples) in contenders.iter().zip(samples) {
        let p99 = percentile(&mut samples, 0.99);
        println!("{}", json!({ "bench": "hook", "what": name, "p50_ms": median(samples), "p99_ms": p99 }));
    }
    Ok(())
}

fn hook(binary: &Path, home: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(["hook", "claude-code"]).args(more).env_clear().env("HOME", home);
    command
}

fn input(run: usize) -> String {
    json!({
        "session_id": "bench", "transcript_path": "/x", "cwd": "/srv/app", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": format!("toolu_{run}"),
        "tool_input": { "command": "cargo test --workspace 2>&1 | tail -n 20", "description": "Run the tests" },
    })
    .to_string()
}

/// Milliseconds from before the start to after the end.
fn timed(command: &mut Command, input: &str, name: &str) -> anyhow::Result<f64> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let began = Instant::now();
    let mut child = command.spawn()?;
    // `true` does not read.
    let _ = child.stdin.take().context("no standard input")?.write_all(input.as_bytes());
    let output = child.wait_with_output()?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    let answer = String::from_utf8_lossy(&output.stdout);
    // What was not let run was answered some other way, and that is not what is measured.
    if matches!(name, "embedded" | "server") && !answer.contains("\"allow\"") {
        bail!("{name}: {answer}");
    }
    Ok(took)
}
