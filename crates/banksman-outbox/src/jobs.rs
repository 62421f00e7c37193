//! Calls of the agent's side: each is a row, tried until it is taken or given up, and then left for a person to see.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, JobStatus, Timestamp};
use banksman_engine::EngineError;
use banksman_notify::{PostId, SendError};
use banksman_store::{Job, Post, Run};
use futures_util::StreamExt as _;

use crate::outbox::chance;
use crate::resolution_call::ResolutionCall;
use crate::{Outbox, Retries};

const AT_A_TIME: usize = 64;
const AT_ONCE: usize = 8;
const LEASE: Duration = Duration::from_secs(300);
/// Within which a call is begun, so that it is over before another node may take the job: who was frozen meanwhile calls
/// nobody about what is no longer theirs.
const BEGUN_WITHIN: Duration = Duration::from_secs(230);
const LOOK: Duration = Duration::from_secs(15);
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Calls the agent's side, once.
#[async_trait::async_trait]
pub trait AgentCaller: Send + Sync + 'static {
    /// Posts a body under a name that is the same for every attempt.
    ///
    /// # Errors
    /// If it was not taken, or nobody knows.
    async fn call(&self, url: &str, id: &PostId, body: Vec<u8>) -> Result<(), SendError>;
}

/// How often to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// Tries of each job.
    pub retries: Retries,
}

impl Default for JobLimits {
    /// An agent's side that is down for a night is called again in the morning.
    fn default() -> Self {
        let (first, longest) = (Duration::from_secs(5), Duration::from_secs(3600));
        Self { retries: Retries { tries: 16, first, longest } }
    }
}

/// Who calls, and how often.
pub(crate) struct Errands {
    caller: Arc<dyn AgentCaller>,
    limits: JobLimits,
}

impl Errands {
    pub(crate) fn new(caller: Arc<dyn AgentCaller>, limits: JobLimits) -> Self {
        Self { caller, limits }
    }
}

impl Outbox {
    pub(crate) async fn keep_calling(&self) {
        loop {
            let mut rung = pin!(self.planned.notified());
            rung.as_mut().enable();
            match self.call_once().await {
                Ok(0) => {
                    let next = self.engine.next_job().await.unwrap_or(None);
                    let until = next.map_or(LOOK, |due| due.since(self.engine.now()).min(LOOK));
                    let _ = tokio::time::timeout(until, rung).await;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "jobs could not be taken or settled; trying again");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        }
    }

    /// Does the jobs that are due. Says how many that were.
    ///
    /// # Errors
    /// If the store cannot be used. What was called and could not be written down is called again, under the same name.
    pub async fn call_once(&self) -> Result<usize, EngineError> {
        let Some(errands) = &self.errands else { return Ok(0) };
        let begin_until = self.engine.now().after(BEGUN_WITHIN);
        let due = self.engine.take_jobs(AT_A_TIME, LEASE).await?;
        let count = due.len();
        let calls = due.into_iter().map(|job| self.run_job(errands, job, begin_until));
        let done = futures_util::stream::iter(calls).buffer_unordered(AT_ONCE);
        // What fails for one is no reason to hang up on others.
        let results: Vec<Result<(), EngineError>> = done.collect().await;
        results.into_iter().collect::<Result<(), _>>().map(|()| count)
    }

    async fn run_job(&self, errands: &Errands, job: Job, begin_until: Timestamp) -> Result<(), EngineError> {
        let Some(answer) = self.call(errands, &job, begin_until).await? else { return Ok(()) };
        let now = self.engine.now();
        let run = concluded(&job, answer, errands.limits, now, chance());
        let fact =
            Fact::Resumed { about: job.action, job: job.id, outcome: run.status, error: run.error.clone() };
        let over = run.status != JobStatus::Waiting;
        let events = over.then(|| Event::general(now, Actor::System, fact)).into_iter().collect();
        self.engine.record_post(Post { runs: vec![run], ..Post::default() }, events).await
    }

    /// What came of the call, or nothing if it was not begun in time: then it is somebody else's by now.
    async fn call(
        &self,
        errands: &Errands,
        job: &Job,
        begin_until: Timestamp,
    ) -> Result<Option<Result<(), SendError>>, EngineError> {
        let never = |why| Ok(Some(Err(SendError::never(why))));
        let case = match self.engine.case(job.action).await {
            Ok(case) => case,
            Err(EngineError::NotFound) => return never("the action is no longer on record"),
            Err(error) => return Err(error),
        };
        let Some(resume) = &case.submission.action.resume else {
            return never("the action names nobody to call");
        };
        if !self.engine.may_resume_at(&resume.url) {
            return never("its address is no longer among those that may be called");
        }
        let name = PostId::of_job(job.id);
        let Some(call) = ResolutionCall::of(&name, &case) else {
            return Ok(Some(Err(SendError::later("the action is held again"))));
        };
        let body = serde_json::to_vec(&call).map_err(|error| EngineError::Internal(error.to_string()))?;
        // As late as can be: reading may have taken long, or been where this node was frozen.
        if self.engine.now() > begin_until {
            return Ok(None);
        }
        Ok(Some(errands.caller.call(&resume.url, &name, body).await))
    }
}

fn concluded(
    job: &Job,
    answer: Result<(), SendError>,
    limits: JobLimits,
    now: Timestamp,
    chance: u32,
) -> Run {
    let attempt = job.attempt.saturating_add(1);
    let run = |status, next_at, error| Run {
        id: job.id,
        after: job.attempt,
        attempt,
        status,
        next_at,
        error,
        at: now,
    };
    match answer {
        Ok(()) => run(JobStatus::Done, None, None),
        Err(SendError::Later { after, why, .. }) if attempt < limits.retries.tries => {
            let pause = limits.retries.pause(attempt, chance).max(after.unwrap_or_default());
            run(JobStatus::Waiting, Some(now.after(pause)), Some(why))
        }
        Err(SendError::Later { why, .. } | SendError::Never { why }) => run(JobStatus::Dead, None, Some(why)),
    }
}
