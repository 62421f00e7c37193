//! `banksman check`: what a command, a program, a statement could do. No server, nothing runs.

use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_core::{Assessment, Finding, Kind, Risk, Span};
use banksman_risk::{Assessor, Catalogue};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::display::{Screen, Tone, Visible, wrap};
use crate::exit::Exit;
use crate::snippet::underline;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to check; `-` reads it from standard input
    #[arg(value_name = "TEXT", required_unless_present = "jsonl", allow_hyphen_values = true)]
    text: Option<String>,
    /// What it is: shell, python, javascript, sql, http, file or tool
    #[arg(long, default_value = "shell")]
    kind: Kind,
    /// Read lines {"kind": ..., "input": ...} from standard input and answer each with a line
    #[arg(long, conflicts_with_all = ["text", "kind"])]
    jsonl: bool,
    /// End with code 4 if the level is this or more, for scripts and hooks
    #[arg(long, value_name = "LEVEL", conflicts_with = "jsonl")]
    fail_at: Option<Risk>,
    /// Judge by this policy's rules as well
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    policy: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let assessor = Assessor::new(super::rules::catalogue(args.policy.as_deref())?);
    if args.jsonl {
        return match stream(&assessor, io::stdin().lock(), io::stdout().lock())? {
            0 => Ok(Exit::Done.into()),
            bad => {
                // Not an error to print a document about: every line has its answer.
                context.complain(&format!(
                    "banksman: {bad} lines were not {{\"kind\": ..., \"input\": ...}} and were answered with high"
                ))?;
                Ok(Exit::Usage.into())
            }
        };
    }
    let text = match args.text.as_deref() {
        Some("-") => read_all(io::stdin())?,
        Some(text) => text.to_owned(),
        None => String::new(),
    };
    let assessment = assessor.assess_text(args.kind, &text);
    if context.globals.json {
        context.print_json(&Answer::from(&placed(assessment.clone(), text.len())))?;
    } else {
        context.print(&explain(&text, &assessment, assessor.catalogue(), context.screen))?;
    }
    let failed = args.fail_at.is_some_and(|limit| assessment.level >= limit);
    Ok(if failed { Exit::Refused } else { Exit::Done }.into())
}

/// Not UTF-8 is read with its bad bytes replaced: what cannot be shown must not make the check stop.
fn read_all(mut from: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).context("cannot read standard input")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line to check.
#[derive(Deserialize)]
struct Question {
    kind: Kind,
    input: String,
}

/// What scripts rely on.
#[derive(Serialize)]
struct Answer<'a> {
    level: Risk,
    findings: &'a [Finding],
    resources: &'a [String],
    reversible: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    impact: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    recommendations: &'a [String],
}

impl<'a> From<&'a Assessment> for Answer<'a> {
    fn from(assessment: &'a Assessment) -> Self {
        Self {
            level: assessment.level,
            findings: &assessment.findings,
            resources: &assessment.resources,
            reversible: assessment.reversible,
            impact: assessment.impact.as_deref(),
            recommendations: &assessment.recommendations,
        }
    }
}

/// Answers a line with a line, at once: whoever asks may wait for it before asking the next.
/// Gives how many lines were no questions.
fn stream(assessor: &Assessor, mut from: impl BufRead, to: impl Write) -> anyhow::Result<u64> {
    let mut to = io::BufWriter::new(to);
    let mut line = Vec::new();
    let mut bad_lines = 0u64;
    loop {
        line.clear();
        if from.read_until(b'\n', &mut line).context("cannot read standard input")? == 0 {
            break;
        }
        let text = line.trim_ascii_end();
        let assessment = match serde_json::from_slice::<Question>(text) {
            Ok(question) => {
                placed(assessor.assess_text(question.kind, &question.input), question.input.len())
            }
            Err(error) => {
                bad_lines += 1;
                unread(&error, text.len())
            }
        };
        let written = serde_json::to_writer(&mut to, &Answer::from(&assessment))
            .map_err(io::Error::from)
            .and_then(|()| to.write_all(b"\n"))
            .and_then(|()| to.flush());
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            done => done.context("cannot write the answer")?,
        }
    }
    Ok(bad_lines)
}

/// One answer per line, always, an empty one too, and never a harmless one for what was not understood.
fn unread(error: &serde_json::Error, length: usize) -> Assessment {
    let finding = Finding::new("unread.line", Risk::High, format!("not a question: {error}"));
    placed(Assessment { reversible: false, ..Assessment::of(vec![finding]) }, length)
}

/// What is about no place in particular is about all of it: programs can rely on a place.
fn placed(mut assessment: Assessment, length: usize) -> Assessment {
    let whole = Span { start: 0, end: u32::try_from(length).unwrap_or(u32::MAX) };
    for finding in &mut assessment.findings {
        finding.span.get_or_insert(whole);
    }
    assessment
}

