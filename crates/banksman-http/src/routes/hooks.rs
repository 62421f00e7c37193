//! `/hooks/{channel}`: what people did on a channel.
//!
//! A provider wants an answer within three seconds, so it gets one as soon as what it sent is verified; what comes of
//! it is told on the channel.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use banksman_notify::{Conversation, Heard, Reply};
use banksman_outbox::Outbox;

use super::Answer;
use crate::App;
use crate::body::SignedBody;
use crate::problem::{Code, ProblemError};

/// `POST /hooks/{channel}`
pub(crate) async fn post(
    State(app): State<App>,
    Path(channel): Path<String>,
    headers: HeaderMap,
    body: SignedBody,
) -> Answer {
    let hooked = app.hooks.get().and_then(|hooks| Some((hooks, hooks.conversations.get(&channel)?)));
    let (hooks, conversation) = hooked
        .ok_or_else(|| ProblemError::new(Code::NotFound, "nobody answers on a channel of that name"))?;
    match conversation.hear(&headers, &body.0, app.engine.now()) {
        Ok(heard) => {
            let (outbox, conversation) = (Arc::clone(&hooks.outbox), Arc::clone(conversation));
            let under_way = app.attending.begin();
            tokio::spawn(async move {
                attend(&outbox, &channel, &*conversation, heard).await;
                drop(under_way);
            });
            Ok(StatusCode::OK.into_response())
        }
        Err(unheard) => {
            hooks.outbox.unheard(&channel, &unheard).await?;
            Err(ProblemError::new(Code::NotSigned, unheard.to_string()))
        }
    }
}

async fn attend(outbox: &Outbox, channel: &str, conversation: &dyn Conversation, heard: Heard) {
    for event in heard {
        let done = match &event {
            Ok(inbound) => outbox.attend(channel, inbound).await,
            Err(unheard) => outbox.unheard(channel, unheard).await.map(|()| None),
        };
        let reply = done.unwrap_or_else(|error| {
            tracing::error!(%error, "what came in by a channel could not be attended to");
            Some(Reply::Words(
                "Banksman has trouble with its store. Look at the request's page before you try again."
                    .into(),
            ))
        });
        if let (Ok(inbound), Some(reply)) = (&event, reply)
            && let Err(error) = conversation.answer(inbound, &reply).await
        {
            tracing::warn!(%error, "nobody could be told what came of it");
        }
    }
}
