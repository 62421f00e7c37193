//! The ways on which something goes to its server.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tokio::time::Instant;

use crate::errand::Errand;
use crate::gateway::Gateway;
use crate::message::{self, Era};
use crate::param_headers;
use crate::questions::{Askable, Interview};
use crate::raw::Members;
use crate::relay::refuses_us;
use crate::upstream::reply::Reply;
use crate::upstream::{Answer, Behalf, CALL_TRIES, Lane, NO_CAPABILITIES, Route, SendError};

/// How something goes to its server.
pub(crate) enum Way {
    /// As the client's own request.
    Clients(Lane),
    /// In the client's session, under an id of ours: it does not listen.
    ItsSession(Lane),
    /// In our own session for its agent.
    Ours,
    /// On with a call that is parked in such a session, by the state that leads back to it, as JSON. It goes nowhere else:
    /// there it would begin again.
    Parked(String),
    /// Not at all.
    None(String),
}

impl Errand {
    /// Sends it. With a stream that is open, its client cannot see that it has to open another session.
    pub(crate) async fn send(&self, gateway: &Arc<Gateway>, is_open: bool) -> Result<Answer, SendError> {
        match &self.way {
            Way::Clients(lane) => {
                let sent = self.over_the_clients_way(gateway, lane).await;
                match sent {
                    Ok(answer) if is_open && self.is_forgotten_by(lane, &answer) => {
                        Box::pin(self.over_our_own_way(gateway)).await
                    }
                    sent => sent,
                }
            }
            // On the heap, as what follows streams: neither should make room in every errand.
            Way::ItsSession(lane) => Box::pin(self.in_its_session(gateway, lane)).await,
            Way::Ours => Box::pin(self.over_our_own_way(gateway)).await,
            Way::Parked(state) => Box::pin(self.on_from_where_it_is_parked(gateway, state)).await,
            Way::None(problem) => Err(SendError::NotSent(problem.clone())),
        }
    }

    /// Sends it like the client's own call.
    async fn over_the_clients_way(&self, gateway: &Arc<Gateway>, lane: &Lane) -> Result<Answer, SendError> {
        let Some(message) = self.approved_message() else {
            return Err(SendError::NotSent(
                "what was approved cannot be written into the message".to_owned(),
            ));
        };
        let lane = self.with_own_headers(gateway, lane).await;
        let route = Route { id: self.id.clone(), progress: self.progress.clone() };
        lane.ask(message, route).await
    }

    /// What the client sent, with the arguments that were approved: in every round its own are those that it asked for.
    /// Its own bytes, if nobody changed them.
    fn approved_message(&self) -> Option<Bytes> {
        if self.case.version == 1 {
            return Some(self.message.clone());
        }
        message::with_params(&self.message, |params| {
            params.set("arguments", self.case.submission.action.args.as_str().to_owned());
            Some(())
        })
    }

