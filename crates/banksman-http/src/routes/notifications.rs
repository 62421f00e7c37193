//! `/v1/notifications`, `/v1/actions/{id}/notifications`, `/v1/jobs`: what is on its way.

use axum::extract::State;
use banksman_core::ActionId;
use banksman_core::wire::{DeliveryView, JobView, List, TestMessageBody, TestMessageView};
use banksman_outbox::TestError;
use banksman_store::{Delivery, DeliveryQuery, Job, JobQuery};
use serde::Deserialize;

use super::{Answer, ok};
use crate::App;
use crate::access::PersonCaller;
use crate::body::{Body, IdPath, Params};
use crate::problem::{Code, ProblemError};
use crate::query::{MAX_LIMIT, limited, parsed};

/// `GET /v1/notifications`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NotificationsParams {
    status: Option<String>,
    channel: Option<String>,
    before: Option<String>,
    limit: Option<String>,
}

/// `GET /v1/jobs`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JobsParams {
    status: Option<String>,
    before: Option<String>,
    limit: Option<String>,
}

pub(crate) async fn of_action(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    IdPath(id): IdPath<ActionId>,
) -> Answer {
    app.engine.action(&person, id).await?;
    let query = DeliveryQuery { action: Some(id), limit: MAX_LIMIT, ..DeliveryQuery::default() };
    let mut found = app.engine.deliveries(query).await?;
    // A story is told from its beginning.
    found.reverse();
    ok(&List { items: found.iter().map(delivery_view).collect() })
}

pub(crate) async fn notifications(
    State(app): State<App>,
    PersonCaller(_): PersonCaller,
    Params(params): Params<NotificationsParams>,
) -> Answer {
    let query = DeliveryQuery {
        status: parsed("status", params.status)?,
        channel: params.channel.filter(|name| !name.is_empty()),
        before: parsed("before", params.before)?,
        limit: limited(params.limit)?,
        ..DeliveryQuery::default()
    };
    ok(&List { items: app.engine.deliveries(query).await?.iter().map(delivery_view).collect() })
}

pub(crate) async fn retry_notification(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    IdPath(id): IdPath<i64>,
) -> Answer {
    let delivery = app.engine.retry_delivery(&person, id).await?;
    app.nudge_outbox();
    ok(&delivery_view(&delivery))
}

pub(crate) async fn test(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    Body(body): Body<TestMessageBody>,
) -> Answer {
    let problem = |detail: String| ProblemError::new(Code::InvalidRequest, detail);
    let outbox = app.outbox().ok_or_else(|| {
        problem(
            "no channels are configured: write a channels.yaml into the data folder (docs/notifications.md)"
                .into(),
        )
    })?;
    let recipient = body.recipient.as_deref().unwrap_or(&person.name);
    match outbox.test(&body.channel, recipient).await {
        Ok(sent) => ok(&TestMessageView { delivered: sent.delivered, provider_id: sent.provider_id }),
        Err(TestError::NotSent(error)) => Err(problem(format!("{} did not take it: {error}", body.channel))),
        Err(error @ (TestError::NoChannel(_) | TestError::NoAddress(_))) => Err(problem(error.to_string())),
    }
}

pub(crate) async fn jobs(
    State(app): State<App>,
    PersonCaller(_): PersonCaller,
    Params(params): Params<JobsParams>,
) -> Answer {
    let query = JobQuery {
        status: parsed("status", params.status)?,
        before: parsed("before", params.before)?,
        limit: limited(params.limit)?,
        ..JobQuery::default()
    };
    ok(&List { items: app.engine.jobs(query).await?.iter().map(job_view).collect() })
}

pub(crate) async fn retry_job(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    IdPath(id): IdPath<i64>,
) -> Answer {
    let job = app.engine.retry_job(&person, id).await?;
    app.nudge_outbox();
    ok(&job_view(&job))
}

pub(crate) async fn drop_job(
    State(app): State<App>,
    PersonCaller(person): PersonCaller,
    IdPath(id): IdPath<i64>,
) -> Answer {
    ok(&job_view(&app.engine.drop_job(&person, id).await?))
}

pub(crate) fn delivery_view(delivery: &Delivery) -> DeliveryView {
    DeliveryView {
        id: delivery.id,
        action: delivery.action,
        version: delivery.version,
        purpose: delivery.purpose,
        channel: delivery.channel.clone(),
        recipient: delivery.recipient.clone(),
        status: delivery.status,
        attempt: delivery.attempt,
        next_at: delivery.next_at,
        provider_id: delivery.provider_id.clone(),
        error: delivery.error.clone(),
        created_at: delivery.created_at,
        updated_at: delivery.updated_at,
    }
}

fn job_view(job: &Job) -> JobView {
    JobView {
        id: job.id,
        action: job.action,
        status: job.status,
        attempt: job.attempt,
        next_at: job.next_at,
        error: job.error.clone(),
        created_at: job.created_at,
        updated_at: job.updated_at,
    }
}
