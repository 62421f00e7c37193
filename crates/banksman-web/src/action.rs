//! One action: what will run, in full and exactly, and everything that bears on the decision.

use banksman_core::Status;
use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, DeliveryView, OutcomeView, ResolutionView};
use banksman_review::{Approvals, Change, Said, claims, decided, meaning, numbered, passed_on_to, undo};
use maud::{Markup, html};

use crate::decide::decide;
use crate::diff;
use crate::frame::{Frame, Place};
use crate::moment::{ago, left, moment};
use crate::parts::{findings, percent_encoded, risk, rule_link, status};
use crate::text::{Foreign, ForeignLines, brief};
use crate::values::{Extent, block, canonical, leaves_out, table};

/// What people answered before, with the same tool or agent.
#[derive(Debug)]
pub struct History<'a> {
    /// In our words: "this agent with this tool".
    pub of: &'static str,
    /// Whether all of them are calls of the same tool.
    pub same_tool: bool,
    /// Newest first.
    pub actions: &'a [ActionView],
}

/// The page of one action.
#[derive(Debug)]
pub struct ActionPage<'a> {
    /// The action, as this person gets to see it.
    pub action: &'a ActionView,
    /// How many values are shown.
    pub extent: Extent,
    /// What would have run before each edit, the newest first.
    pub earlier: &'a [EarlierVersion],
    /// What happened before.
    pub history: &'a [History<'a>],
    /// Who was told of it, oldest first.
    pub told: &'a [DeliveryView],
    /// What someone wrote into the form before, if it was refused.
    pub kept: &'a Kept,
}

/// What someone wrote into the form of a decision: it is not lost if the decision is refused.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// Why they decided so.
    pub reason: String,
    /// Words for the agent.
    pub message: String,
}

/// The arguments before an edit, as this person gets to see them.
#[derive(Debug)]
pub struct EarlierVersion {
    /// Which version.
    pub version: u32,
    /// Its arguments.
    pub args: CanonicalJson,
}

impl ActionPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let action = self.action;
        let found = numbered(&action.assessment.findings);
        let body = html! {
            article.action data-action=(action.id) data-version=(action.version) {
                (self.heading(frame))
                div.columns {
                    div.what {
                        section.panel {
                            @let (title, words) = what_runs(action.status);
                            h2 { (title) }
                            p.quiet { (words) }
                            @if let Some(server) = passed_on_to(&action.context) {
                                p { "Banksman passes it on to the server " code { (Foreign(server)) } "." }
                            }
                            (table(&action.args, &action.verdict.redact, &found, self.extent))
                            details.exact { summary { "Exact text and digest" }
                                (canonical(&action.args))
                                dl.pairs {
                                    dt { "Digest" } dd { code { (action.digest.to_string()) } }
                                    dt { "Version" } dd { (action.version) }
                                    dt { "Kind" } dd { (action.kind.as_str()) }
                                    dt { "Id" } dd { code { (action.id) } }
                                }
                            }
                        }
                        @if let Some(change) = Change::of_action(action) {
                            section.panel { h2 { (change.title) } (diff::show(&change)) }
                        }
                        (self.edits())
                        (self.since_the_last())
                        (untrusted(action, ""))
                    }
                    div.why {
                        (judged(action))
                        (people(action))
                        @if action.status == Status::Pending { (decide(frame, action, leaves_out(&action.args, self.extent), self.kept)) } @else { (ended(frame, action)) }
                    }
                    (told(frame, self.told))
                    div.before { @for history in self.history { (past(frame, history)) } }
                }
            }
        };
        let here = format!("/actions/{}", action.id);
        frame.page_at(Place::Action, &here, &brief(&action.tool, 60), &body)
    }

    /// What each edit changed, the newest first.
    fn edits(&self) -> Markup {
        let newer =
            std::iter::once(&self.action.args).chain(self.earlier.iter().map(|earlier| &earlier.args));
        html! {
            @for (after, before) in newer.zip(self.earlier) {
                section.panel {
                    h2 { "What was edited: version " (before.version) " to " (before.version + 1) }
                    (diff::show(&Change::of_versions("What was edited", &before.args, after)))
                }
            }
        }
    }

    /// What differs from the last action of this agent with this tool that people answered: a second attempt shows here.
    fn since_the_last(&self) -> Markup {
        let last = self
            .history
            .first()
            .filter(|history| history.same_tool)
            .and_then(|history| history.actions.first());
        html! {
            @if let Some(last) = last {
                details.panel { summary { "What differs from the last one that was answered (" (last.status.as_str()) ")" }
                    (diff::show(&Change::of_versions("What differs from the last one", &last.args, &self.action.args)))
                }
            }
        }
    }

    fn heading(&self, frame: &Frame<'_>) -> Markup {
        let action = self.action;
        html! {
            header class=(format!("heading {}", action.verdict.risk.as_str())) {
                (risk(action.verdict.risk))
                h1 { (Foreign(&action.tool)) }
                (status(action.status))
                @if let (Status::Pending, Some(until)) = (action.status, action.expires_at) {
                    span.deadline { "expires in " (left(until, frame.now)) }
                }
                p.meta {
                    span { "asked by " b { (Foreign(&action.agent)) } " " (ago(action.created_at, frame.now)) }
                    span { "rule " (rule_link(&action.verdict.rule)) }
                    span { (Approvals::of(action).short()) }
                    @if let Some(batch) = action.batch { span { a href=(format!("/batches/{batch}")) { "part of a batch" } } }
                    @if action.version > 1 { span { "edited: version " (action.version) } }
                    @if action.observed { span { "ran because policy only observes" } }
                    span { a href=(format!("/freezes?agent={}", percent_encoded(&action.agent))) { "freeze this agent" } }
                }
            }
        }
    }
}

