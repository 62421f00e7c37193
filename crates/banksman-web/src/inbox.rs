//! What waits, and what has been: the list of actions.

use std::collections::BTreeMap;

use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Risk, Status, Tier};
use maud::{Markup, html};

use crate::card::card;
use crate::frame::{Frame, Place};
use crate::guide::in_inbox;
use crate::parts::{choice, line, percent_encoded, risk};

/// In which order a list comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// As triage and age say.
    #[default]
    Urgency,
    /// What expires first.
    Deadline,
    /// The worst first.
    Risk,
}

impl Sort {
    /// Every order, and what it is called.
    pub(crate) const WORDS: &'static [(Self, &'static str)] =
        &[(Self::Urgency, "urgency, age"), (Self::Deadline, "deadline"), (Self::Risk, "risk")];

    /// As it travels.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Urgency => "urgency",
            Self::Deadline => "deadline",
            Self::Risk => "risk",
        }
    }

    /// What travelled; anything else is the usual order.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        match text {
            "deadline" => Self::Deadline,
            "risk" => Self::Risk,
            _ => Self::Urgency,
        }
    }
}

/// What to list.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields of the form")]
pub struct InboxFilter {
    pub status: Option<Status>,
    pub risk: Option<Risk>,
    pub tier: Option<Tier>,
    pub tool: String,
    pub agent: String,
    pub search: String,
    pub sort: Sort,
    /// Behind which one the page begins.
    pub after: Option<ActionId>,
}

impl InboxFilter {
    /// Where the listed ones stand.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.unwrap_or(Status::Pending)
    }

    /// Whether everything that waits is listed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.status() == Status::Pending
            && self.risk.is_none()
            && self.tier.is_none()
            && [&self.tool, &self.agent, &self.search].iter().all(|text| text.is_empty())
    }

    /// The same question as part of an address, from some place of the list on.
    pub(crate) fn question(&self, after: Option<ActionId>) -> String {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let fields = [
            ("q", self.search.as_str()),
            ("status", self.status.map(Status::as_str).unwrap_or_default()),
            ("risk", self.risk.map(Risk::as_str).unwrap_or_default()),
            ("tier", self.tier.map(Tier::as_str).unwrap_or_default()),
            ("tool", &self.tool),
            ("agent", &self.agent),
            ("sort", self.sort.as_str()),
            ("after", &after),
        ];
        let given = fields.iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<String> =
            given.map(|(name, value)| format!("{name}={}", percent_encoded(value))).collect();
        pairs.join("&")
    }

    /// What a store can look for: the pieces of the search that are written the same way in any JSON.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let plain = |c: char| (c.is_ascii_graphic() || c == ' ') && c != '"' && c != '\\';
        self.search.split(|c| !plain(c)).filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
    }

    /// Whether an action holds what was searched for in what this person gets to see. A store looks at what was said
    /// before redaction, and must not tell what is behind a blackened value.
    #[must_use]
    pub fn wants(&self, action: &ActionView) -> bool {
        let words = self.search.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&words);
        words.is_empty()
            || has(&action.tool)
            || has(&action.agent)
            || has(action.args.as_str())
            || action.context.description.as_deref().is_some_and(has)
    }

    /// Puts what was found by words in order. Those that are equal stay as they came: the most urgent, then the oldest.
    pub fn arrange(&self, actions: &mut [ActionView]) {
        match self.sort {
            Sort::Urgency => {}
            Sort::Deadline => actions.sort_by_key(|action| (action.expires_at.is_none(), action.expires_at)),
            Sort::Risk => actions.sort_by_key(|action| std::cmp::Reverse(action.verdict.risk)),
        }
    }
}

/// The list of actions.
#[derive(Debug)]
pub struct InboxPage<'a> {
    /// What was asked for.
    pub filter: &'a InboxFilter,
    /// What is shown, in order.
    pub actions: &'a [ActionView],
    /// Behind which one the next page begins, if there is one.
    pub next: Option<ActionId>,
    /// Among how many they were looked for, if not among all.
    pub among: Option<usize>,
    /// How many wait, by risk.
    pub by_risk: &'a BTreeMap<Risk, u64>,
    /// How many wait in all.
    pub total: u64,
    /// How many were claimed lately and ended without an outcome.
    pub may_have_run: usize,
}

