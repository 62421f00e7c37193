//! A policy as it is written. [`crate::Policy`] is what it compiles to.

use std::collections::BTreeMap;

use banksman_core::{Kind, Mode, Risk, Severity, Tier};
use banksman_risk::RuleSet;
use serde::Deserialize;
use serde_saphyr::Spanned;

pub use crate::calendar::{Day, TimeOfDay, TimeTest};
use crate::glob::Glob;
pub use crate::people::{Again, AllowRemember, Enforcement, Fallback, ModeGate, WrittenModes, WrittenStep};
use crate::preset::Preset;
pub use crate::span::Seconds;
pub use crate::triage::{Model, Webhook};

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// The version of the language: 1.
    pub version: Spanned<u32>,
    /// A ready-made stance.
    #[serde(default)]
    pub preset: Option<Preset>,
    /// Whether what is demanded is enforced, or only observed.
    #[serde(default)]
    pub enforcement: Option<Enforcement>,
    /// The one person who may approve what they, or their own agent, proposed.
    #[serde(default)]
    pub solo_operator: Option<Spanned<String>>,
    /// Who may change the operating mode, and when it falls back by itself.
    #[serde(default)]
    pub modes: WrittenModes,
    /// What holds where no rule says otherwise.
    #[serde(default)]
    pub defaults: Defaults,
    /// What a risk demands, whatever the tool.
    #[serde(default)]
    pub risks: BTreeMap<Risk, Spanned<Demand>>,
    /// What a severity demands, on top of Tinman's matrix.
    #[serde(default)]
    pub severities: BTreeMap<SeverityName, Spanned<Demand>>,
    /// Named time spans for holds, for rules to refer to by `ttl`.
    #[serde(default)]
    pub ttl_classes: BTreeMap<String, Seconds>,
    /// What actions may cost.
    #[serde(default)]
    pub costs: Costs,
    /// The time zone of `time` and of `facts.local`, such as `Europe/Berlin`: UTC unless said.
    #[serde(default)]
    pub time_zone: Option<Spanned<String>>,
    /// What is added up over time, by name, for rules to refer to.
    #[serde(default)]
    pub windows: BTreeMap<String, Spanned<Window>>,
    /// What may be spent in a while, by name.
    #[serde(default)]
    pub budgets: BTreeMap<String, Spanned<Budget>>,
    /// An evaluator outside that looks at actions before people do.
    #[serde(default)]
    pub triage: Option<Spanned<Triage>>,
    /// Which arguments reviewers of any action do not get to see, by path: `card`, `customer.*`, `**.password`.
    #[serde(default)]
    pub redact: Vec<Spanned<String>>,
    /// Tools by exact name: the short form of rules that match nothing else.
    #[serde(default)]
    pub tools: BTreeMap<String, Spanned<Demand>>,
    /// The rules.
    #[serde(default)]
    pub rules: Vec<Spanned<Rule>>,
    /// What reading an action looks for: rules that are added, replaced, disabled.
    #[serde(default)]
    pub risk: RuleSet,
}

/// A severity as a key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct SeverityName(pub Severity);

/// What holds where no rule says otherwise.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// How long a hold lasts: one hour unless said.
    pub timeout: Option<Seconds>,
    /// How long an authorisation lasts before it lapses: 15 minutes unless said.
    pub claim_within: Option<Seconds>,
    /// How long an execution may take: 10 minutes unless said.
    pub lease: Option<Seconds>,
    /// What a tool demands that no rule names: high and approve unless said, and never milder than approve.
    pub unknown_tool: Option<Spanned<Demand>>,
}

/// What actions may cost, by the agent's own estimate in US dollars.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Beyond this, a person sees it: 5 unless said.
    pub review_above_usd: Option<f64>,
    /// Beyond this, it never runs, by mode.
    pub limits_usd: BTreeMap<ModeName, f64>,
}

/// What is added up over time. One of `count`, `sum` and `distinct`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Which actions count: all, unless said.
    #[serde(default, rename = "match")]
    pub matches: Option<Spanned<Match>>,
    /// How far it looks back.
    pub over: Seconds,
    /// Kept apart by: `agent`, `session`, `tool`, `args.customer`. All together, unless said.
    #[serde(default)]
    pub per: OneOrMany<String>,
    /// How many were proposed, or have failed.
    #[serde(default)]
    pub count: Option<Counted>,
    /// The sum of an argument, such as `args.amount`.
    #[serde(default)]
    pub sum: Option<String>,
    /// How many different values an argument had.
    #[serde(default)]
    pub distinct: Option<String>,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Actions that were proposed, unless they ended without having run.
    Proposals,
    /// Actions that ran and failed.
    Failures,
}

