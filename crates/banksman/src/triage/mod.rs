//! Asks evaluators outside: a program, a webhook, a model.

mod command;
mod http;

use std::sync::Arc;

use banksman_core::{Risk, Tier, Triage};
use banksman_engine::{Evaluator, TriageQuestion};
use banksman_policy::{Means, TriagePlan};
use serde::Deserialize;
use tokio::sync::Semaphore;

/// How many questions are out at once. More would wait for the same processors or the same limit of a provider.
const AT_ONCE: usize = 16;

/// More than this is no answer but an attack on our memory.
const MAX_ANSWER: u64 = 256 * 1024;

/// Asks by whatever means the policy names.
pub(crate) struct Outside {
    turns: Arc<Semaphore>,
}

impl Outside {
    pub(crate) fn new() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

#[async_trait::async_trait]
impl Evaluator for Outside {
    async fn evaluate(&self, plan: &TriagePlan, question: &TriageQuestion) -> Result<Triage, String> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let _turn = turn.map_err(|_| "the server is stopping".to_owned())?;
        let text = match &plan.means {
            Means::Command(words) => command::ask(words, question).await?,
            Means::Webhook(webhook) => http::post(webhook, question, plan.timeout_seconds).await?,
            Means::Openai(model) => http::chat(model, question, plan.timeout_seconds).await?,
        };
        read(&text)
    }
}

/// An answer as evaluators write it. What they add beyond this is theirs.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    tier: Option<Tier>,
    #[serde(default)]
    risk: Option<Risk>,
    #[serde(default)]
    deny: bool,
    #[serde(default)]
    priority: Option<u8>,
    #[serde(default)]
    rationale: Option<String>,
}

fn read(text: &str) -> Result<Triage, String> {
    // By way of an object: a list would pass for one in which nothing is said.
    let object: serde_json::Result<serde_json::Map<_, _>> = serde_json::from_str(text.trim());
    let written: Written = object
        .and_then(|object| serde_json::from_value(object.into()))
        .map_err(|error| format!("its answer cannot be read: {error}"))?;
    Ok(Triage {
        tier: written.tier,
        risk: written.risk,
        denied: written.deny,
        priority: written.priority,
        rationale: written.rationale,
        problem: None,
    })
}

/// What is known of a failure, short enough for a line.
fn in_short(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    line.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn question_text(question: &TriageQuestion) -> Result<String, String> {
    serde_json::to_string(question).map_err(|error| format!("the question cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_nonsense_is_no_answer() {
        let answer = read(r#" {"tier":"escalate","risk":"high","priority":80,"rationale":"odd","more":1} "#);
        let answer = answer.unwrap();
        assert_eq!(
            (answer.tier, answer.risk, answer.denied),
            (Some(Tier::Escalate), Some(Risk::High), false)
        );
        assert!(read(r#"{"deny":true}"#).unwrap().denied);
        for text in ["", "fine", "[]", r#"{"tier":"maybe"}"#, r#"{"deny":"no"}"#, r#"{"priority":999}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