/// What the table of arguments is, and what is to be said of it.
fn what_runs(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Pending => ("What will run", "Exactly this, and nothing else, if it is approved."),
        Status::Authorised => ("What may run", "Exactly this, and nothing else, once."),
        Status::Executing => ("What is running", "Exactly this was let through."),
        Status::Succeeded | Status::Failed => ("What ran", "Exactly this was let through."),
        Status::Unknown => ("What may have run", "Exactly this was let through."),
        Status::Blocked
        | Status::Denied
        | Status::Expired
        | Status::Cancelled
        | Status::Lapsed
        | Status::Revoked => ("What would have run", "It did not run."),
    }
}

/// Who answered: people by their names.
fn answered_by(action: &ActionView, by: &str) -> Markup {
    let approved =
        action.votes.iter().filter(|vote| vote.version == action.version && vote.decision.approves());
    let names: Vec<&str> = approved.map(|vote| vote.by.as_str()).collect();
    html! {
        @if by == "reviewers" && !names.is_empty() {
            @for (at, name) in names.iter().enumerate() { @if at > 0 { ", " } b { (Foreign(name)) } }
        } @else { b { (Foreign(by)) } }
    }
}

/// Why it is held: risk, findings, rules.
fn judged(action: &ActionView) -> Markup {
    let found = numbered(&action.assessment.findings);
    let verdict = &action.verdict;
    html! {
        section.panel {
            h2 { "Why it is " @if action.status == Status::Pending { "held" } @else { "judged so" } }
            @for message in &verdict.messages { p.message { (ForeignLines(message)) } }
            @if let Some(impact) = &action.assessment.impact { p { (Foreign(impact)) } }
            (findings(&found))
            dl.pairs {
                dt { "Tier" } dd { (verdict.tier.as_str()) }
                dt { "Rule" } dd { (rule_link(&verdict.rule)) }
                @if verdict.matched.len() > 1 {
                    dt { "Also matched" }
                    dd { @for rule in verdict.matched.iter().filter(|rule| **rule != verdict.rule) { (rule_link(rule)) " " } }
                }
                dt { "Undo" } dd { @if action.assessment.reversible { (undo(&action.assessment)) } @else { strong { (undo(&action.assessment)) } } }
                @if !action.assessment.resources.is_empty() {
                    dt { "Touches" }
                    dd { ul.plain { @for resource in &action.assessment.resources { li { code { (Foreign(&brief(resource, 160))) } } } } }
                }
            }
            @if !action.assessment.recommendations.is_empty() {
                h3 { "Look at" }
                ul { @for advice in &action.assessment.recommendations { li { (Foreign(advice)) } } }
            }
        }
    }
}

/// Who has spoken, and who is missing.
fn people(action: &ActionView) -> Markup {
    let progress = Approvals::of(action);
    html! {
        section.panel {
            h2 { "People" }
            p {
                (progress.short()) "."
                @if action.status == Status::Pending && !progress.missing_roles.is_empty() {
                    " Still needed: someone of "
                    @for (at, role) in progress.missing_roles.iter().enumerate() {
                        @if at > 0 { ", and someone of " }
                        b { (Foreign(role)) }
                    }
                    "."
                }
            }
            @if !action.votes.is_empty() {
                ul.votes {
                    @for vote in &action.votes {
                        li {
                            b { (Foreign(&vote.by)) } " " (decided(vote.decision)) " version " (vote.version) ", " (moment(vote.at))
                            @for acting in &vote.acting { span.quiet { " as " (Foreign(&acting.role)) @if let Some(lender) = acting.on_behalf_of() { " for " (Foreign(lender)) } } }
                            @if vote.solo_operator { span.quiet { " as solo operator" } }
                            @if let Some(reason) = &vote.reason { blockquote { (ForeignLines(reason)) } }
                            @if let Some(message) = &vote.message { blockquote { span.quiet { "To the agent: " } (ForeignLines(message)) } }
                        }
                    }
                }
            }
        }
    }
}