/// What may be spent in a while. One of `cost_usd` and `actions`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Which actions spend it: all, unless said.
    #[serde(default, rename = "match")]
    pub matches: Option<Spanned<Match>>,
    /// How far it looks back. May be left out of a budget per session.
    #[serde(default)]
    pub over: Option<Seconds>,
    /// Kept apart by: `agent`, `session`, `tool`, `args.customer`. All together, unless said.
    #[serde(default)]
    pub per: OneOrMany<String>,
    /// So many dollars, by the agent's own estimates.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// So many actions.
    #[serde(default)]
    pub actions: Option<u32>,
    /// From which part of it on people are told: 0.8 unless said.
    #[serde(default)]
    pub warn_at: Option<f64>,
    /// What is over budget is held (`approve`, `escalate`) or blocked: `approve` unless said.
    #[serde(default)]
    pub at_limit: Option<Tier>,
}

/// An evaluator outside that looks at actions before people do. One of `command`, `webhook` and `openai`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triage {
    /// A program and its arguments: the question on its standard input, the answer on its standard output.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// An address that the question is posted to.
    #[serde(default)]
    pub webhook: Option<Webhook>,
    /// A model behind an address that speaks OpenAI's language.
    #[serde(default)]
    pub openai: Option<Model>,
    /// How long it may take: 10 seconds unless said, two minutes at the most.
    #[serde(default)]
    pub timeout: Option<Seconds>,
    /// Of which tiers: `approve` and `escalate` unless said.
    #[serde(default)]
    pub tiers: Option<Vec<Tier>>,
    /// Which actions: all of these tiers, unless said.
    #[serde(default, rename = "match")]
    pub matches: Option<Spanned<Match>>,
}

/// A mode as a key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ModeName(pub Mode);

impl PartialOrd for ModeName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ModeName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0 as u8).cmp(&(other.0 as u8))
    }
}

/// A rule: what it is about, and what it demands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, in verdicts, the audit log and error messages.
    pub id: Spanned<String>,
    /// What it is for, for those who read the file.
    #[serde(default)]
    pub description: Option<String>,
    /// Which actions it is about; all conditions given have to hold.
    #[serde(default, rename = "match")]
    pub matches: Option<Spanned<Match>>,
    /// For the rest: a CEL expression over `action`, `args`, `assessment`, `agent`, `facts` and `now`.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
    /// Findings that are set aside for the actions it matches, by id.
    #[serde(default)]
    pub accepts: Vec<Spanned<Glob>>,
    /// At least this risky.
    #[serde(default)]
    pub risk: Option<Risk>,
    /// At least this tier.
    #[serde(default)]
    pub tier: Option<Tier>,
    /// How many different people have to approve.
    #[serde(default)]
    pub quorum: Option<u32>,
    /// One approval by a person of each of these roles.
    #[serde(default)]
    pub roles: Vec<String>,
    /// So many people more than anything else demands.
    #[serde(default)]
    pub extra_people: u32,
    /// What happens while nobody decides.
    #[serde(default)]
    pub escalation: Vec<WrittenStep>,
    /// How long a hold lasts.
    #[serde(default)]
    pub timeout: Option<Seconds>,
    /// How long a hold lasts, by the name of a class.
    #[serde(default)]
    pub ttl: Option<Spanned<String>>,
    /// How long an authorisation lasts before it lapses.
    #[serde(default)]
    pub claim_within: Option<Seconds>,
    /// How long an execution may take.
    #[serde(default)]
    pub lease: Option<Seconds>,
    /// Whether a decision needs a reason.
    #[serde(default)]
    pub require_reason: bool,
    /// Whether, and how far, an approval may be remembered. A single `false` among the rules that match forbids it.
    #[serde(default)]
    pub allow_remember: Option<AllowRemember>,
    /// What reviewers are told.
    #[serde(default)]
    pub message: Option<String>,
    /// Where people are told of it, by the name of a route.
    #[serde(default)]
    pub route: Option<String>,
    /// Which arguments reviewers do not get to see, by path: `card`, `customer.*`, `**.password`.
    #[serde(default)]
    pub redact: Vec<String>,
}

