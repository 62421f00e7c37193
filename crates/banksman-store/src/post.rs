//! What is on its way to people and to the agent's side: deliveries, jobs, and what came back.

use banksman_core::{ActionId, DeliveryStatus, JobStatus, Purpose, Timestamp};

/// What a commit writes about messages and jobs.
#[derive(Debug, Default)]
pub struct Post {
    /// New deliveries. One that is there already, by its id or by what it is about, stays as it is.
    pub deliveries: Vec<NewDelivery>,
    /// Deliveries that go together from now on, each with the first of them. Written before the message is sent.
    pub bundles: Vec<(i64, i64)>,
    /// What came of attempts. An attempt that another node has overtaken changes nothing.
    pub attempts: Vec<Attempt>,
    /// Failed deliveries that are to be tried again from the beginning, at this time.
    pub redeliveries: Vec<(i64, Timestamp)>,
    /// New jobs. An action that has one already gets no second.
    pub jobs: Vec<NewJob>,
    /// What came of jobs. What another node has overtaken changes nothing, nor does a failure of what was dropped.
    pub runs: Vec<Run>,
    /// Jobs that are to be tried again from the beginning, at this time.
    pub reruns: Vec<(i64, Timestamp)>,
    /// Guard: nobody has read on since.
    pub reading: Option<LogReading>,
    /// Guard: nobody has seen it before.
    pub seen: Option<SeenEvent>,
}

/// A message that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// Its id. Whoever plans the same twice gives it the same.
    pub id: i64,
    /// About which action.
    pub action: ActionId,
    /// And which version of it.
    pub version: u32,
    /// Why.
    pub purpose: Purpose,
    /// What tells apart two of one purpose: the number of a reminder, the message that is updated.
    pub round: i64,
    /// By which channel, as its configuration names it.
    pub channel: String,
    /// To whom, as the configuration names them.
    pub recipient: String,
    /// Not before.
    pub next_at: Timestamp,
    /// When it was planned.
    pub at: Timestamp,
}

/// A message, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the first fields are those of NewDelivery")]
pub struct Delivery {
    pub id: i64,
    pub action: ActionId,
    pub version: u32,
    pub purpose: Purpose,
    pub round: i64,
    pub channel: String,
    pub recipient: String,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// How often it was tried.
    pub attempt: u32,
    /// When it is due, as long as it is to be sent.
    pub next_at: Option<Timestamp>,
    /// The first delivery of the message that it went with, once it was sent: several may share one.
    pub message: Option<i64>,
    /// What the provider calls that message.
    pub provider_id: Option<String>,
    /// Why the last attempt failed, or why it was not sent.
    pub error: Option<String>,
    /// When it was planned.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The first delivery of the message that it goes with: from before that is sent, and for as long as it may have
    /// been taken.
    pub bundle: Option<i64>,
    /// How many failed tries count against it.
    pub strikes: u32,
}

/// What came of an attempt to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Which delivery.
    pub id: i64,
    /// How often it had been tried before. Guard: nobody else has tried it since.
    pub after: u32,
    /// How often it has been tried now: one that was put off has not.
    pub attempt: u32,
    /// Where it stands now.
    pub status: DeliveryStatus,
    /// When it is due again.
    pub next_at: Option<Timestamp>,
    /// The first delivery of the message that it went with.
    pub message: Option<i64>,
    /// What the provider calls that message.
    pub provider_id: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// The first delivery of the message that it goes with, if that was taken or may have been.
    pub bundle: Option<i64>,
    /// How many failed tries count against it now.
    pub strikes: u32,
    /// When.
    pub at: Timestamp,
}

/// A call of the agent's side that is to be made because its action was resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewJob {
    /// Its id: the place of the event that resolved the action.
    pub id: i64,
    /// Which action.
    pub action: ActionId,
    /// When it was made, and is due.
    pub at: Timestamp,
}

/// A job, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of Delivery")]
pub struct Job {
    pub id: i64,
    pub action: ActionId,
    pub status: JobStatus,
    pub attempt: u32,
    pub next_at: Option<Timestamp>,
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Which job.
    pub id: i64,
    /// How often it had been tried before. Guard: nobody else has tried it since.
    pub after: u32,
    /// How often it has been tried now.
    pub attempt: u32,
    /// Where it stands now.
    pub status: JobStatus,
    /// When it is due again.
    pub next_at: Option<Timestamp>,
    /// What went wrong.
    pub error: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// How far someone has read the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogReading {
    /// Who reads.
    pub reader: &'static str,
    /// How far they had read.
    pub from: u64,
    /// And have now.
    pub to: u64,
}

/// Something that a provider told us, and may tell again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenEvent {
    /// The channel that it came by.
    pub channel: String,
    /// What the provider calls it.
    pub event: String,
    /// When.
    pub at: Timestamp,
    /// What was seen before this moment is forgotten: no provider tells it again so late.
    pub forget_before: Timestamp,
}

/// Which deliveries to list, newest first. Every filter that is given has to match.
#[derive(Debug, Clone, Default)]
pub struct DeliveryQuery {
    /// About this action.
    pub action: Option<ActionId>,
    /// That stand here.
    pub status: Option<DeliveryStatus>,
    /// By this channel.
    pub channel: Option<String>,
    /// That went with this message.
    pub message: Option<i64>,
    /// That go with this delivery, or went.
    pub bundle: Option<i64>,
    /// Only older than this one.
    pub before: Option<i64>,
    /// How many at the most.
    pub limit: usize,
}

/// Which jobs to list, newest first. Every filter that is given has to match.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// About this action.
    pub action: Option<ActionId>,
    /// That stand here.
    pub status: Option<JobStatus>,
    /// Only older than this one.
    pub before: Option<i64>,
    /// How many at the most.
    pub limit: usize,
}
