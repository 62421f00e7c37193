//! Everything about one action, as lines.

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::visible::{one_line, width};
use banksman_core::wire::{ActionView, ContextView};
use banksman_core::{Risk, Status};
use banksman_review::{
    Approvals, Change, ChangedLine, Claim, Comparison, Numbered, Row, Said, Shown, claims, decided, meaning,
    numbered, oddities, passed_on_to, rows, stretches, to_the_second, undo,
};
use ratatui::text::{Line, Span};

use crate::paint::{Paint, Tone, foreign};
use crate::sheet::Sheet;

/// Beyond this the exact text is the better picture, and it is always there.
const MOST_ROWS: usize = 200;

/// The whole page.
pub(crate) fn page(action: &ActionView, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let mut sheet = Sheet::new(paint, width);
    sheet.heading("What will run");
    what_runs(&mut sheet, action);
    if let Some(change) = Change::of_action(action) {
        sheet.heading(change.title);
        comparison(&mut sheet, &change);
    }
    sheet.heading("Why it is held");
    judged(&mut sheet, action);
    sheet.heading("People");
    people(&mut sheet, action);
    sheet.heading("What the agent says (nobody checked it)");
    says(&mut sheet, &action.context);
    sheet.heading("Exact text");
    sheet.quoted(&one_line(&action.args));
    sheet.field("digest", Tone::Plain, &action.digest.to_string());
    sheet.field("action", Tone::Plain, &format!("{}, version {}", action.id, action.version));
    sheet.into_lines()
}

/// What the dialog shows before it asks: the short of it, and exactly what would run.
pub(crate) fn question(action: &ActionView, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let mut sheet = Sheet::new(paint, width);
    summary(&mut sheet, action);
    sheet.blank();
    let heading = match Shown::of(action) {
        Shown::Whole => "Exactly this will run:",
        Shown::InPart | Shown::SomethingElse => "This is shown of what will run:",
    };
    sheet.own(Tone::Bold, heading);
    what_runs(&mut sheet, action);
    sheet.into_lines()
}

/// What the dialog shows before an edit is sent.
pub(crate) fn edit(
    action: &ActionView,
    args: &CanonicalJson,
    paint: Paint,
    width: usize,
) -> Vec<Line<'static>> {
    let mut sheet = Sheet::new(paint, width);
    sheet.field("tool", Tone::Bold, &format!("{} ({})", action.tool, action.kind));
    sheet.field("agent", Tone::Plain, &action.agent);
    sheet.blank();
    let change = Change::of_edit(&action.args, args);
    sheet.own(Tone::Bold, "What you change:");
    comparison(&mut sheet, &change);
    sheet.blank();
    let heading = match Shown::of(action) {
        Shown::Whole => "Exactly this will run, if policy agrees:",
        Shown::InPart | Shown::SomethingElse => {
            "This will run, if policy agrees, and what is still [redacted] with its hidden value:"
        }
    };
    sheet.own(Tone::Bold, heading);
    sheet.json(args);
    sheet.into_lines()
}

/// One of several in a batch: the short of it, and exactly what would run.
pub(crate) fn item(sheet: &mut Sheet, action: &ActionView) {
    sheet.field("agent", Tone::Plain, &action.agent);
    if let Some(worst) = action.assessment.findings.iter().max_by_key(|finding| finding.level) {
        sheet.field("found", worst.level.into(), &worst.reason);
    }
    for message in &action.verdict.messages {
        sheet.field("policy says", Tone::Bold, message);
    }
    what_runs(sheet, action);
}

fn summary(sheet: &mut Sheet, action: &ActionView) {
    let verdict = &action.verdict;
    sheet.field("tool", Tone::Bold, &format!("{} ({})", action.tool, action.kind));
    sheet.field("agent", Tone::Plain, &action.agent);
    let risk = verdict.risk.as_str().to_uppercase();
    sheet.field("risk", verdict.risk.into(), &format!("{risk}, {}", undo(&action.assessment)));
    let approvals = Approvals::of(action);
    let roles = if approvals.missing_roles.is_empty() {
        String::new()
    } else {
        format!(", still needed: {}", approvals.missing_roles.join(", "))
    };
    sheet.field(
        "held",
        Tone::Plain,
        &format!("{} by {}: {}{roles}", verdict.tier, verdict.rule, approvals.short()),
    );
    for message in &verdict.messages {
        sheet.field("policy says", Tone::Bold, message);
    }
    findings(sheet, &numbered(&action.assessment.findings));
    // The dialog of old: why, what it costs and touches, how to take it back. All of it is the agent's word. What is not
    // words is on the page.
    for Claim { name, said } in claims(&action.context) {
        if let Said::Words(words) = said {
            sheet.item(Tone::Plain, &format!("says, {name}:"), &words);
        }
    }
}

/// The arguments, value by value, with what was found underlined, and hosts that are not what they look like.
fn what_runs(sheet: &mut Sheet, action: &ActionView) {
    if let Some(warning) = Shown::of(action).warning() {
        sheet.own(Tone::Warning, warning);
    }
    if let Some(server) = passed_on_to(&action.context) {
        sheet.item(Tone::Plain, "passed on to the server", server);
    }
    let Ok(args) = action.args.to_json() else {
        return sheet.quoted(action.args.as_str());
    };
    let found = numbered(&action.assessment.findings);
    let all = rows(&args);
    if all.is_empty() {
        sheet.own(Tone::Faint, "  no arguments");
    }
    for row in all.iter().take(MOST_ROWS) {
        value(sheet, row, &found);
    }
    if let Some(left_out) = all.len().checked_sub(MOST_ROWS).filter(|count| *count > 0) {
        sheet.own(Tone::Warning, &format!("  {left_out} more values, all of them here:"));
        sheet.json(&action.args);
    }
    for odd in oddities(&args) {
        let text = format!("Look closely: {} {} {}", odd.host, odd.problem, odd.like);
        sheet.item(Tone::Alarm, "!", &text);
    }
}

