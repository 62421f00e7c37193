//! `banksman show`: everything about one action.

use std::process::ExitCode;

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::wire::{ActionView, DeliveryView, OutcomeView, ResolutionView, VoteView};
use banksman_core::{Status, Timestamp};
use banksman_review::{Approvals, Claim, Said, Shown, chain, claims, meaning, passed_on_to, standing, undo};

use crate::context::Context;
use crate::exit::Exit;
use crate::review::{EDITED, commands};
use crate::select;
use crate::sheet::Sheet;
use crate::span::both;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The action: its id, or at least 4 characters that a pending one begins or ends with
    id: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let client = context.client()?;
    let id = select::resolve(&client, &args.id)?;
    let action = client.action(id)?;
    if context.globals.json {
        context.print_json(&action)?;
    } else {
        // An agent's own token shows the action, and not who was told of it.
        let told = client.notifications_of(id).map(|told| told.items).unwrap_or_default();
        context.print(&page(&action, &told, context))?;
    }
    Ok(Exit::Done.into())
}

fn page(action: &ActionView, told: &[DeliveryView], context: &Context) -> String {
    let now = context.now;
    let mut sheet = Sheet::new(context.screen);
    identity(&mut sheet, action, now);
    let shown = Shown::of(action);
    sheet.section(match shown {
        Shown::Whole => "Arguments, exactly what would run",
        Shown::InPart | Shown::SomethingElse => "Arguments, what is shown of them",
    });
    if let Some(warning) = shown.warning() {
        sheet.note(warning);
    }
    if let Some(server) = passed_on_to(&action.context) {
        sheet.field("passed on", server);
    }
    sheet.json(&action.args);
    long_texts(&mut sheet, &action.args);
    edited(&mut sheet, action);
    policy(&mut sheet, action);
    votes(&mut sheet, action, now);
    if let Some(resolution) = &action.resolution {
        resolved(&mut sheet, resolution, action.proposed_args.as_ref(), now);
    }
    if let Some(outcome) = &action.outcome {
        ended(&mut sheet, outcome, now);
    }
    who_was_told(&mut sheet, told, now);
    triaged(&mut sheet, action);
    untrusted(&mut sheet, action);
    if action.status == Status::Pending {
        sheet.section("To decide");
        commands(&mut sheet, action.id);
    }
    sheet.into_text()
}

fn who_was_told(sheet: &mut Sheet, told: &[DeliveryView], now: Timestamp) {
    if told.is_empty() {
        return;
    }
    sheet.section("Who was told");
    for delivery in told {
        let DeliveryView { purpose, channel, recipient, status, updated_at, .. } = delivery;
        let why = delivery.error.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        sheet
            .item(&format!("{recipient} by {channel} ({purpose}): {status} {}{why}", both(now, *updated_at)));
    }
}

fn identity(sheet: &mut Sheet, action: &ActionView, now: Timestamp) {
    sheet.section("Action");
    sheet.field("id", &action.id.to_string());
    sheet.field("status", &format!("{}: {}", action.status, meaning(action.status)));
    sheet.field("agent", &action.agent);
    sheet.field("tool", &action.tool);
    sheet.field("kind", action.kind.as_str());
    sheet.field("proposed", &both(now, action.created_at));
    if let Some(at) = action.expires_at {
        let name = match action.status {
            Status::Authorised => "lapses",
            Status::Executing => "lease ends",
            Status::Pending
            | Status::Blocked
            | Status::Denied
            | Status::Expired
            | Status::Cancelled
            | Status::Succeeded
            | Status::Failed
            | Status::Unknown
            | Status::Lapsed
            | Status::Revoked => "expires",
        };
        sheet.field(name, &both(now, at));
    }
    if let Some(batch) = &action.batch {
        sheet.field("batch", &batch.to_string());
    }
    sheet.field("version", &action.version.to_string());
    // Just fits 80 columns, so that it can be copied whole.
    sheet.verbatim(&format!("digest {}", action.digest));
}

/// Scripts and letters among the arguments, line by line: as one JSON string nobody can read them.
fn long_texts(sheet: &mut Sheet, args: &CanonicalJson) {
    let Ok(Json::Object(members)) = args.to_json() else { return };
    for (key, value) in members.iter() {
        if let Some(text) = value.as_str().filter(|text| text.contains('\n')) {
            sheet.section("The same, line by line");
            sheet.field("argument", key);
            sheet.lines(text);
        }
    }
}

