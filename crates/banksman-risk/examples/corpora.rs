//! Judges labelled cases and says how well: `cargo xtask bench risk [--corpora DIR] [--all-times]`.
//!
//! One JSON line per source and kind, and one for all; every case that was judged wrongly is in the report.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use banksman_core::{Kind, Risk};
use banksman_risk::{Assessor, Catalogue};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    source: String,
    kind: Kind,
    input: String,
    label: Label,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Label {
    Dangerous,
    Approval,
    Harmless,
}

impl Label {
    fn is_met_by(self, level: Risk) -> bool {
        match self {
            Self::Dangerous => level >= Risk::High,
            Self::Approval => level >= Risk::Medium,
            Self::Harmless => level <= Risk::Low,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Dangerous => "dangerous",
            Self::Approval => "approval",
            Self::Harmless => "harmless",
        }
    }
}

#[derive(Default)]
struct Score {
    met: BTreeMap<&'static str, (usize, usize)>,
    nanos: Vec<u128>,
}

impl Score {
    fn count(&mut self, label: Label, met: bool, nanos: u128) {
        let (good, all) = self.met.entry(label.name()).or_default();
        *good += usize::from(met);
        *all += 1;
        self.nanos.push(nanos);
    }

    fn line(&mut self, name: &str) -> String {
        self.nanos.sort_unstable();
        let at = |share: usize| {
            let index = (self.nanos.len() * share / 100).min(self.nanos.len().saturating_sub(1));
            self.nanos.get(index).copied().unwrap_or(0) as f64 / 1000.0
        };
        let mut line = serde_json::Map::new();
        line.insert("source".into(), name.into());
        line.insert("cases".into(), self.nanos.len().into());
        line.insert("p50_us".into(), at(50).into());
        line.insert("p99_us".into(), at(99).into());
        for (label, (good, all)) in &self.met {
            let share = |n: usize| (n as f64 * 10_000.0 / *all as f64).round() / 100.0;
            let (key, value) = match *label {
                "harmless" => ("false_alarm_percent", share(all - good)),
                "dangerous" => ("recall_dangerous_percent", share(*good)),
                _ => ("recall_approval_percent", share(*good)),
            };
            line.insert(key.into(), value.into());
        }
        serde_json::Value::Object(line).to_string()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = match arguments.as_slice() {
        [flag, folder] if flag == "--corpora" => PathBuf::from(folder),
        [] => PathBuf::from("../shared/corpora"),
        _ => return Err("usage: bench risk [--corpora DIR]".into()),
    };
    let assessor = Assessor::new(Catalogue::builtin().map_err(|error| error.to_string())?);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map_err(|error| format!("{}: {error}; name the folder with --corpora DIR", folder.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let mut report = String::from("# Cases that were judged wrongly\n");
    for file in &files {
        judge(file, &assessor, &mut scores, &mut report)?;
    }
    for (name, score) in &mut scores {
        println!("{}", score.line(name));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    std::fs::create_dir_all(&target)?;
    let path = target.join("risk-confusion.md");
    std::fs::write(&path, report)?;
    eprintln!("wrongly judged cases are in {}", path.display());
    Ok(())
}

fn judge(
    file: &Path,
    assessor: &Assessor,
    scores: &mut BTreeMap<String, Score>,
    report: &mut String,
) -> Result<(), Box<dyn Error>> {
    for (number, line) in std::fs::read_to_string(file)?.lines().enumerate() {
        let case: Case = serde_json::from_str(line)
            .map_err(|error| format!("{}:{}: {error}", file.display(), number + 1))?;
        // Once to warm the caches, as in a server that runs; the second time counts.
        let _ = assessor.assess_text(case.kind, &case.input);
        let before = Instant::now();
        let assessment = assessor.assess_text(case.kind, &case.input);
        let nanos = before.elapsed().as_nanos();
        let met = case.label.is_met_by(assessment.level);
        let name = format!("{} {}", case.source, case.kind);
        scores.entry(name).or_default().count(case.label, met, nanos);
        scores.entry("(all)".to_owned()).or_default().count(case.label, met, nanos);
        if !met {
            let rules: Vec<&str> = assessment.findings.iter().map(|finding| finding.rule.as_str()).collect();
            writeln!(
                report,
                "\n## {} {} is {}, judged {} {}\n{}\n```\n{}\n```",
                case.source,
                case.kind,
                case.label.name(),
                assessment.level,
                rules.join(" "),
                case.note.as_deref().unwrap_or_default(),
                case.input
            )?;
        }
    }
    Ok(())
}
