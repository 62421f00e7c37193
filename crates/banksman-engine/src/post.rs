//! Post: what is on its way to people and to the agent's side, for the workers that carry it and for those who ask.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use banksman_core::audit::{Event, Fact};
use banksman_core::{ActionId, Actor, Case, DeliveryStatus, JobStatus, Principal, Standing, Timestamp};
use banksman_policy::{Facts, Leg};
use banksman_store::{
    Commit, CommitError, Conflict, Delivery, DeliveryQuery, Job, JobQuery, LogReading, Post, Run, SeenEvent,
};

use crate::{Engine, EngineError};

/// Someone who decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    /// As they sign in, or as their credentials name them.
    pub name: String,
    /// The roles that they have at this moment, lent ones among them.
    pub roles: Vec<String>,
}

impl Engine {
    /// One action as it stands, for workers. Whoever shows it to someone asks first whether they may see it.
    ///
    /// # Errors
    /// If there is none such, or the store cannot be read.
    pub async fn case(&self, id: ActionId) -> Result<Arc<Case>, EngineError> {
        self.recall(id).await
    }

    /// Everyone who decides at this moment, by name.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn deciders(&self) -> Result<Vec<Decider>, EngineError> {
        let now = self.clock.now();
        let mut own: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for credential in self.store.credentials().await? {
            if credential.kind.decides() && credential.is_live(now) {
                own.entry(credential.name).or_default().extend(credential.roles);
            }
        }
        // People have their roles also while no browser of theirs is signed in.
        for person in self.store.people().await? {
            if person.kind.decides() && person.standing == Standing::Active {
                own.entry(person.name).or_default().extend(person.roles);
            }
        }
        let control = self.house_rules().await?;
        let mut people = own.clone();
        for delegation in control.delegations.iter().filter(|delegation| delegation.is_live(now)) {
            if let (Some(lent), Some(roles)) = (own.get(&delegation.from), people.get_mut(&delegation.to)) {
                roles.extend(delegation.lends(lent).cloned());
            }
        }
        Ok(people.into_iter().map(|(name, roles)| Decider { name, roles }).collect())
    }

    /// Whom policy wants told of an action, at this moment. `None`: whoever can answer, however they like to be told.
    #[must_use]
    pub fn legs(&self, case: &Case) -> Option<Vec<Leg>> {
        let submission = &case.submission;
        let facts = Facts { mode: self.control.load().mode, ..Facts::plain(&case.agent, self.clock.now()) };
        self.judge.load().legs(&submission.action, &submission.assessment, &facts, &submission.verdict)
    }

    /// Messages to people, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn deliveries(&self, query: DeliveryQuery) -> Result<Vec<Delivery>, EngineError> {
        Ok(self.store.deliveries(query).await?)
    }

    /// What a channel has to send by now, for this node to send within `lease`.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn take_deliveries(
        &self,
        channel: &str,
        limit: usize,
        lease: Duration,
    ) -> Result<Vec<Delivery>, EngineError> {
        Ok(self.store.take_deliveries(channel, self.clock.now(), limit, lease).await?)
    }

    /// When a channel will have something to send.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next_delivery(&self, channel: &str) -> Result<Option<Timestamp>, EngineError> {
        Ok(self.store.next_delivery(channel).await?)
    }

    /// How many messages someone was sent by a channel since.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn told(&self, channel: &str, recipient: &str, since: Timestamp) -> Result<u64, EngineError> {
        Ok(self.store.told(channel, recipient, since).await?)
    }

    /// Writes down what came of attempts, with what the audit log is to say of it.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub async fn record_post(&self, post: Post, events: Vec<Event>) -> Result<(), EngineError> {
        self.commit_unguarded(Commit { events, post: Some(Box::new(post)), ..Commit::default() }).await
    }

    /// Whether nobody, on any node, has heard of this event of a channel before; remembered for so long. Of those who hear
    /// it at once, one is told `true`.
    ///
    /// # Errors
    /// If it cannot be remembered. Then nobody knows, and nothing must be done about the event.
    pub async fn is_heard_first(
        &self,
        channel: &str,
        event: &str,
        remembered: Duration,
    ) -> Result<bool, EngineError> {
        let now = self.clock.now();
        let micros = i64::try_from(remembered.as_micros()).unwrap_or(i64::MAX);
        let seen = SeenEvent {
            channel: channel.to_owned(),
            event: event.to_owned(),
            at: now,
            forget_before: Timestamp::from_micros(now.as_micros().saturating_sub(micros)),
        };
        let post = Post { seen: Some(seen), ..Post::default() };
        match self.commit(Commit { post: Some(Box::new(post)), ..Commit::default() }).await {
            Ok(_) => Ok(true),
            Err(CommitError::Conflict(Conflict::EventSeen)) => Ok(false),
            Err(error) => Err(EngineError::unexpected_conflict(error)),
        }
    }

    /// How far a reader has acted on the audit log, and where it ends.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn log_place(&self, reader: &'static str) -> Result<(u64, u64), EngineError> {
        Ok((self.store.log_place(reader).await?, self.store.last_seq().await?))
    }

    /// Writes down what a reader makes of a stretch of the audit log. `false` if another node was faster: then nothing
    /// is written.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub async fn read_on(&self, reading: LogReading, post: Post) -> Result<bool, EngineError> {
        let post = Post { reading: Some(reading), ..post };
        match self.commit(Commit { post: Some(Box::new(post)), ..Commit::default() }).await {
            Ok(_) => Ok(true),
            Err(CommitError::Conflict(Conflict::ReadOn)) => Ok(false),
            Err(error) => Err(EngineError::unexpected_conflict(error)),
        }
    }

    /// Has a failed message sent again.
    ///
    /// # Errors
    /// If there is none such, or it has not failed.
    pub async fn retry_delivery(&self, by: &Principal, id: i64) -> Result<Delivery, EngineError> {
        let delivery = self.delivery(id).await?;
        if delivery.status != DeliveryStatus::Failed {
            return Err(EngineError::Invalid(format!(
                "only what failed is sent again; this is {}",
                delivery.status
            )));
        }
        let now = self.clock.now();
        let fact = Fact::NotificationRetried { about: delivery.action, delivery: id };
        let post = Post { redeliveries: vec![(id, now)], ..Post::default() };
        self.record_post(post, vec![Event::general(now, Actor::from(by), fact)]).await?;
        self.delivery(id).await
    }

    async fn delivery(&self, id: i64) -> Result<Delivery, EngineError> {
        let query = DeliveryQuery { before: id.checked_add(1), limit: 1, ..DeliveryQuery::default() };
        let found = self.store.deliveries(query).await?.pop();
        found.filter(|delivery| delivery.id == id).ok_or(EngineError::NotFound)
    }

    /// Jobs, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn jobs(&self, query: JobQuery) -> Result<Vec<Job>, EngineError> {
        Ok(self.store.jobs(query).await?)
    }

    /// The jobs that are due by now, for this node to do within `lease`.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn take_jobs(&self, limit: usize, lease: Duration) -> Result<Vec<Job>, EngineError> {
        Ok(self.store.take_jobs(self.clock.now(), limit, lease).await?)
    }

    /// When there will be a job to do.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next_job(&self) -> Result<Option<Timestamp>, EngineError> {
        Ok(self.store.next_job().await?)
    }

    /// Has a job done again from the beginning.
    ///
    /// # Errors
    /// If there is none such, or it is done.
    pub async fn retry_job(&self, by: &Principal, id: i64) -> Result<Job, EngineError> {
        let job = self.job(id).await?;
        if job.status == JobStatus::Done {
            return Err(EngineError::Invalid("the agent's side has taken it: it is done".into()));
        }
        let now = self.clock.now();
        let fact = Fact::JobRetried { about: job.action, job: id };
        let post = Post { reruns: vec![(id, now)], ..Post::default() };
        self.record_post(post, vec![Event::general(now, Actor::from(by), fact)]).await?;
        self.job(id).await
    }

    /// Gives a job up.
    ///
    /// # Errors
    /// If there is none such, or it is done.
    pub async fn drop_job(&self, by: &Principal, id: i64) -> Result<Job, EngineError> {
        let job = self.job(id).await?;
        if job.status == JobStatus::Done {
            return Err(EngineError::Invalid("the agent's side has taken it: it is done".into()));
        }
        let now = self.clock.now();
        let run = Run {
            id,
            after: job.attempt,
            attempt: job.attempt,
            status: JobStatus::Dropped,
            next_at: None,
            error: job.error,
            at: now,
        };
        let fact = Fact::JobDropped { about: job.action, job: id };
        let post = Post { runs: vec![run], ..Post::default() };
        self.record_post(post, vec![Event::general(now, Actor::from(by), fact)]).await?;
        self.job(id).await
    }

    async fn job(&self, id: i64) -> Result<Job, EngineError> {
        let query = JobQuery { before: id.checked_add(1), limit: 1, ..JobQuery::default() };
        let found = self.store.jobs(query).await?.pop();
        found.filter(|job| job.id == id).ok_or(EngineError::NotFound)
    }
}
