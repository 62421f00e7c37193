//! A policy as it is written. [`crate::Policy`] is what it compiles to.

mod argument;
mod around;
mod list;

use std::collections::BTreeMap;

use banksman_config::{Seconds, TimeTest};
use banksman_core::{Kind, Mode, Risk, Severity, Tier};
use banksman_risk::RuleSet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::glob::Glob;
pub use crate::people::{Again, AllowRemember, Enforcement, Fallback, ModeGate, WrittenModes, WrittenStep};
use crate::preset::Preset;
pub use crate::route::WrittenLeg;
pub use crate::triage::{Model, Webhook};
pub use argument::{ArgumentTest, Conditions, Literal};
pub use around::{Budget, Counted, Limits, Triage, Window};
pub use list::OneOrMany;

/// A whole file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// The version of the language: 1.
    #[schemars(with = "u32", extend("const" = 1))]
    pub version: Spanned<u32>,
    /// A ready-made stance.
    #[serde(default)]
    pub preset: Option<Preset>,
    /// Whether what is demanded is enforced, or only observed.
    #[serde(default)]
    pub enforcement: Option<Enforcement>,
    /// The one person who may approve what they, or their own agent, proposed.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub solo_operator: Option<Spanned<String>>,
    /// Who may change the operating mode, and when it falls back by itself.
    #[serde(default)]
    pub modes: WrittenModes,
    /// What holds where no rule says otherwise.
    #[serde(default)]
    pub defaults: Defaults,
    /// What a risk and those above it demand, whatever the tool.
    #[serde(default)]
    #[schemars(schema_with = "keyed::<Risk, Demand>")]
    pub risks: BTreeMap<Risk, Spanned<Demand>>,
    /// What a severity and those above it demand, on top of Tinman's matrix.
    #[serde(default)]
    #[schemars(schema_with = "keyed::<SeverityName, Demand>")]
    pub severities: BTreeMap<SeverityName, Spanned<Demand>>,
    /// Named time spans for holds, for rules to refer to by `ttl`.
    #[serde(default)]
    pub ttl_classes: BTreeMap<String, Seconds>,
    /// What actions may cost.
    #[serde(default)]
    pub costs: Costs,
    /// The time zone of `time` and of `facts.local`, such as `Europe/Berlin`: UTC unless said.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub time_zone: Option<Spanned<String>>,
    /// What is added up over time, by name, for rules to refer to.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Window>")]
    pub windows: BTreeMap<String, Spanned<Window>>,
    /// What may be spent in a while, by name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Budget>")]
    pub budgets: BTreeMap<String, Spanned<Budget>>,
    /// An evaluator outside that looks at actions before people do.
    #[serde(default)]
    #[schemars(with = "Option<Triage>")]
    pub triage: Option<Spanned<Triage>>,
    /// Who is told of actions, and by which channels, by the names that rules refer to by `route`. The route `default` is
    /// for actions for which no rule names one.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<WrittenLeg>>")]
    pub routes: BTreeMap<String, Vec<Spanned<WrittenLeg>>>,
    /// Which arguments reviewers of any action do not get to see, by path: `card`, `customer.*`, `**.password`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub redact: Vec<Spanned<String>>,
    /// Tools by name or pattern: the short form of rules that match nothing else. `accepts`, `ttl` and `when` need a rule.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Demand>")]
    pub tools: BTreeMap<String, Spanned<Demand>>,
    /// The rules.
    #[serde(default)]
    #[schemars(with = "Vec<Rule>")]
    pub rules: Vec<Spanned<Rule>>,
    /// What reading an action looks for: rules that are added, replaced, disabled.
    #[serde(default)]
    pub risk: RuleSet,
}

/// A severity as a key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SeverityName(pub Severity);

/// What holds where no rule says otherwise.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// How long a hold lasts: one hour unless said.
    pub timeout: Option<Seconds>,
    /// How long an authorisation lasts before it lapses: 15 minutes unless said.
    pub claim_within: Option<Seconds>,
    /// How long an execution may take: 10 minutes unless said.
    pub lease: Option<Seconds>,
    /// What a tool demands that no rule names: high and approve unless said, and never milder than approve.
    #[schemars(with = "Option<Demand>")]
    pub unknown_tool: Option<Spanned<Demand>>,
}

/// What actions may cost, by the agent's own estimate in US dollars.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Beyond this, a person sees it: 5 unless said.
    pub review_above_usd: Option<f64>,
    /// Beyond this, it never runs, by mode.
    #[schemars(schema_with = "keyed::<ModeName, f64>")]
    pub limits_usd: BTreeMap<ModeName, f64>,
}

