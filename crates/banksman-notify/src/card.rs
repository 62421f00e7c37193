//! What a person needs in order to decide, as values: how it looks is each channel's own.

mod arguments;

use std::fmt;

use banksman_core::redact::{Hidden, REDACTED};
use banksman_core::visible::{Visible, brief};
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Case, Digest, Risk, Status, Tier, Timestamp};
use banksman_review::oddities;

pub use arguments::Argument;

/// Longest names of tools, agents and rules.
const NAME: usize = 80;

/// Longest sentence of an agent, a rule or an analyser.
const SENTENCE: usize = 300;

/// How many sentences of each kind.
const SENTENCES: usize = 3;

/// What a person needs in order to decide.
///
/// Every text is short, on one line, without anything that policy redacts, and with whatever acts or hides in it
/// spelled out ([`banksman_core::visible`]). It is still someone else's text: a channel escapes it as its own format
/// needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// The action.
    pub action: ActionId,
    /// Which version of it this shows.
    pub version: u32,
    /// What names exactly that.
    pub digest: Digest,
    /// The tool.
    pub tool: String,
    /// Whether that is all of its name. Two tools may begin and end alike.
    pub tool_whole: bool,
    /// Who asks.
    pub agent: String,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// How many more there are. Whoever sees only a part of what will run does not decide here.
    pub left_out: usize,
    /// Host names among them that are not what they look like, as the console tells of them. Whoever was told of one looks
    /// at all of it before deciding.
    pub odd_hosts: Vec<String>,
    /// Why the agent wants it, in its own words. Untrusted, and shown as such.
    pub why: Option<String>,
    /// The worst that reading the action found.
    pub findings: Vec<String>,
    /// What policy tells reviewers.
    pub messages: Vec<String>,
    /// Whether that is all that policy tells them.
    pub messages_whole: bool,
    /// How risky it is.
    pub risk: Risk,
    /// What policy demands.
    pub tier: Tier,
    /// The rule that said so.
    pub rule: String,
    /// How many people have approved this version.
    pub approvals: u32,
    /// How many have to.
    pub needed: u32,
    /// Whether a decision needs a reason.
    pub needs_reason: bool,
    /// Until when it can be decided, while it waits.
    pub expires: Option<Timestamp>,
    /// Its page in the console.
    pub link: String,
    /// Whether the channel may take decisions on it; otherwise people are told, and decide in the console.
    pub may_decide: bool,
    /// Where it stands.
    pub standing: Standing,
}

/// Where an action stands, as far as those who were asked are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It waits for a decision.
    Waiting,
    /// It waits, but no longer as it was when this was sent.
    Changed,
    /// There is nothing to decide (any more).
    Settled {
        /// Where it stands.
        status: Status,
        /// The same in words that go before `by`.
        how: &'static str,
        /// By whom: names, `policy`, `grant`, `timeout`.
        by: String,
        /// Since when.
        at: Timestamp,
    },
    /// Nobody decided in time.
    Expired {
        /// Since when.
        at: Timestamp,
    },
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("waiting for a decision"),
            Self::Changed => f.write_str("edited since this was sent"),
            Self::Expired { .. } => f.write_str("expired: nobody decided in time"),
            Self::Settled { how, by, .. } => write!(f, "{how} by {by}"),
        }
    }
}

/// How an installation shows actions.
#[derive(Debug, Clone, Copy)]
pub struct Showing<'a> {
    /// Where the console is, such as `https://banksman.example.org`.
    pub console: &'a str,
    /// Whether decisions may be taken where the card is shown.
    pub may_decide: bool,
}

