//! The routes by which providers tell what people did on their channels.

use axum::http::Method;

use super::{Route, route};
use crate::Access::Public;
use crate::openapi::Operation;
use crate::problem::Code;
use crate::routes::hooks;

pub(super) fn routes() -> Vec<Route> {
    vec![route(
        Method::POST,
        "/hooks/{channel}",
        Public,
        hooks::post,
        Operation::new(
            "channelEvent",
            "What people did on a channel, as Slack or LINE sends it, signed by its provider",
        )
        .answers_nothing(200, "Heard; what came of it is told on the channel")
        .fails(&[
            Code::NotSigned,
            Code::NotFound,
            Code::BodyTooSlow,
            Code::BodyTooLarge,
            Code::Unavailable,
        ]),
    )]
}
