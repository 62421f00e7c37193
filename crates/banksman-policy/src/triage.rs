//! Triage: an evaluator outside that looks at actions before people do.
//!
//! It may raise, order, deny and add a rationale. It can lower nothing: what it says is one more voice among those of
//! which the strictest wins, and its words are untrusted like the agent's own, which it has read.

use banksman_core::{Action, Assessment, Tier, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::arguments::Answer;
use crate::compile::Policy;
use crate::condition::{Condition, Question};
use crate::facts::Facts;
use crate::file;

/// How the evaluator is asked, and what about.
#[derive(Debug)]
pub struct TriagePlan {
    /// By which means.
    pub means: Means,
    /// How long it may take.
    pub timeout_seconds: u64,
    tiers: Vec<Tier>,
    condition: Condition,
}

/// By which means the evaluator is asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Means {
    /// A program and its arguments: the question on its standard input, the answer on its standard output.
    Command(Vec<String>),
    /// An address that the question is posted to.
    Webhook(Webhook),
    /// A model behind an address that speaks OpenAI's language.
    Openai(Model),
}

/// Where a question is posted to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// The address.
    pub url: String,
    /// The environment variable that holds the token to send along.
    #[serde(default)]
    pub token_env: Option<String>,
}

/// A model to ask.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The address up to `/v1`.
    pub url: String,
    /// Its name.
    pub model: String,
    /// The environment variable that holds the key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// What it should look at, in your words.
    #[serde(default)]
    pub instructions: Option<String>,
}

impl Means {
    /// In a word, for people.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Webhook(_) => "webhook",
            Self::Openai(_) => "openai",
        }
    }
}

impl TriagePlan {
    /// Compiles a plan; the error says what is wrong with it.
    pub(crate) fn compile(written: &file::Triage, condition: Condition) -> Result<Self, String> {
        let means = match (&written.command, &written.webhook, &written.openai) {
            (Some(command), None, None) if !command.is_empty() => Means::Command(command.clone()),
            (None, Some(webhook), None) => Means::Webhook(webhook.clone()),
            (None, None, Some(model)) => Means::Openai(model.clone()),
            _ => return Err("triage has one of command, webhook and openai".into()),
        };
        let url = match &means {
            Means::Command(_) => None,
            Means::Webhook(webhook) => Some(&webhook.url),
            Means::Openai(model) => Some(&model.url),
        };
        if url.is_some_and(|url| !url.starts_with("https://") && !url.starts_with("http://")) {
            return Err("an address begins with https://, or with http:// on a network that you trust".into());
        }
        let timeout_seconds = written.timeout.map_or(10, |seconds| seconds.0);
        if timeout_seconds > 120 {
            return Err("an agent waits for triage: two minutes are the most".into());
        }
        let tiers = match &written.tiers {
            Some(tiers) if tiers.is_empty() => return Err("triage of no tier".into()),
            Some(tiers) => tiers.clone(),
            None => vec![Tier::Approve, Tier::Escalate],
        };
        if tiers.contains(&Tier::Block) {
            return Err("what is blocked stays blocked: there is nothing to triage".into());
        }
        Ok(Self { means, timeout_seconds, tiers, condition })
    }
}

impl Policy {
    /// How to triage an action with this verdict, if it is to be.
    #[must_use]
    pub fn triage(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        verdict: &Verdict,
    ) -> Option<&TriagePlan> {
        let plan = self.triage.as_ref()?;
        let concerned = plan.tiers.contains(&verdict.tier)
            && plan.condition.ask(&Question::new(action, assessment, facts, &self.zone)) != Answer::No;
        concerned.then_some(plan)
    }
}
