//! What is added up over time, what may be spent, and who looks first, as it is written.

use banksman_config::Seconds;
use banksman_core::Tier;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{Match, OneOrMany};
use crate::triage::{Model, Webhook};

/// What is added up over time. One of `count`, `sum` and `distinct`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Which actions count: all, unless said.
    #[serde(default, rename = "match")]
    #[schemars(with = "Option<Match>")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Actions that were proposed, unless they ended without having run.
    Proposals,
    /// Actions that ran and failed.
    Failures,
}

/// What may be spent in a while. One of `cost_usd` and `actions`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Which actions spend it: all, unless said.
    #[serde(default, rename = "match")]
    #[schemars(with = "Option<Match>")]
    pub matches: Option<Spanned<Match>>,
    /// How far it looks back. May be left out of a budget per session.
    #[serde(default)]
    pub over: Option<Seconds>,
    /// Kept apart by: `agent`, `session`, `tool`, `args.customer`. All together, unless said.
    #[serde(default)]
    pub per: OneOrMany<String>,
    /// So many dollars, by the agent's own estimates. An action without an estimate counts as over the limit.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// What an action without an estimate counts as instead, in dollars.
    #[serde(default)]
    pub unestimated_usd: Option<f64>,
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
#[derive(Debug, Deserialize, JsonSchema)]
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
    #[schemars(with = "Option<Match>")]
    pub matches: Option<Spanned<Match>>,
}

/// What a number has to be.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
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

impl Limits {
    /// Whether no number is within them.
    pub(crate) fn is_contradiction(&self) -> bool {
        let over = |least: Option<f64>, most: Option<f64>| {
            least.zip(most).is_some_and(|(least, most)| least >= most)
        };
        over(self.gt, self.lt)
            || over(self.gt, self.lte)
            || over(self.gte, self.lt)
            || self.gte.zip(self.lte).is_some_and(|(least, most)| least > most)
    }
}
