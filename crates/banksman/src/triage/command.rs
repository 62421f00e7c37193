//! A program that is asked: the question on its standard input, the answer on its standard output.

use std::process::Stdio;

use banksman_engine::TriageQuestion;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::{MAX_ANSWER, in_short, question_text};

/// What a program gets to know of our environment. Tokens and keys are not among it.
const PASSED_ON: &[&str] = &["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

pub(super) async fn ask(words: &[String], question: &TriageQuestion) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("no program is named")?;
    let text = question_text(question)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Whoever takes too long is ended, not left behind.
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
    let mut input = child.stdin.take().ok_or("it has no standard input")?;
    let output = child.stdout.take().ok_or("it has no standard output")?;
    let complaints = child.stderr.take().ok_or("it has no standard error")?;
    let write = async {
        // A program may answer without reading to the end, so a closed pipe is no failure.
        let _ = input.write_all(text.as_bytes()).await;
        drop(input);
    };
    let (mut answer, mut complaint) = (Vec::new(), Vec::new());
    let (mut output, mut complaints) = (output.take(MAX_ANSWER), complaints.take(MAX_ANSWER));
    let ((), read, _, status) = tokio::join!(
        write,
        output.read_to_end(&mut answer),
        complaints.read_to_end(&mut complaint),
        child.wait(),
    );
    read.map_err(|error| format!("its answer cannot be read: {error}"))?;
    let status = status.map_err(|error| format!("it cannot be waited for: {error}"))?;
    if !status.success() {
        return Err(format!(
            "{program} ended with {status}: {}",
            in_short(&String::from_utf8_lossy(&complaint))
        ));
    }
    String::from_utf8(answer).map_err(|_| "its answer is not UTF-8".to_owned())
}
