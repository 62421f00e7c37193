//! Every command that the documents show can be typed.

use std::path::{Path, PathBuf};

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::cli::Cli;

/// README, what is in `docs/`, and what comes along with the program.
fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir("../../docs").unwrap().map(|entry| entry.unwrap().path());
    let others =
        ["README.md", "CONTRIBUTING.md", "examples/policy.yaml"].map(|name| Path::new("../..").join(name));
    docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")).chain(others).collect()
}

/// The commands of a page: whole lines of its blocks for a shell, and what stands in its prose with an option.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block = None;
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(language), None) => block = Some(language == "sh"),
            (Some(_), Some(_)) => block = None,
            (None, Some(true)) => found.extend(typed(line)),
            (None, Some(false)) => {}
            (None, None) => {
                let quoted = line.split('`').skip(1).step_by(2);
                found.extend(quoted.filter(|part| part.contains(" --")).filter_map(typed));
            }
        }
    }
    found
}

/// Ours, without what a shell would do with it.
fn typed(line: &str) -> Option<String> {
    let line = line.split(" # ").next().unwrap_or(line).trim();
    let assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let mut rest = line;
    while let Some((_, after)) = rest.split_once(' ').filter(|(word, _)| assignment(word)) {
        rest = after.trim_start();
    }
    let ours = rest.strip_prefix("cargo run --release -- ").or_else(|| rest.strip_prefix("banksman "))?;
    let mut end = ours.len();
    for stop in [" | ", " > ", " < ", " && ", " || ", " & ", "; "] {
        // What is given to another program is not ours to cut.
        if !ours.contains(" -- ") && !ours.contains('\'') {
            end = end.min(ours.find(stop).unwrap_or(end));
        }
    }
    Some(format!("banksman {}", &ours[..end]))
}

#[test]
fn every_command_of_the_documents_can_be_typed() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for command in commands(&std::fs::read_to_string(&page).unwrap()) {
            count += 1;
            // What a shell puts in there is one word, whatever it is.
            let filled = command.replace("$(date +%F)", "2026-11-16");
            let words = shlex::split(&filled).unwrap_or_default();
            if let Err(error) = Cli::try_parse_from(words) {
                // A page may say ID where a real one goes, and `...` for what it does not repeat.
                let placeholder =
                    matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue);
                let help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
                if !placeholder && !help && !command.contains("...") {
                    wrong.push(format!("{}: {command}\n{error}", page.display()));
                }
            }
        }
    }
    assert!(count > 60, "only {count} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