/// What became of it.
fn ended(frame: &Frame<'_>, action: &ActionView) -> Markup {
    html! {
        section.panel.ended {
            h2 { "It is " (action.status.as_str()) }
            p { (meaning(action.status)) }
            @if let Some(ResolutionView { by, at, reason, message, modified }) = &action.resolution {
                p { "Answered by " (answered_by(action, by)) ", " (ago(*at, frame.now)) "." @if *modified { " A reviewer changed the arguments." } }
                @if let Some(reason) = reason { blockquote { (ForeignLines(reason)) } }
                @if let Some(message) = message { blockquote { span.quiet { "To the agent: " } (ForeignLines(message)) } }
            }
            @if action.status == Status::Authorised {
                form method="post" action="/cancel" {
                    (crate::parts::binding(frame.viewer.csrf, action))
                    label.field { span { "Why take it back" } input type="text" name="reason" autocomplete="off"; }
                    button.deny { "Take it back" }
                }
            }
            // Where no outcome came, nobody reported anything.
            @if let Some(OutcomeView { result, error, at, .. }) = action.outcome.as_ref().filter(|outcome| outcome.result.is_some() || outcome.error.is_some()) {
                section.untrusted aria-label="What the agent reported" {
                    h3 { "The agent reported, " (ago(*at, frame.now)) }
                    @if let Some(error) = error { p { (ForeignLines(error)) } }
                    @if let Some(result) = result { (block(result)) }
                }
            }
        }
    }
}

/// Everything that the agent says about itself, in a panel that nothing of ours looks like. A page with several says of
/// which item each is.
pub(crate) fn untrusted(action: &ActionView, of: &str) -> Markup {
    let claims = claims(&action.context);
    let triage = action.assessment.triage.as_ref();
    html! {
        section.untrusted aria-label=(format!("Untrusted: what the agent says{of}")) {
            h2 { "What the agent says" span.tag { "untrusted" } }
            p.quiet {
                @if claims.is_empty() && triage.is_none() { "Nothing." }
                @else { "Written by the agent, or by whoever steers it. Nothing here was checked." }
            }
            dl {
                @for claim in &claims {
                    dt { (capital(claim.name)) }
                    dd { @match &claim.said { Said::Words(words) => { (ForeignLines(words)) } Said::Json(value) => { (block(value)) } } }
                }
                @if let Some(triage) = triage {
                    dt { "Triage" }
                    dd { (ForeignLines(triage.rationale.as_deref().or(triage.problem.as_deref()).unwrap_or("no words"))) }
                }
            }
        }
    }
}

/// A name as a page has it.
fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn past(frame: &Frame<'_>, history: &History<'_>) -> Markup {
    html! {
        section.panel {
            h2 { "Answered before: " (history.of) }
            @if history.actions.is_empty() { p.quiet { "Nothing." } }
            ul.past {
                @for action in history.actions {
                    li {
                        (status(action.status)) " "
                        a href=(format!("/actions/{}", action.id)) { (Foreign(&brief(&action.tool, 40))) }
                        " " span.quiet { (Foreign(&brief(action.args.as_str(), 60))) " " (ago(action.created_at, frame.now)) }
                    }
                }
            }
        }
    }
}

fn tries(count: u32) -> String {
    match count {
        0 => "not tried yet".to_owned(),
        1 => "1 try".to_owned(),
        more => format!("{more} tries"),
    }
}

/// Who was told of it, and whether it arrived.
fn told(frame: &Frame<'_>, deliveries: &[DeliveryView]) -> Markup {
    html! {
        @if !deliveries.is_empty() {
            section.panel {
                h2 { "Who was told" }
                ul {
                    @for delivery in deliveries {
                        li {
                            (Foreign(&delivery.recipient)) " by " (Foreign(&delivery.channel))
                            " (" (delivery.purpose.as_str()) "): " strong { (delivery.status.as_str()) } " "
                            (ago(delivery.updated_at, frame.now))
                            ", " (tries(delivery.attempt))
                            @if let Some(next) = delivery.next_at { ", next try " (moment(next)) }
                            @if let Some(id) = &delivery.provider_id { span.quiet { ", there called " (Foreign(id)) } }
                            @if let Some(why) = &delivery.error { ": " (Foreign(why)) }
                        }
                    }
                }
            }
        }
    }
}
