//! What waits now, and what happened lately: Tinman's statistics, with plots.

use std::collections::BTreeMap;
use std::time::Duration;

use banksman_core::statistics::{Answers, Lately, OTHER_TOOLS, SPANS, Ways};
use banksman_core::{Risk, Tier, Timestamp};
use maud::{Markup, html};

use crate::frame::{Frame, Place};
use crate::parts::risk;
use crate::plot::{Bar, Series, bar, columns};
use crate::text::{Foreign, brief};

/// How far back the page looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "each is what it says")]
pub enum Window {
    #[default]
    Day,
    Week,
    Month,
}

impl Window {
    const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    /// As it travels.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// What travelled; anything else is the usual.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self::ALL.into_iter().find(|window| window.as_str() == text).unwrap_or_default()
    }

    /// Into how many parts it is divided, and how many hours each has.
    #[must_use]
    pub fn parts(self) -> (u32, u32) {
        match self {
            Self::Day => (24, 1),
            Self::Week => (28, 6),
            Self::Month => (30, 24),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Day => "24 hours",
            Self::Week => "7 days",
            Self::Month => "30 days",
        }
    }
}

/// What waits now.
#[derive(Debug)]
pub struct Waiting<'a> {
    /// By risk.
    pub by_risk: &'a BTreeMap<Risk, u64>,
    /// By tier.
    pub by_tier: &'a BTreeMap<Tier, u64>,
    /// By tool, the most frequent first.
    pub by_tool: &'a [(String, u64)],
    /// By agent, likewise.
    pub by_agent: &'a [(String, u64)],
}

/// The overview.
#[derive(Debug)]
pub struct OverviewPage<'a> {
    /// How far back.
    pub window: Window,
    /// What happened.
    pub lately: &'a Lately,
    /// How many events are not counted yet.
    pub behind: u64,
    /// What waits now.
    pub waiting: Waiting<'a>,
}

/// What becomes of what agents ask for, in the order in which it is stacked.
const ENDS: &[Series] = &[
    Series { class: "auto", name: "ran without asking" },
    Series { class: "yes", name: "approved by people" },
    Series { class: "no", name: "denied by people" },
    Series { class: "late", name: "expired" },
    Series { class: "block", name: "blocked" },
];

fn ends(ways: &Ways) -> Vec<u64> {
    vec![
        ways.auto_approved + ways.granted,
        ways.approved,
        ways.denied,
        ways.expired,
        ways.blocked + ways.auto_rejected,
    ]
}

const ONE: &[Series] = &[Series { class: "wait", name: "waiting" }];

/// How many tools are shown.
const TOOLS: usize = 15;

impl OverviewPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let sum = &self.lately.sum;
        let body = html! {
            div.title {
                h1 { "Overview" }
                nav.windows aria-label="How far back" {
                    @for window in Window::ALL {
                        a href=(format!("/overview?window={}", window.as_str())) aria-current=[(window == self.window).then_some("true")] { (window.words()) }
                    }
                }
            }
            @if self.behind > 0 {
                p.caution role="status" { "Still counting: " (self.behind) " events of the log are missing here. Load the page again in a moment." }
            }
            (self.tiles(frame, &sum.all))
            @if sum.all == Ways::default() {
                section.empty { p { "Nothing happened in these " (self.window.words()) "." } p.quiet { "As soon as an agent asks for something, it is counted here." } }
            } @else {
                section.panel { (columns("ends", "What became of what agents asked for", ENDS, &self.bars())) }
                section.panel { h2 { "By tool" } (by_tool(sum.by_tool.iter())) }
                div.pair {
                    section.panel { h2 { "By risk" } (table("Risk", sum.by_risk.iter().rev().map(|(level, ways)| (risk(*level), *ways)).collect())) }
                    section.panel { h2 { "By tier" } (table("Tier", sum.by_tier.iter().rev().map(|(tier, ways)| (html! { (tier.as_str()) }, *ways)).collect())) }
                }
            }
            div.pair {
                section.panel { h2 { "How soon people answered" } (answers(&sum.answers)) }
                (self.waiting(frame))
            }
            p.quiet { "Counted from the audit log, by the hour, in UTC. Answers count from the proposal to the decision." }
        };
        frame.page(Place::Overview, "Overview", &body)
    }

    fn bars(&self) -> Vec<Bar> {
        let label = |at: &Timestamp| {
            let exact = at.to_string();
            let (day, time) = (exact.get(5..10).unwrap_or_default(), exact.get(11..16).unwrap_or_default());
            match self.window {
                Window::Day | Window::Week => format!("{day} {time}"),
                Window::Month => day.to_owned(),
            }
        };
        self.lately.parts.iter().map(|(at, ways)| Bar { label: label(at), counts: ends(ways) }).collect()
    }

    fn tiles(&self, frame: &Frame<'_>, all: &Ways) -> Markup {
        let tiles: [(&str, u64, &str); 11] = [
            ("Waiting now", frame.house.pending, "pending"),
            ("Asked for", all.proposed, "proposals"),
            ("Ran without asking", all.auto_approved, "policy let them"),
            ("Remembered approvals", all.granted, "ran by a grant"),
            ("Held for people", all.held, "of what was asked"),
            ("Approved", all.approved, "by people"),
            ("Denied", all.denied, "by people"),
            ("Expired", all.expired, "nobody decided"),
            ("Blocked", all.blocked, "by policy"),
            ("Rejected without a person", all.auto_rejected, "freeze, lockdown, triage"),
            ("Failed or unknown", all.failed + all.unknown, "after they ran"),
        ];
        html! {
            dl.tiles {
                @for (name, count, note) in tiles {
                    div { dt { (name) } dd { b { (count) } " " span.quiet { (note) } } }
                }
                @if all.edited > 0 { div { dt { "Edited first" } dd { b { (all.edited) } " " span.quiet { "of the approved" } } } }
            }
        }
    }

    fn waiting(&self, frame: &Frame<'_>) -> Markup {
        let Waiting { by_risk, by_tier, by_tool, by_agent } = &self.waiting;
        let most = frame.house.pending.max(1);
        let row = |name: Markup, count: u64| {
            html! { tr { th scope="row" { (name) } td { (count) } td.drawn { (bar(ONE, &[count], most)) } } }
        };
        html! {
            @if frame.house.pending > 0 {
                section.panel {
                    h2 { "What waits now" }
                    table.numbers {
                        thead { tr { th scope="col" { "What" } th scope="col" { "Waiting" } th scope="col" { span.away { "Share" } } } }
                        tbody {
                            @for (level, count) in by_risk.iter().rev() { (row(html! { (risk(*level)) }, *count)) }
                            @for (tier, count) in by_tier.iter() { (row(html! { "tier " (tier.as_str()) }, *count)) }
                            @for (tool, count) in by_tool.iter().take(5) { (row(html! { "tool " code { (Foreign(&brief(tool, 60))) } }, *count)) }
                            @for (agent, count) in by_agent.iter().take(5) { (row(html! { "agent " b { (Foreign(&brief(agent, 60))) } }, *count)) }
                        }
                    }
                }
            }
        }
    }
}

