//! The routes of what is on its way to people and to the agent's side.

use axum::http::Method;
use banksman_core::wire::{DeliveryView, JobView, List, TestMessageBody, TestMessageView};
use banksman_core::{DeliveryStatus, JobStatus};

use super::{Route, route};
use crate::Access::Person;
use crate::openapi::{Operation, Parameter};
use crate::problem::Code;
use crate::routes::notifications;

pub(super) fn routes() -> Vec<Route> {
    let before = || Parameter::query("before", "only older than this number");
    vec![
        route(
            Method::GET,
            "/v1/actions/{id}/notifications",
            Person,
            notifications::of_action,
            Operation::new("listNotificationsOfAction", "Who was told of an action, oldest first")
                .answers::<List<DeliveryView>>(200, "Messages")
                .fails(&[Code::NotFound]),
        ),
        route(
            Method::GET,
            "/v1/notifications",
            Person,
            notifications::notifications,
            Operation::new("listNotifications", "Messages to people, newest first")
                .with(Parameter::query("status", "where they stand").one_of::<DeliveryStatus>())
                .with(Parameter::query("channel", "by which channel"))
                .with(before())
                .with(Parameter::limit())
                .answers::<List<DeliveryView>>(200, "Messages")
                .fails(&[Code::InvalidRequest]),
        ),
        route(
            Method::POST,
            "/v1/notifications/{id}/retry",
            Person,
            notifications::retry_notification,
            Operation::new("retryNotification", "Send a failed message again")
                .answers::<DeliveryView>(200, "It is to be sent")
                .fails(&[Code::NotFound, Code::InvalidRequest]),
        ),
        route(
            Method::POST,
            "/v1/notifications/test",
            Person,
            notifications::test,
            Operation::new("testChannel", "Send a test message, to see whether a channel works")
                .takes::<TestMessageBody>()
                .answers::<TestMessageView>(200, "The provider took it")
                .fails(&[Code::InvalidRequest]),
        ),
        route(
            Method::GET,
            "/v1/jobs",
            Person,
            notifications::jobs,
            Operation::new("listJobs", "Calls of agents whose actions were resolved, newest first")
                .with(Parameter::query("status", "where they stand").one_of::<JobStatus>())
                .with(before())
                .with(Parameter::limit())
                .answers::<List<JobView>>(200, "Jobs")
                .fails(&[Code::InvalidRequest]),
        ),
        route(
            Method::POST,
            "/v1/jobs/{id}/retry",
            Person,
            notifications::retry_job,
            Operation::new("retryJob", "Call the agent's side again")
                .answers::<JobView>(200, "It is to be done")
                .fails(&[Code::NotFound, Code::InvalidRequest]),
        ),
        route(
            Method::POST,
            "/v1/jobs/{id}/drop",
            Person,
            notifications::drop_job,
            Operation::new("dropJob", "Give a call of the agent's side up")
                .answers::<JobView>(200, "It is not done any more")
                .fails(&[Code::NotFound, Code::InvalidRequest]),
        ),
    ]
}