impl InboxPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let status = self.filter.status();
        let waiting = status == Status::Pending;
        let title = if waiting { "Inbox" } else { "Actions" };
        let heading = match (waiting, self.total) {
            (true, 0) => "Nothing is waiting".to_owned(),
            (true, 1) => "One action is waiting".to_owned(),
            (true, many) => format!("{many} actions are waiting"),
            (false, _) => format!("Actions that are {status}"),
        };
        let filter = self.filter;
        let is_usual = filter.is_open() && filter.after.is_none() && filter.sort == frame.preferences.sort;
        let list = if is_usual { String::new() } else { filter.question(filter.after) };
        let body = html! {
            div.title {
                h1 { (heading) }
                @if waiting { (self.levels()) }
            }
            @if waiting && self.may_have_run > 0 {
                p.caution { (self.may_have_run) @if self.may_have_run == 1 { " action" } @else { " actions" } " of the last day may have run, and no outcome came: " a href="/?status=unknown" { "look" } "." }
            }
            @if waiting { (in_inbox(frame)) }
            (self.form(status))
            @if self.actions.is_empty() { (self.empty(waiting)) }
            div.cards {
                @for action in self.actions { (card(frame, action, &list)) }
            }
            (self.turn())
            @match self.among {
                None => {}
                Some(among) if waiting => p.quiet { "Looked through " (among) " of what waits, by urgency." },
                Some(among) => p.quiet { "Looked for among " (among) " actions, from the newest. The " a href="/audit" { "audit log" } " has all of them." },
            }
        };
        frame.page(Place::Inbox, title, &body)
    }

    fn levels(&self) -> Markup {
        html! {
            ul.levels aria-label="By risk" {
                @for (level, count) in self.by_risk.iter().rev() {
                    li { a href=(format!("/?risk={level}")) { b { (count) } " " (risk(*level)) } }
                }
            }
        }
    }

    fn form(&self, status: Status) -> Markup {
        let filter = self.filter;
        let chosen = |text: Option<&'static str>| text.unwrap_or_default();
        html! {
            form.filters method="get" action="/" role="search" {
                label.field.wide { span { "Search" }
                    input type="search" name="q" value=(filter.search) placeholder="tool, agent, argument, id" autocomplete="off" spellcheck="false" data-search;
                }
                label.field { span { "Status" }
                    select name="status" {
                        @for option in Status::ALL { option value=(option.as_str()) selected[*option == status] { (option.as_str()) } }
                    }
                }
                (choice("risk", "Risk", "any", Risk::ALL.iter().map(|risk| risk.as_str()), chosen(filter.risk.map(Risk::as_str))))
                label.field { span { "Order" }
                    select name="sort" {
                        @for (sort, words) in Sort::WORDS {
                            option value=(sort.as_str()) selected[*sort == filter.sort] { (words) }
                        }
                    }
                }
                details.more open[!filter.tool.is_empty() || !filter.agent.is_empty() || filter.tier.is_some()] {
                    summary { "More" }
                    (line("tool", "Tool", &filter.tool, "exact name"))
                    (line("agent", "Agent", &filter.agent, "exact name"))
                    (choice("tier", "Tier", "any", Tier::ALL.iter().map(|tier| tier.as_str()), chosen(filter.tier.map(Tier::as_str))))
                }
                button { "Apply" }
                @if !filter.is_open() || filter.sort != Sort::Urgency { a.button.plain href="/" { "Clear" } }
            }
        }
    }

    /// Links to the first page and the next one, with the same question.
    fn turn(&self) -> Markup {
        let link = |after: Option<ActionId>| format!("/?{}", self.filter.question(after));
        html! {
            @if self.filter.after.is_some() || self.next.is_some() {
                nav.pages aria-label="Pages of this list" {
                    @if self.filter.after.is_some() { a.button href=(link(None)) { "From the start" } }
                    @if self.next.is_some() {
                        a.button href=(link(self.next)) rel="next" { @if self.actions.is_empty() { "Look further" } @else { "Next page" } }
                    } @else { span.quiet { "The end of the list." } }
                }
            }
        }
    }

    fn empty(&self, waiting: bool) -> Markup {
        html! {
            section.empty {
                @if self.next.is_some() {
                    p { "Nothing that you get to see matches so far." }
                } @else if self.filter.after.is_some() {
                    p { "Nothing more." }
                } @else if !self.filter.is_open() {
                    p { "Nothing matches." }
                    p.quiet { "Other words, or " a href="/" { "everything that waits" } "." }
                } @else if waiting {
                    p { "All quiet. When an agent asks for something that policy holds, it appears here." }
                    p.quiet { "Live: this page tells you by itself. " a href="/?status=succeeded" { "See what ran" } " or " a href="/audit" { "the audit log" } "." }
                } @else {
                    p { "None." }
                }
            }
        }
    }
}