fn by_tool<'a>(tools: impl Iterator<Item = (&'a String, &'a Ways)>) -> Markup {
    let mut tools: Vec<(&String, &Ways)> = tools.collect();
    tools.sort_by_key(|(name, ways)| (std::cmp::Reverse(ways.proposed), *name));
    let more = tools.len().saturating_sub(TOOLS);
    let rows = tools.into_iter().take(TOOLS).map(|(name, ways)| {
        let shown = if name == OTHER_TOOLS {
            html! { "others" }
        } else {
            html! { code { (Foreign(&brief(name, 60))) } }
        };
        (shown, *ways)
    });
    html! {
        (table("Tool", rows.collect()))
        @if more > 0 { p.quiet { "and " (more) " more tools" } }
    }
}

fn table(of: &str, rows: Vec<(Markup, Ways)>) -> Markup {
    let most = rows.iter().map(|(_, ways)| ends(ways).iter().sum::<u64>()).max().unwrap_or(1);
    html! {
        div.wide role="region" aria-label=(format!("By {}", of.to_lowercase())) tabindex="0" {
            table.numbers {
                thead { tr {
                    th scope="col" { (of) }
                    @for name in ["Asked", "Ran", "Held", "Approved", "Denied", "Expired", "Blocked"] { th scope="col" { (name) } }
                    th.drawn scope="col" { span.away { "Shares" } }
                } }
                tbody {
                    @for (name, ways) in &rows {
                        tr {
                            th scope="row" { (name) }
                            @for count in [ways.proposed, ways.auto_approved + ways.granted, ways.held, ways.approved, ways.denied, ways.expired, ways.blocked + ways.auto_rejected] { td { (count) } }
                            td.drawn { (bar(ENDS, &ends(ways), most)) }
                        }
                    }
                }
            }
        }
    }
}

/// A bound in the largest unit that it is whole in.
fn within(bound: Duration) -> String {
    let seconds = bound.as_secs();
    match seconds {
        _ if bound == Duration::MAX => "after more than a day".into(),
        0..60 => format!("within {seconds} s"),
        60..3_600 => format!("within {} min", seconds / 60),
        3_600..86_400 => format!("within {} h", seconds / 3_600),
        _ => "within a day".into(),
    }
}

fn answers(answers: &Answers) -> Markup {
    let most = answers.within.iter().copied().max().unwrap_or(1);
    html! {
        @match (answers.share_within(50), answers.share_within(90)) {
            (Some(half), Some(nine)) => {
                p { "Half of " (answers.count()) " answers came " b { (within(half)) } ", nine in ten " b { (within(nine)) } "." }
                table.numbers {
                    thead { tr { th scope="col" { "Answered" } th scope="col" { "Actions" } th scope="col" { span.away { "Share" } } } }
                    tbody {
                        @for (count, bound) in answers.within.iter().zip(SPANS) {
                            tr { th scope="row" { (within(bound)) } td { (count) } td.drawn { (bar(&[Series { class: "yes", name: "answered" }], &[*count], most)) } }
                        }
                    }
                }
            }
            (None, _) | (_, None) => p.quiet { "Nobody was asked, or nobody has answered." }
        }
    }
}
