//! What waits, and what has been: the list of actions.

use banksman_core::wire::ActionView;
use banksman_core::{Risk, Status, Tier};
use maud::{Markup, html};

use crate::card::card;
use crate::frame::{Frame, Place};
use crate::parts::{choice, line, risk};

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
}

impl InboxFilter {
    /// Whether everything that waits is listed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.status.is_none_or(|status| status == Status::Pending)
            && self.risk.is_none()
            && self.tier.is_none()
            && [&self.tool, &self.agent, &self.search].iter().all(|text| text.is_empty())
    }

    /// Whether an action is wanted, by what a store does not know.
    #[must_use]
    pub fn wants(&self, action: &ActionView) -> bool {
        let words = self.search.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&words);
        self.risk.is_none_or(|risk| action.verdict.risk == risk)
            && (words.is_empty()
                || has(&action.tool)
                || has(&action.agent)
                || has(action.args.as_str())
                || has(&action.id.to_string())
                || action.context.description.as_deref().is_some_and(has))
    }

    /// Puts actions in order. Those that are equal stay as they came: the most urgent, then the oldest.
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
    /// Everything that matches, of which that is a page.
    pub matching: &'a [ActionView],
    /// Which page, from one.
    pub page: usize,
    /// How many pages.
    pub pages: usize,
    /// How many were looked through.
    pub looked_at: usize,
    /// Whether there are more than were looked through.
    pub more: bool,
    /// How many wait in all.
    pub total: u64,
}

impl InboxPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let status = self.filter.status.unwrap_or(Status::Pending);
        let waiting = status == Status::Pending;
        let title = if waiting { "Inbox" } else { "Actions" };
        let heading = match (waiting, self.total) {
            (true, 0) => "Nothing is waiting".to_owned(),
            (true, 1) => "One action is waiting".to_owned(),
            (true, many) => format!("{many} actions are waiting"),
            (false, _) => format!("Actions that are {status}"),
        };
        let body = html! {
            div.title {
                h1 { (heading) }
                @if waiting { (self.levels()) }
            }
            (self.form(status))
            @if self.actions.is_empty() { (self.empty(waiting)) }
            div.cards {
                @for action in self.actions { (card(frame, action)) }
            }
            (self.turn())
            @if self.more {
                p.quiet { "Looked through the first " (self.looked_at) ". Narrow by tool or agent to see others." }
            }
        };
        frame.page(Place::Inbox, title, &body)
    }

    fn levels(&self) -> Markup {
        html! {
            ul.levels aria-label="By risk" {
                @for level in Risk::ALL.iter().rev() {
                    @let count = self.matching.iter().filter(|action| action.verdict.risk == *level).count();
                    @if count > 0 {
                        li { a href=(format!("/?risk={level}")) { b { (count) } " " (risk(*level)) } }
                    }
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
                        @for (sort, words) in [(Sort::Urgency, "urgency, age"), (Sort::Deadline, "deadline"), (Sort::Risk, "risk")] {
                            option value=(sort.as_str()) selected[sort == filter.sort] { (words) }
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

    /// Links to the other pages, with the same question.
    fn turn(&self) -> Markup {
        let link = |page: usize| {
            let text = |name: &str, value: &str| {
                (!value.is_empty()).then(|| format!("{name}={}&", percent_encoded(value)))
            };
            let filter = self.filter;
            let fields = [
                text("q", &filter.search),
                text("status", filter.status.map(Status::as_str).unwrap_or_default()),
                text("risk", filter.risk.map(Risk::as_str).unwrap_or_default()),
                text("tier", filter.tier.map(Tier::as_str).unwrap_or_default()),
                text("tool", &filter.tool),
                text("agent", &filter.agent),
                text("sort", filter.sort.as_str()),
            ];
            format!("/?{}page={page}", fields.into_iter().flatten().collect::<String>())
        };
        html! {
            @if self.pages > 1 {
                nav.pages aria-label="Pages of this list" {
                    @if self.page > 1 { a.button href=(link(self.page - 1)) rel="prev" { "Back" } }
                    span { "Page " (self.page) " of " (self.pages) }
                    @if self.page < self.pages { a.button href=(link(self.page + 1)) rel="next" { "On" } }
                }
            }
        }
    }

    fn empty(&self, waiting: bool) -> Markup {
        html! {
            section.empty {
                @if !self.filter.is_open() {
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

/// A text as part of an address.
fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