fn policy(sheet: &mut Sheet, action: &ActionView) {
    let verdict = &action.verdict;
    sheet.section("Risk and policy");
    sheet.risk("risk", verdict.risk);
    sheet.field("tier", verdict.tier.as_str());
    sheet.field("rule", &verdict.rule);
    if verdict.matched.len() > 1 {
        sheet.field("matched", &verdict.matched.join(", "));
    }
    for message in &verdict.messages {
        sheet.field("message", message);
    }
    if !verdict.redact.is_empty() {
        sheet.field("redacted", &verdict.redact.join(", "));
    }
    if !verdict.routes.is_empty() {
        sheet.field("routes", &verdict.routes.join(", "));
    }
    if verdict.require_reason {
        sheet.field("reason", "needed with a decision");
    }
    if verdict.require_passkey {
        sheet.field("passkey", "an approval needs the touch of one, in the console");
    }
    sheet.field("remember", if verdict.allow_remember { "allowed" } else { "not allowed" });
    if !verdict.escalation.is_empty() {
        sheet.field("unanswered", &chain(&verdict.escalation));
    }
    if action.observed {
        sheet.note("Policy only observes: this was let run, and people would have been asked.");
    }
    sheet.field("undo", undo(&action.assessment));
    for finding in &action.assessment.findings {
        sheet.item(&format!("{}: {} [{}]", finding.level, finding.reason, finding.rule));
    }
}

/// What an evaluator outside said. It has read what the agent wrote, and may have been talked into it.
fn triaged(sheet: &mut Sheet, action: &ActionView) {
    let Some(triage) = &action.assessment.triage else { return };
    sheet.section("What triage said, untrusted");
    if let Some(problem) = &triage.problem {
        sheet.field("no answer", problem);
    }
    if triage.denied {
        sheet.field("denied", "yes");
    }
    if let Some(tier) = triage.tier {
        sheet.field("tier", tier.as_str());
    }
    if let Some(risk) = triage.risk {
        sheet.risk("risk", risk);
    }
    if let Some(priority) = triage.priority {
        sheet.field("priority", &format!("{priority} of 100"));
    }
    if let Some(rationale) = &triage.rationale {
        sheet.lines(rationale);
    }
}

fn votes(sheet: &mut Sheet, action: &ActionView, now: Timestamp) {
    if action.votes.is_empty() && action.status != Status::Pending {
        return;
    }
    sheet.section("Decisions");
    for vote in &action.votes {
        sheet.item(&said(vote, action.version, now));
    }
    if action.status == Status::Pending {
        sheet.note(&missing(action));
    }
}

fn said(vote: &VoteView, version: u32, now: Timestamp) -> String {
    let mut text = format!("{} by {}, {}", vote.decision, vote.by, both(now, vote.at));
    text.push_str(&standing(&vote.acting, vote.solo_operator));
    if vote.version != version {
        text.push_str(&format!(", on version {}, which no longer counts", vote.version));
    }
    if let Some(reason) = &vote.reason {
        text.push_str(&format!("; reason: {reason}"));
    }
    if let Some(message) = &vote.message {
        text.push_str(&format!("; message: {message}"));
    }
    text
}

/// What the quorum still lacks.
fn missing(action: &ActionView) -> String {
    let Approvals { given, needed, missing_roles } = Approvals::of(action);
    let mut text = match needed.saturating_sub(given) {
        0 => format!("{given} approvals given, but not by people of all needed roles"),
        1 => format!("1 more approval is needed ({given} of {needed} given)"),
        more => format!("{more} more approvals are needed ({given} of {needed} given)"),
    };
    if needed > 1 {
        text.push_str(", by different people");
    }
    if !missing_roles.is_empty() {
        text.push_str(&format!("; still missing: someone of {}", missing_roles.join(", someone of ")));
    }
    text + "."
}

/// What was proposed and what would run, where reviewers made the difference.
fn edited(sheet: &mut Sheet, action: &ActionView) {
    if let Some(proposed) = &action.proposed_args {
        sheet.section(EDITED);
        sheet.changes(proposed, &action.args);
    }
}

fn resolved(
    sheet: &mut Sheet,
    resolution: &ResolutionView,
    proposed: Option<&CanonicalJson>,
    now: Timestamp,
) {
    sheet.section("Resolution");
    sheet.field("by", &resolution.by);
    sheet.field("at", &both(now, resolution.at));
    if let Some(reason) = &resolution.reason {
        sheet.field("reason", reason);
    }
    if let Some(message) = &resolution.message {
        sheet.field("message", message);
    }
    if resolution.modified && proposed.is_none() {
        sheet.note("A reviewer changed the arguments: this is not what the agent proposed.");
    }
}

fn ended(sheet: &mut Sheet, outcome: &OutcomeView, now: Timestamp) {
    sheet.section("Outcome, as the agent reported it");
    sheet.field("status", outcome.status.as_str());
    sheet.field("at", &both(now, outcome.at));
    if let Some(error) = &outcome.error {
        sheet.field("error", "");
        sheet.lines(error);
    }
    if let Some(result) = &outcome.result {
        sheet.field("result", "");
        sheet.json(result);
    }
}

