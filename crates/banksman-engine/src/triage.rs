//! Triage: asking an evaluator outside about an action, before people are.
//!
//! Whatever goes wrong out there, the action is judged as if the evaluator had wanted a person to look.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use banksman_core::{Action, Assessment, Digest, Timestamp, Triage, Verdict};
use banksman_policy::TriagePlan;
use quick_cache::unsync::Cache;
use serde::Serialize;

/// What an evaluator is asked.
#[derive(Debug, Clone, Serialize)]
pub struct TriageQuestion {
    /// Who asks to act.
    pub agent: String,
    /// What would run, and what the agent says about it.
    pub action: Action,
    /// What reading it found.
    pub assessment: Assessment,
    /// What policy demands so far.
    pub verdict: Verdict,
}

/// Something outside that can be asked.
#[async_trait::async_trait]
pub trait Evaluator: Send + Sync + 'static {
    /// What it makes of an action. The error says why there is no answer, without secrets: people read it.
    async fn evaluate(&self, plan: &TriagePlan, question: &TriageQuestion) -> Result<Triage, String>;
}

/// How long an answer holds for the same question. Whoever asks again and again gets no second opinion.
const HOLDS_FOR: Duration = Duration::from_secs(600);

/// How many answers are remembered.
const REMEMBERED: usize = 1_000;

/// How many bytes of a rationale are kept.
const MAX_RATIONALE: usize = 2_000;

/// The evaluator, and what it said lately.
pub(crate) struct TriageDesk {
    evaluator: OnceLock<Arc<dyn Evaluator>>,
    answers: Mutex<Cache<Digest, (Timestamp, Triage)>>,
}

impl Default for TriageDesk {
    fn default() -> Self {
        Self { evaluator: OnceLock::new(), answers: Mutex::new(Cache::new(REMEMBERED)) }
    }
}

impl TriageDesk {
    pub(crate) fn staff(&self, evaluator: Arc<dyn Evaluator>) {
        // The first one stays: there is one desk.
        let _ = self.evaluator.set(evaluator);
    }

    /// What the evaluator says, now or a while ago.
    pub(crate) async fn ask(&self, plan: &TriagePlan, question: &TriageQuestion, now: Timestamp) -> Triage {
        let Some(evaluator) = self.evaluator.get() else {
            return Triage::failed("nobody is there to be asked");
        };
        let key = serde_json::to_vec(&(plan.means.as_str(), question)).map(|bytes| Digest::of(&bytes));
        if let Ok(key) = &key
            && let Some((at, answer)) = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(key)
            && now.since(*at) < HOLDS_FOR
        {
            return answer.clone();
        }
        let timeout = Duration::from_secs(plan.timeout_seconds);
        let answer = match tokio::time::timeout(timeout, evaluator.evaluate(plan, question)).await {
            Ok(Ok(answer)) => bounded(answer),
            // Not remembered: the next one may find it well again.
            Ok(Err(problem)) => {
                tracing::warn!(problem, "triage failed");
                return Triage::failed(problem);
            }
            Err(_) => {
                tracing::warn!(seconds = plan.timeout_seconds, "triage took too long");
                return Triage::failed(format!("it took longer than {} seconds", plan.timeout_seconds));
            }
        };
        if let Ok(key) = key {
            self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, (now, answer.clone()));
        }
        answer
    }
}

/// An answer with no more words than people would read. What it says of a failure is not for it to say.
fn bounded(mut answer: Triage) -> Triage {
    if let Some(rationale) = &mut answer.rationale
        && rationale.len() > MAX_RATIONALE
    {
        rationale.truncate(rationale.floor_char_boundary(MAX_RATIONALE));
        rationale.push('…');
    }
    Triage { problem: None, priority: answer.priority.map(|priority| priority.min(100)), ..answer }
}