impl Card {
    /// The card of an action as it stands.
    #[must_use]
    pub fn of(case: &Case, showing: Showing<'_>) -> Self {
        let view = ActionView::for_people(case);
        let verdict = &view.verdict;
        // An agent may say again, in its own words, what policy redacts.
        let hidden = Hidden::of(&case.submission.action.args, &verdict.redact);
        let sentence = |text: &str| {
            if hidden.is_told_by(text) { REDACTED.to_owned() } else { shown(text, SENTENCE) }
        };
        let name = |text: &str| if hidden.is_told_by(text) { REDACTED.to_owned() } else { shown(text, NAME) };
        let tool = name(&view.tool);
        let tool_whole = tool == shown(&view.tool, usize::MAX);
        let (arguments, left_out) = arguments::of(&view.args);
        let action = &case.submission.action;
        let tells = action.rationale.as_ref().or(action.description.as_ref());
        let why = view.context.rationale.as_deref().or(view.context.description.as_deref());
        // Left out whole: on a card there is no room for a sentence with holes.
        let why = if tells.is_some_and(|text| hidden.is_told_by(text)) { why.map(|_| REDACTED) } else { why };
        let mut findings: Vec<_> = view.assessment.findings.iter().collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        let findings = findings.iter().take(SENTENCES).map(|finding| sentence(&finding.reason)).collect();
        let messages: Vec<_> = verdict.messages.iter().take(SENTENCES).map(|text| sentence(text)).collect();
        let messages_whole =
            verdict.messages.iter().map(|text| shown(text, usize::MAX)).eq(messages.iter().cloned());
        let odd_hosts = view.args.to_json().map(|args| oddities(&args)).unwrap_or_default();
        let odd_hosts = odd_hosts.iter().take(SENTENCES);
        let odd_hosts =
            odd_hosts.map(|odd| sentence(&format!("{} {} {}", odd.host, odd.problem, odd.like))).collect();
        let standing = standing(&view);
        Self {
            action: view.id,
            version: view.version,
            digest: view.digest,
            tool,
            tool_whole,
            agent: name(&view.agent),
            arguments,
            left_out,
            odd_hosts,
            why: why.map(sentence),
            findings,
            messages,
            messages_whole,
            risk: verdict.risk,
            tier: verdict.tier,
            rule: name(&verdict.rule),
            approvals: u32::try_from(case.approvals().count()).unwrap_or(u32::MAX),
            needed: verdict.quorum.count(),
            needs_reason: verdict.require_reason,
            expires: view.expires_at.filter(|_| standing == Standing::Waiting),
            link: format!("{}/actions/{}", showing.console.trim_end_matches('/'), view.id),
            may_decide: showing.may_decide,
            standing,
        }
    }

    /// Whether the channel offers decisions: only on what waits and can be approved here.
    #[must_use]
    pub fn offers_decision(&self) -> bool {
        self.standing == Standing::Waiting && self.is_approved_here()
    }

    /// Whether the channel takes approvals: only if everything that will run and all that policy tells reviewers is on
    /// the card, and none of it needs a closer look than a card gives.
    #[must_use]
    pub fn is_approved_here(&self) -> bool {
        self.may_decide && self.shows_all_that_runs() && self.messages_whole && self.odd_hosts.is_empty()
    }

    fn shows_all_that_runs(&self) -> bool {
        self.tool_whole && self.left_out == 0 && self.arguments.iter().all(|argument| argument.whole)
    }

    /// The same on a message that showed an earlier version: nothing of it can be decided there any more.
    #[must_use]
    pub fn outdated(self) -> Self {
        match self.standing {
            Standing::Waiting => Self { standing: Standing::Changed, expires: None, ..self },
            Standing::Changed | Standing::Settled { .. } | Standing::Expired { .. } => self,
        }
    }

    /// The console's first page.
    #[must_use]
    pub fn console(&self) -> &str {
        self.link.rsplit_once("/actions/").map_or(self.link.as_str(), |(console, _)| console)
    }
}

/// A text by someone else.
pub(crate) fn shown(text: &str, most: usize) -> String {
    // First visible, then short: spelling makes it longer. An address is broken, or mail programs make a link of it.
    brief(&Visible(text).to_string().replace("://", ": //"), most)
}

fn standing(view: &ActionView) -> Standing {
    let Some(resolution) = view.resolution.as_ref() else { return Standing::Waiting };
    let at = resolution.at;
    if view.status == Status::Expired {
        return Standing::Expired { at };
    }
    let by_people = resolution.by == "reviewers";
    let by = if by_people {
        let approved =
            view.votes.iter().filter(|vote| vote.version == view.version && vote.decision.approves());
        approved.map(|vote| shown(&vote.by, NAME)).collect::<Vec<_>>().join(", ")
    } else {
        shown(&resolution.by, NAME)
    };
    let how = match view.status {
        Status::Authorised | Status::Executing | Status::Succeeded | Status::Failed | Status::Unknown => {
            if by_people {
                "approved"
            } else {
                "let run"
            }
        }
        Status::Denied => "denied",
        Status::Blocked => "blocked",
        Status::Cancelled => "withdrawn",
        Status::Revoked => "taken back",
        Status::Lapsed => "ended",
        Status::Pending | Status::Expired => view.status.as_str(),
    };
    Standing::Settled { status: view.status, how, by, at }
}

#[cfg(test)]
mod tests;