/// A mode as a key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
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
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, in verdicts, the audit log and error messages.
    #[schemars(with = "String", extend("pattern" = "^[A-Za-z0-9._/-]{1,100}$"))]
    pub id: Spanned<String>,
    /// What it is for, for those who read the file.
    #[serde(default)]
    pub description: Option<String>,
    /// Which actions it is about; all conditions given have to hold.
    #[serde(default, rename = "match")]
    #[schemars(with = "Option<Match>")]
    pub matches: Option<Spanned<Match>>,
    /// For the rest: a CEL expression over `action`, `args`, `assessment`, `agent`, `facts` and `now`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub when: Option<Spanned<String>>,
    /// Findings that are set aside for the actions it matches, by id.
    #[serde(default)]
    #[schemars(with = "Vec<Glob>")]
    pub accepts: Vec<Spanned<Glob>>,
    /// At least this risky.
    #[serde(default)]
    pub risk: Option<Risk>,
    /// At least this tier.
    #[serde(default)]
    pub tier: Option<Tier>,
    /// How many different people have to approve.
    #[serde(default)]
    #[schemars(range(min = 1, max = 16))]
    pub quorum: Option<u32>,
    /// One approval by a person of each of these roles.
    #[serde(default)]
    pub roles: Vec<String>,
    /// So many people more than anything else demands.
    #[serde(default)]
    pub extra_people: u32,
    /// What happens while nobody decides.
    #[serde(default)]
    #[schemars(with = "Vec<WrittenStep>")]
    pub escalation: Vec<Spanned<WrittenStep>>,
    /// How long a hold lasts.
    #[serde(default)]
    pub timeout: Option<Seconds>,
    /// How long a hold lasts, by the name of a class.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
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
    /// Whether an approval needs the touch of a passkey.
    #[serde(default)]
    pub require_passkey: bool,
    /// Whether, and how far, an approval may be remembered. A single `false` among the rules that match forbids it.
    #[serde(default)]
    pub allow_remember: Option<AllowRemember>,
    /// What reviewers are told.
    #[serde(default)]
    pub message: Option<String>,
    /// Where people are told of it, by the name of a route.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub route: Option<Spanned<String>>,
    /// Which arguments reviewers do not get to see, by path: `card`, `customer.*`, `**.password`.
    #[serde(default)]
    pub redact: Vec<String>,
}

/// What is demanded, in a table.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Demand {
    /// At least this risky.
    pub risk: Option<Risk>,
    /// At least this tier.
    pub tier: Option<Tier>,
    /// How many different people have to approve.
    #[schemars(range(min = 1, max = 16))]
    pub quorum: Option<u32>,
    /// One approval by a person of each of these roles.
    pub roles: Vec<String>,
    /// So many people more than anything else demands.
    pub extra_people: u32,
    /// What happens while nobody decides.
    #[schemars(with = "Vec<WrittenStep>")]
    pub escalation: Vec<Spanned<WrittenStep>>,
    /// How long a hold lasts.
    pub timeout: Option<Seconds>,
    /// How long an authorisation lasts before it lapses.
    pub claim_within: Option<Seconds>,
    /// How long an execution may take.
    pub lease: Option<Seconds>,
    /// Whether a decision needs a reason.
    pub require_reason: bool,
    /// Whether an approval needs the touch of a passkey.
    pub require_passkey: bool,
    /// Whether, and how far, an approval may be remembered.
    pub allow_remember: Option<AllowRemember>,
    /// What reviewers are told.
    pub message: Option<String>,
    /// Where people are told of it, by the name of a route.
    #[schemars(with = "Option<String>")]
    pub route: Option<Spanned<String>>,
    /// Which arguments reviewers do not get to see, by path: `card`, `customer.*`, `**.password`.
    pub redact: Vec<String>,
}

/// Which actions a rule is about.
#[derive(Debug, Default, Deserialize, JsonSchema)]
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
    /// The risk that reading found: `high` and no other, `[low, medium]` or `">= medium"`.
    pub risk: Option<RiskRange>,
    /// A finding, by id or pattern.
    pub finding: OneOrMany<Glob>,
    /// The action type, by name or pattern; `Fine-Tune` is `fine_tune`.
    pub action_type: OneOrMany<Glob>,
    /// The severity that the agent predicts.
    pub severity: OneOrMany<SeverityName>,
    /// The operating mode.
    pub mode: OneOrMany<Mode>,
    /// The MCP server that the tool belongs to, by name or pattern. Unclear unless Banksman itself passes the call on.
    pub server: OneOrMany<Glob>,
    /// What the tool's server says of the tool.
    pub annotations: Hints,
    /// What windows show, by name, with this action.
    #[schemars(with = "BTreeMap<String, Limits>")]
    pub window: BTreeMap<String, Spanned<Limits>>,
    /// The time of day and week.
    #[schemars(with = "Option<TimeTest>")]
    pub time: Option<Spanned<TimeTest>>,
    /// Arguments, by path: `amount`, `customer.id`, or a JSON pointer.
    #[schemars(with = "BTreeMap<String, ArgumentTest>")]
    pub args: BTreeMap<String, Spanned<ArgumentTest>>,
}

/// What an MCP server says of a tool. It is a hint: nothing that a server says makes a rule milder than another. Asking for
/// the harmless one (`read_only: true`, `destructive: false`, `idempotent: true`, `open_world: false`) is unclear unless
/// Banksman itself passes the call on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
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

/// A set of risks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RiskRange {
    /// Any of these.
    Some(#[schemars(length(min = 1))] Vec<Risk>),
    /// `high`, `">= medium"`, `"< high"`.
    Written(#[schemars(regex(pattern = "^ *(=|==|>=|>|<=|<)? *(none|low|medium|high|critical) *$"))] String),
}

/// A table whose keys are names of something.
pub(crate) fn keyed<K: JsonSchema, V: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": generator.subschema_for::<K>(),
        "additionalProperties": generator.subschema_for::<V>(),
    })
}