/// What is demanded, in a table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Demand {
    /// At least this risky.
    pub risk: Option<Risk>,
    /// At least this tier.
    pub tier: Option<Tier>,
    /// How many different people have to approve.
    pub quorum: Option<u32>,
    /// One approval by a person of each of these roles.
    pub roles: Vec<String>,
    /// So many people more than anything else demands.
    pub extra_people: u32,
    /// What happens while nobody decides.
    pub escalation: Vec<WrittenStep>,
    /// How long a hold lasts.
    pub timeout: Option<Seconds>,
    /// How long an authorisation lasts before it lapses.
    pub claim_within: Option<Seconds>,
    /// How long an execution may take.
    pub lease: Option<Seconds>,
    /// Whether a decision needs a reason.
    pub require_reason: bool,
    /// Whether, and how far, an approval may be remembered.
    pub allow_remember: Option<AllowRemember>,
    /// What reviewers are told.
    pub message: Option<String>,
    /// Where people are told of it, by the name of a route.
    pub route: Option<String>,
    /// Which arguments reviewers do not get to see, by path: `card`, `customer.*`, `**.password`.
    pub redact: Vec<String>,
}

/// Which actions a rule is about.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// The tool, by name or pattern.
    pub tool: OneOrMany<Glob>,
    /// The agent, by name or pattern.
    pub agent: OneOrMany<Glob>,
    /// The session, by name or pattern.
    pub session: OneOrMany<Glob>,
    /// The kind of action.
    pub kind: OneOrMany<Kind>,
    /// The risk that reading found: `high`, `[low, medium]` or `">= medium"`.
    pub risk: Option<RiskRange>,
    /// A finding, by id or pattern.
    pub finding: OneOrMany<Glob>,
    /// The action type, by name or pattern.
    pub action_type: OneOrMany<Glob>,
    /// The severity that the agent predicts.
    pub severity: OneOrMany<SeverityName>,
    /// The operating mode.
    pub mode: OneOrMany<Mode>,
    /// The MCP server that the tool belongs to, by name or pattern.
    pub server: OneOrMany<Glob>,
    /// What the tool's server says of the tool.
    pub annotations: Hints,
    /// What windows show, by name, with this action.
    pub window: BTreeMap<String, Spanned<Limits>>,
    /// The time of day and week.
    pub time: Option<Spanned<TimeTest>>,
    /// Arguments, by path: `amount`, `customer.id`, or a JSON pointer.
    pub args: BTreeMap<String, Spanned<ArgumentTest>>,
}

/// What an MCP server says of a tool. It is a hint: nothing that a server says makes a rule milder than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Calling it twice does no more than calling it once.
    pub idempotent: Option<bool>,
    /// It deals with the world outside.
    pub open_world: Option<bool>,
}

/// What a number has to be.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// More than this.
    pub gt: Option<f64>,
    /// This or more.
    pub gte: Option<f64>,
    /// Less than this.
    pub lt: Option<f64>,
    /// This or less.
    pub lte: Option<f64>,
}

/// `x` or `[x, y]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// Just one.
    One(T),
    /// Any of these.
    Many(Vec<T>),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    /// All of them.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

/// A set of risks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum RiskRange {
    /// Any of these.
    Some(Vec<Risk>),
    /// `high`, `">= medium"`, `"< high"`.
    Written(String),
}

/// What an argument has to be: a value, which it has to equal exactly and in type, or conditions.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ArgumentTest {
    /// Conditions, all of which have to hold.
    Conditions(Box<Conditions>),
    /// A value that it equals.
    Value(Literal),
}

/// A value as YAML has it. `true` and `"true"` are two values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Literal {
    /// `true`, `false`
    Bool(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Decimal(f64),
    /// A text.
    Text(String),
    /// `null`
    Null(()),
}

/// Conditions on an argument.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// Is this value, exactly and in type.
    pub equals: Option<Literal>,
    /// Is another value than this.
    pub not: Option<Literal>,
    /// Is one of these values.
    #[serde(rename = "in")]
    pub one_of: Option<Vec<Literal>>,
    /// Is none of these values.
    pub not_in: Option<Vec<Literal>>,
    /// Is a text in which this regular expression is found, anywhere.
    pub regex: Option<String>,
    /// Is a text that fits this pattern with `*` and `?`.
    pub glob: Option<Glob>,
    /// Is a text that contains this, or a list that has it.
    pub contains: Option<Literal>,
    /// Is more than this.
    pub gt: Option<f64>,
    /// Is this or more.
    pub gte: Option<f64>,
    /// Is less than this.
    pub lt: Option<f64>,
    /// Is this or less.
    pub lte: Option<f64>,
    /// Is there (`true`), or is not there (`false`).
    pub present: Option<bool>,
    /// Means yes (`true`: true, "true", "yes", "on", "1", 1) or does not (`false`), however it is spelled.
    pub truthy: Option<bool>,
}