fn untrusted(sheet: &mut Sheet, action: &ActionView) {
    let claims = claims(&action.context);
    // What agents give for machines: the form that edits are made in, and where they go on.
    let machines = [("schema", &action.context.args_schema), ("checkpoint", &action.checkpoint)];
    if claims.is_empty() && machines.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    sheet.section("The agent says (untrusted)");
    for Claim { name, said } in &claims {
        match said {
            Said::Words(words) if words.contains('\n') => {
                sheet.field(name, "");
                sheet.lines(words);
            }
            Said::Words(words) => sheet.field(name, words),
            Said::Json(value) => {
                sheet.field(name, "");
                sheet.json(value);
            }
        }
    }
    for (name, value) in machines {
        if let Some(value) = value {
            sheet.field(name, "");
            sheet.json(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use banksman_core::wire::ContextView;

    use super::*;
    use crate::display::width;
    use crate::sample;

    #[test]
    fn a_page_with_everything_a_decision_needs() {
        let text = page(&sample::action(), &[], &sample::context());
        assert_eq!(
            text,
            "\
Action
  id          act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB
  status      pending: Held. Nothing has run.
  agent       support-bot
  tool        process_refund
  kind        tool
  proposed    2 min ago (2023-11-14T22:11:20Z)
  expires     in 4 min (2023-11-14T22:17:30Z)
  version     1
  digest sha256:545767bf419fc04e345e026e0ee40fa1718890af2d54be99b8b528efb250d941

Arguments, exactly what would run
  | {
  |   \"amount\": 899,
  |   \"order_id\": \"78291\"
  | }

Risk and policy
  risk        high
  tier        escalate
  rule        refunds
  matched     refunds, default
  remember    allowed
  undo        nothing was found that cannot be undone
  - high: an unknown tool [tool.unknown]

Decisions
  - approve by ann, 1 min ago (2023-11-14T22:12:20Z); reason: checked the order
  1 more approval is needed (1 of 2 given), by different people; still missing:
  someone of finance.

The agent says (untrusted)
  description Refund order 78291
  rationale
  | The customer asked.
  | Twice.

To decide
  banksman approve act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB
  banksman deny act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB --reason TEXT
  banksman deny act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB --message TEXT
  banksman modify act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB
"
        );
    }

    #[test]
    fn an_agents_words_forge_no_section() {
        let forged =
            format!("{}\n\nRisk and policy\n  risk  none\r\n\u{1b}[1mTo decide\u{202e}", " ".repeat(300));
        let mut action = sample::action();
        action.tool.clone_from(&forged);
        action.args = CanonicalJson::of(&Json::String(forged.clone()));
        action.digest = banksman_core::action_digest(&action.tool, action.kind, &action.args);
        action.context = ContextView {
            description: Some(forged.clone()),
            rationale: Some(forged.clone()),
            session: Some(forged.clone()),
            affected_systems: vec![forged.clone()],
            evidence: Some(action.args.clone()),
            ..ContextView::default()
        };
        action.outcome = Some(OutcomeView {
            status: Status::Failed,
            at: sample::NOW,
            result: Some(action.args.clone()),
            error: Some(forged),
        });
        let text = page(&action, &[], &sample::context());
        let headings: Vec<&str> =
            text.lines().filter(|line| !line.starts_with(' ') && !line.is_empty()).collect();
        assert_eq!(
            headings,
            [
                "Action",
                "Arguments, exactly what would run",
                "Risk and policy",
                "Decisions",
                "Outcome, as the agent reported it",
                "The agent says (untrusted)",
                "To decide"
            ]
        );
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }

    #[test]
    fn scripts_are_also_shown_line_by_line() {
        let mut action = sample::action();
        action.args = sample::json("{\"code\":\"import os\\n\\tos.remove('x')\\u001b\"}");
        let text = page(&action, &[], &sample::context());
        assert!(text.contains("  | import os\n  |     os.remove('x')\\u{1b}\n"), "{text}");
    }

    #[test]
    fn what_is_decided_needs_no_commands() {
        let mut action = sample::action();
        action.status = Status::Denied;
        action.resolution = Some(ResolutionView {
            by: "ann".into(),
            at: sample::NOW,
            reason: None,
            message: Some("use the form".into()),
            modified: true,
        });
        let text = page(&action, &[], &sample::context());
        assert!(text.contains("Resolution\n  by          ann\n"), "{text}");
        assert!(!text.contains("To decide") && !text.contains("is needed"), "{text}");
    }
}