fn value(sheet: &mut Sheet, row: &Row<'_>, found: &[Numbered<'_>]) {
    let name = &row.path;
    match row.value {
        Json::String(text) => {
            let here: Vec<Numbered<'_>> = found
                .iter()
                .filter(|found| found.finding.argument.as_deref() == Some(&row.pointer))
                .copied()
                .collect();
            let is_short = here.iter().all(|found| found.finding.span.is_none())
                && width(&foreign(name)) + width(&foreign(text)) < 60
                && !text.contains(['\n', '\t']);
            if is_short {
                sheet.entry(&format!("{name}: \"{text}\""));
            } else {
                sheet.entry(&format!("{name}:"));
                sheet.marked(text, &stretches(text, &here));
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            sheet.entry(&format!("{name}: {}", CanonicalJson::of(row.value).as_str()));
        }
    }
}

fn comparison(sheet: &mut Sheet, change: &Change) {
    match change.compare() {
        Comparison::TooLong { before, after } => sheet.own(
            Tone::Warning,
            &format!("  Too long to compare here: {before} bytes before, {after} after."),
        ),
        Comparison::Places(places) if places.is_empty() => sheet.own(Tone::Faint, "  Nothing differs."),
        Comparison::Places(places) => {
            for (position, lines) in places.iter().enumerate() {
                if position > 0 {
                    sheet.own(Tone::Faint, "  ...");
                }
                for line in lines {
                    match line {
                        ChangedLine::Same(text) => sheet.changed(' ', Tone::Faint, text),
                        ChangedLine::Gone(text) => sheet.changed('-', Tone::Alarm, text),
                        ChangedLine::New(text) => sheet.changed('+', Tone::Fine, text),
                    }
                }
            }
        }
    }
}

fn findings(sheet: &mut Sheet, found: &[Numbered<'_>]) {
    let mut sorted: Vec<&Numbered<'_>> = found.iter().collect();
    sorted.sort_by_key(|found| std::cmp::Reverse(found.finding.level));
    for Numbered { number, finding } in sorted {
        let text = format!("{}: {} ({})", finding.level, finding.reason, finding.rule);
        sheet.item(finding.level.into(), &format!("[{number}]"), &text);
    }
}

fn judged(sheet: &mut Sheet, action: &ActionView) {
    let (verdict, assessment) = (&action.verdict, &action.assessment);
    for message in &verdict.messages {
        sheet.field("policy says", Tone::Bold, message);
    }
    sheet.field("risk", verdict.risk.into(), verdict.risk.as_str());
    sheet.field("tier", Tone::Plain, verdict.tier.as_str());
    sheet.field("rule", Tone::Plain, &verdict.rule);
    let also: Vec<&str> =
        verdict.matched.iter().filter(|rule| **rule != verdict.rule).map(String::as_str).collect();
    if !also.is_empty() {
        sheet.field("also matched", Tone::Plain, &also.join(", "));
    }
    findings(sheet, &numbered(&assessment.findings));
    if let Some(impact) = &assessment.impact {
        sheet.field("impact", Tone::Plain, impact);
    }
    let tone = if assessment.reversible { Tone::Plain } else { Risk::High.into() };
    sheet.field("undo", tone, undo(assessment));
    for (at, resource) in assessment.resources.iter().enumerate() {
        sheet.field(if at == 0 { "touches" } else { "" }, Tone::Plain, resource);
    }
    for (at, advice) in assessment.recommendations.iter().enumerate() {
        sheet.field(if at == 0 { "look at" } else { "" }, Tone::Plain, advice);
    }
    if let Some(triage) = &assessment.triage {
        let words = triage.rationale.as_deref().or(triage.problem.as_deref()).unwrap_or("no words");
        sheet.field("triage", Tone::Plain, words);
    }
}

fn people(sheet: &mut Sheet, action: &ActionView) {
    let approvals = Approvals::of(action);
    sheet.own(Tone::Plain, &format!("  {}.", approvals.short()));
    if action.status == Status::Pending {
        for role in &approvals.missing_roles {
            sheet.item(Tone::Plain, "still needed: someone of", role);
        }
    }
    for vote in &action.votes {
        let text = format!(
            "{} {} version {} at {}",
            vote.by,
            decided(vote.decision),
            vote.version,
            to_the_second(vote.at)
        );
        sheet.item(Tone::Plain, "-", &text);
        for said in [&vote.reason, &vote.message].into_iter().flatten() {
            sheet.quoted(said);
        }
    }
    if action.status != Status::Pending {
        sheet.item(Tone::Bold, action.status.as_str(), meaning(action.status));
    }
    if let Some(batch) = action.batch {
        sheet.field("batch", Tone::Plain, &batch.to_string());
    }
}

fn says(sheet: &mut Sheet, context: &ContextView) {
    let claims = claims(context);
    if claims.is_empty() {
        sheet.line(vec![Span::raw("  Nothing.")]);
    }
    for Claim { name, said } in &claims {
        match said {
            Said::Words(words) => sheet.field(name, Tone::Plain, words),
            Said::Json(value) => {
                sheet.field(name, Tone::Plain, "");
                sheet.json(value);
            }
        }
    }
}