/// The assessment for a person: each finding with its place underlined.
fn explain(text: &str, assessment: &Assessment, catalogue: &Catalogue, screen: Screen) -> String {
    let mut out = String::new();
    let room = screen.columns().saturating_sub(2);
    let mut line = |indent: &str, text: &str| {
        out.push_str(format!("{indent}{text}").trim_end());
        out.push('\n');
    };
    let level = screen.paint(assessment.level.into(), assessment.level.as_str());
    let undo = match (assessment.level, assessment.reversible) {
        (Risk::None, _) => "nothing was found that could do harm",
        (_, true) => "nothing was found that cannot be undone",
        (_, false) => "cannot be undone",
    };
    line("", &format!("{level}  {undo}"));
    for finding in &assessment.findings {
        line("", "");
        let level = screen.paint(finding.level.into(), finding.level.as_str());
        line("", &format!("{level}  {}", screen.paint(Tone::Bold, &finding.rule)));
        for piece in wrap(&Visible(&finding.reason).to_string(), room) {
            line("  ", &piece);
        }
        if let Some(span) = finding.span {
            for piece in underline(text, span, room) {
                line("  ", &piece);
            }
        }
        let advice =
            catalogue.rules().find(|rule| rule.id == finding.rule).and_then(|rule| rule.advice.as_ref());
        if let Some(advice) = advice {
            for piece in wrap(&format!("-> {}", Visible(advice)), room) {
                line("  ", &piece);
            }
        }
    }
    if !assessment.resources.is_empty() {
        line("", "");
        line("", &screen.paint(Tone::Bold, "It touches"));
        for resource in &assessment.resources {
            for piece in wrap(&Visible(resource).to_string(), room) {
                line("  ", &piece);
            }
        }
    }
    out
}

/// An assessor with the built-in rules, for the tests of what is printed.
#[cfg(test)]
fn builtin() -> Assessor {
    Assessor::new(Catalogue::builtin().unwrap_or_else(|error| panic!("{error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &[u8]) -> (Vec<serde_json::Value>, bool) {
        let mut out = Vec::new();
        let done = stream(&builtin(), input, &mut out).unwrap() == 0;
        let lines = String::from_utf8(out).unwrap();
        (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), done)
    }

    #[test]
    fn every_line_gets_a_line() {
        let (lines, done) = answers(
            b"{\"kind\": \"shell\", \"input\": \"rm -rf /\"}\n{\"kind\": \"shell\", \"input\": \"ls\"}\n{\"kind\": \"sql\", \"input\": \"DROP TABLE users\"}",
        );
        assert!(done);
        let levels: Vec<&str> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
        assert_eq!(levels, ["critical", "none", "high"]);
        for line in &lines {
            assert!(line["findings"].is_array() && line["resources"].is_array());
            assert!(line["reversible"].is_boolean());
        }
        let finding = &lines[0]["findings"][0];
        assert!(
            finding["rule"].is_string() && finding["reason"].is_string() && finding["span"]["end"].is_u64()
        );
    }

    #[test]
    fn a_line_that_is_no_question_is_answered_with_high() {
        let (lines, done) = answers(b"nonsense\n{\"kind\": \"cobol\", \"input\": \"\"}\n\xff\xfe\n");
        assert!(!done);
        assert_eq!(lines.len(), 3);
        for (line, end) in lines.iter().zip([8, 30, 2]) {
            assert_eq!((&line["level"], &line["reversible"]), (&"high".into(), &false.into()), "{line}");
            assert_eq!(line["findings"][0]["span"]["end"], end, "{line}");
        }
    }

    #[test]
    fn an_empty_line_has_its_answer_too_so_that_answers_stay_in_step() {
        let (lines, done) = answers(b"\n{\"kind\": \"shell\", \"input\": \"ls\"}\r\n  \n");
        assert!(!done);
        let levels: Vec<&str> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
        assert_eq!(levels, ["high", "none", "high"]);
        assert_eq!(lines[0]["findings"][0]["span"], serde_json::json!({ "start": 0, "end": 0 }));
    }

    #[test]
    fn the_explanation_points_at_the_place() {
        let text = "cd /srv && git push -f origin main";
        let assessor = builtin();
        let screen = Screen { terminal_columns: Some(80), colours: false };
        let shown = explain(text, &assessor.assess_text(Kind::Shell, text), assessor.catalogue(), screen);
        assert!(shown.starts_with("high  cannot be undone\n"), "{shown}");
        assert!(shown.contains("   1 | cd /srv && git push -f origin main\n"), "{shown}");
        assert!(shown.contains("^^^"), "{shown}");
        assert!(shown.contains("-> "), "{shown}");
    }

    #[test]
    fn harmless_is_said_in_one_line() {
        let assessor = builtin();
        let screen = Screen { terminal_columns: None, colours: false };
        let shown = explain("ls", &assessor.assess_text(Kind::Shell, "ls"), assessor.catalogue(), screen);
        assert_eq!(shown, "none  nothing was found that could do harm\n");
    }
}