    /// The call as we write it ourselves.
    fn params(&self) -> String {
        let action = &self.case.submission.action;
        format!(r#"{{"name":{},"arguments":{}}}"#, crate::raw::quoted(&action.tool), action.args.as_str())
    }

    /// Sends it in the session of a client that does not listen any more, or in our own if the server has forgotten that
    /// one: it says so instead of doing anything.
    async fn in_its_session(&self, gateway: &Arc<Gateway>, lane: &Lane) -> Result<Answer, SendError> {
        let message = message::request(&self.id, "tools/call", &self.params());
        let route = Route { id: self.id.clone(), progress: None };
        match lane.ask(message.into(), route).await {
            Ok(answer) if self.is_forgotten_by(lane, &answer) => self.over_our_own_way(gateway).await,
            answer => answer,
        }
    }

    fn is_forgotten_by(&self, lane: &Lane, answer: &Answer) -> bool {
        match answer {
            Answer::Whole { status, body, .. } => lane.is_forgotten_by(*status, body, &self.id),
            Answer::Stream(_) => false,
        }
    }

    /// The headers that go with the arguments, for a call that we write ourselves.
    async fn headers(&self, gateway: &Arc<Gateway>) -> HeaderMap {
        let action = &self.case.submission.action;
        let tool = gateway.catalogue.tool(&self.upstream, &action.tool).await;
        param_headers::of(tool.as_ref().and_then(|tool| tool.schema.as_ref()), &action.args)
    }

    /// The client's way; with other headers, if people have changed the arguments.
    async fn with_own_headers(&self, gateway: &Arc<Gateway>, lane: &Lane) -> Lane {
        match lane {
            Lane::Http { upstream, headers } if self.case.version > 1 => {
                let mut headers = headers.clone();
                param_headers::remove(&mut headers);
                if self.era == Era::Two {
                    headers.extend(self.headers(gateway).await);
                }
                Lane::Http { upstream: Arc::clone(upstream), headers }
            }
            lane @ (Lane::Http { .. } | Lane::Child(_)) => lane.clone(),
        }
    }

    /// Sends it in our own session for its agent.
    async fn over_our_own_way(&self, gateway: &Arc<Gateway>) -> Result<Answer, SendError> {
        Ok(self.as_its_client_hears_it(self.asked_by_us(gateway).await?))
    }

    async fn on_from_where_it_is_parked(
        &self,
        gateway: &Arc<Gateway>,
        state: &str,
    ) -> Result<Answer, SendError> {
        let theirs = Route { id: self.id.clone(), progress: self.progress.clone() };
        let message = Members::read_bytes(&self.message);
        let params = message.as_ref().and_then(|message| Members::read(message.get("params")?));
        let answers = params.as_ref().and_then(|params| params.get("inputResponses"));
        Ok(self.as_its_client_hears_it(gateway.parked.go_on(state, answers, theirs).await?))
    }

    fn as_its_client_hears_it(&self, answer: Answer) -> Answer {
        match answer {
            // What HTTP said of the answer was for us. Its client may be of another era.
            Answer::Whole { status, body, .. } if !refuses_us(status) && Reply::read(&body).is_some() => {
                Answer::Whole { status: self.status_of(&body), headers: HeaderMap::new(), body }
            }
            // A client with a session would take a bare 404 for the end of its own.
            Answer::Whole { status, .. } if !refuses_us(status) && status.is_client_error() => {
                let text = format!("the server `{}` answers with HTTP {status}", self.upstream.name);
                let body = message::error(&self.id, -32603, &text).into();
                Answer::Whole { status: StatusCode::OK, headers: HeaderMap::new(), body }
            }
            answer => answer,
        }
    }

    async fn asked_by_us(&self, gateway: &Arc<Gateway>) -> Result<Answer, SendError> {
        let action = &self.case.submission.action;
        let headers = self.headers(gateway).await;
        let params = self.params();
        let patience = self.time_left(gateway);
        let theirs = Route { id: self.id.clone(), progress: self.progress.clone() };
        if let Some(client) = &self.askable
            && self.upstream.is_known_to_speak(Era::One) == Some(false)
        {
            let interview = Interview {
                gateway: Arc::clone(gateway),
                upstream: Arc::clone(&self.upstream),
                agent: self.case.agent.clone(),
                headers,
                params,
                is_idempotent: self.upstream.config.is_idempotent(&action.tool),
                theirs,
                client: client.clone(),
                until: Instant::now() + patience,
            };
            return Box::pin(interview.begin()).await;
        }
        let agent = Some(self.case.agent.as_str());
        let behalf = Behalf {
            agent,
            headers: &headers,
            patience,
            capabilities: NO_CAPABILITIES,
            hears_questions: false,
        };
        if let (Era::Two, Some(client)) = (self.era, &self.askable) {
            return Box::pin(self.with_questions(gateway, client, behalf, theirs)).await;
        }
        let is_idempotent = self.upstream.config.is_idempotent(&action.tool);
        if self.progress.is_some() && !is_idempotent {
            return self.upstream.ask_aloud(behalf, "tools/call", &params, &theirs).await;
        }
        let mut tries = if is_idempotent { CALL_TRIES } else { 1 };
        let mut again = self.again;
        let answer = loop {
            tries -= 1;
            let asked = self.upstream.ask_aloud(behalf, "tools/call", &params, &theirs);
            let answered = match asked.await {
                Ok(answer) => answer.conclude_within(Some(behalf.patience), &self.id).await,
                Err(error) => Err(error),
            };
            match answered {
                Err(SendError::Lost(_)) if tries > 0 => again = true,
                // This time; but nobody knows of the time before.
                Err(SendError::NotSent(problem)) if again => return Err(SendError::Lost(problem)),
                answered => break answered?,
            }
        };
        Ok(Answer::Whole { status: answer.status, headers: answer.headers, body: answer.message })
    }

    /// The same, for a client that can be asked what its server wants to know: it is, in place of an answer.
    async fn with_questions(
        &self,
        gateway: &Arc<Gateway>,
        client: &Askable,
        behalf: Behalf<'_>,
        theirs: Route,
    ) -> Result<Answer, SendError> {
        let capabilities = client.capabilities();
        let behalf = Behalf { capabilities: &capabilities, hears_questions: true, ..behalf };
        let params = self.params();
        let is_idempotent = self.upstream.config.is_idempotent(&self.case.submission.action.tool);
        let answer = self.upstream.call_aloud(is_idempotent, behalf, &params, &theirs).await?;
        Ok(gateway.parked.watch(&self.case.agent, answer, &theirs, Instant::now() + behalf.patience))
    }
}
