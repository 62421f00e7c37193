//! `banksman rules`: what is judged, and by which examples.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use banksman_core::{Kind, Risk};
use banksman_risk::{Catalogue, Example, Rule};

use crate::context::Context;
use crate::display::{Screen, Tone, Visible, wrap};
use crate::exit::{Exit, stop};
use crate::folder::read_policy;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show one rule whole, or those whose id begins with this (`git`, `git.push`)
    #[arg(value_name = "RULE")]
    rule: Option<String>,
    /// Only rules of this level or more
    #[arg(long, value_name = "LEVEL")]
    level: Option<Risk>,
    /// The catalogue as a page, as in docs/rules.md
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// This policy's rules as well
    #[arg(long, value_name = "PATH", env = "BANKSMAN_POLICY")]
    policy: Option<PathBuf>,
}

/// The built-in rules, and those of a policy if one is named.
pub(super) fn catalogue(policy: Option<&Path>) -> anyhow::Result<Arc<Catalogue>> {
    match policy.filter(|path| !path.as_os_str().is_empty()) {
        None => Ok(Catalogue::builtin()?),
        Some(path) => Ok(read_policy(path)?.assessor().shared_catalogue()),
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let catalogue = catalogue(args.policy.as_deref())?;
    let rules = catalogue.rules_with_examples()?;
    let chosen: Vec<&Rule> = rules.iter().filter(|rule| args.chooses(rule)).collect();
    if chosen.is_empty() {
        return Err(stop(Exit::NotFound, "there is no such rule; `banksman rules` lists them all"));
    }
    if context.globals.json {
        context.print_json(&chosen)?;
    } else if args.markdown {
        context.print(&markdown(&chosen))?;
    } else if args.rule.as_deref().is_some_and(|id| chosen.iter().any(|rule| rule.id == id)) {
        for rule in chosen {
            context.print(&whole(rule, context.screen))?;
        }
    } else {
        context.print(&list(&chosen, context.screen))?;
    }
    Ok(Exit::Done.into())
}

impl Args {
    fn chooses(&self, rule: &Rule) -> bool {
        let named = self.rule.as_ref().is_none_or(|wanted| {
            rule.id.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        named && self.level.is_none_or(|level| rule.level >= level)
    }
}

fn list(rules: &[&Rule], screen: Screen) -> String {
    let widest = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let room = screen.columns().saturating_sub(widest + 12).max(20);
    let mut out = String::new();
    for rule in rules {
        let mut pieces = wrap(&Visible(&rule.reason).to_string(), room).into_iter();
        let level = screen.paint(rule.level.into(), &format!("{:<8}", rule.level.as_str()));
        let first = pieces.next().unwrap_or_default();
        let _ = writeln!(out, "{level}  {:<widest$}  {}", rule.id, first.trim_end());
        for piece in pieces {
            let _ = writeln!(out, "{:<indent$}{}", "", piece.trim_end(), indent = widest + 12);
        }
    }
    let _ = writeln!(out, "\n{} rules. `banksman rules ID` shows one whole.", rules.len());
    out
}

fn whole(rule: &Rule, screen: Screen) -> String {
    let mut out = String::new();
    let undo = if rule.reversible { "can be undone" } else { "cannot be undone" };
    let level = screen.paint(rule.level.into(), rule.level.as_str());
    let _ = writeln!(out, "{}  {level}, {undo}", screen.paint(Tone::Bold, &rule.id));
    let advice = rule.advice.iter().map(|advice| format!("-> {advice}"));
    for text in std::iter::once(rule.reason.clone()).chain(advice) {
        for piece in wrap(&Visible(&text).to_string(), screen.columns().saturating_sub(2)) {
            let _ = writeln!(out, "  {}", piece.trim_end());
        }
    }
    for (heading, examples) in
        [("It notices", &rule.examples.matches), ("It leaves alone", &rule.examples.differs)]
    {
        let _ = writeln!(out, "\n{heading}");
        for example in examples {
            let _ = writeln!(out, "  {}", Visible(&shown(example, rule.examples.kind)));
        }
    }
    out
}

fn shown(example: &Example, usual: Kind) -> String {
    match example.parts(usual) {
        (Kind::Shell, text) => text.to_owned(),
        (kind, text) => format!("{kind}: {text}"),
    }
}

/// The catalogue as a page: a section per subject, a table row per rule.
fn markdown(rules: &[&Rule]) -> String {
    let mut out = String::from(
        "# Rules\n\n\
         What Banksman knows to be dangerous, and by which examples. This page is made by `banksman rules\n\
         --markdown`; a test keeps it in step. Each rule's examples are run by the tests, and those of rules of your own whenever they are loaded.\n",
    );
    let _ = writeln!(out, "\n{} rules.", rules.len());
    let mut subject = "";
    for rule in rules {
        let own = rule.id.split('.').next().unwrap_or_default();
        if own != subject {
            subject = own;
            let _ = write!(
                out,
                "\n## {subject}\n\n| rule | level | undone | why | notices | leaves alone |\n|---|---|---|---|---|---|\n"
            );
        }
        let why = match &rule.advice {
            Some(advice) => format!("{} *{advice}*", rule.reason),
            None => rule.reason.clone(),
        };
        let first = |examples: &[Example]| {
            examples.first().map(|example| code(&shown(example, rule.examples.kind))).unwrap_or_default()
        };
        let undone = if rule.reversible { "yes" } else { "no" };
        let _ = writeln!(
            out,
            "| `{}` | {} | {undone} | {} | {} | {} |",
            rule.id,
            rule.level,
            why.replace('|', "\\|"),
            first(&rule.examples.matches),
            first(&rule.examples.differs),
        );
    }
    out
}

/// A text in a cell of a table, as code.
fn code(text: &str) -> String {
    let text = Visible(text).to_string().replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `BANKSMAN_UPDATE=1 cargo nextest run -p banksman rules` writes the page anew.
    #[test]
    fn the_page_about_rules_is_in_step() {
        let path = Path::new("../../docs/rules.md");
        let catalogue = Catalogue::builtin().unwrap_or_else(|error| panic!("{error}"));
        let rules = catalogue.rules_with_examples().unwrap_or_else(|error| panic!("{error}"));
        let made = markdown(&rules.iter().collect::<Vec<_>>());
        if std::env::var_os("BANKSMAN_UPDATE").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            made == kept,
            "docs/rules.md is out of step: BANKSMAN_UPDATE=1 cargo nextest run -p banksman rules"
        );
    }

    #[test]
    fn a_prefix_is_whole_words() {
        let catalogue = Catalogue::builtin().unwrap_or_else(|error| panic!("{error}"));
        let args = |rule: &str| Args { rule: Some(rule.into()), level: None, markdown: false, policy: None };
        let count = |rule: &str| catalogue.rules().filter(|r| args(rule).chooses(r)).count();
        assert!(count("git") > 3);
        assert_eq!(count("gi"), 0);
    }
}
