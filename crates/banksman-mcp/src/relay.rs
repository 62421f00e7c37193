//! Everything that is not a call: passed through as it is.

use std::sync::Arc;

use banksman_core::json::{self, CanonicalJson};
use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::mpsc;

use crate::body::{self, Body};
use crate::catalogue::Catalogue;
use crate::errand::QUEUE;
use crate::gateway::bad_request;
use crate::labels::Ids;
use crate::message::{self, Shape};
use crate::names::{misspelt, misspelt_in};
use crate::raw::Members;
use crate::seal::Purpose;
use crate::session::Session;
use crate::sse;
use crate::upstream::http::{SESSION, passed_back, passed_on};
use crate::upstream::lane::{self, MAX_ANSWER, is_event_stream};
use crate::upstream::reply::{Final, Reply};
use crate::upstream::{Child, Greeting, Lane, Reach, Route, SendError, Upstream};
use crate::visit::Visit;
use crate::{eras, headers};

/// Opens a session of era one.
pub(crate) async fn initialize(visit: &Visit, upstream: &Arc<Upstream>) -> Response<Body> {
    let id = visit.message.id();
    let params = Members::read_bytes(&visit.bytes()).and_then(|all| all.get("params").map(str::to_owned));
    let params = params.unwrap_or_else(|| "{}".to_owned());
    let sessions = &visit.gateway.sessions;
    let (answer, session, child) = match &upstream.reach {
        Reach::Http(http) => {
            let speaks = upstream.speaks(crate::message::Era::One).await;
            match speaks {
                Ok(true) => {}
                Ok(false) => return eras::initialize(visit, upstream).await,
                Err(error) => return unreachable(&id, upstream, &error),
            }
            let lane = Lane::http(http, passed_on(&visit.headers), None);
            let route = Route { id: id.clone(), progress: None };
            match upstream.meeting(lane.answer(visit.bytes(), route)).await {
                Ok(answer) => {
                    let session = answer.headers.get(SESSION).and_then(|value| value.to_str().ok());
                    let session = session.map(str::to_owned);
                    (answer, session, None)
                }
                Err(error) => return unreachable(&id, upstream, &error),
            }
        }
        Reach::Program => match sessions.initialize(upstream, &visit.caller.name, &params).await {
            Ok(Greeting::Met { lane, said }) => {
                let message = message::result(&id, &said);
                let answer = Final::alone(StatusCode::OK, http::HeaderMap::new(), message);
                let Lane::Child(child) = lane else { return body::empty(StatusCode::BAD_GATEWAY) };
                (answer, None, Some(child))
            }
            Ok(Greeting::Refused { answer, .. }) => {
                if upstream.speaks(crate::message::Era::Two).await == Ok(true) {
                    return eras::initialize(visit, upstream).await;
                }
                let text = match Reply::read(&answer.message).and_then(|reply| reply.error) {
                    Some(error) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, error.get()),
                    None => message::error(&id, -32603, "the server cannot be initialized"),
                };
                return body::json(StatusCode::OK, text);
            }
            Err(error) => return unreachable(&id, upstream, &error),
        },
    };
    if refuses_us(answer.status) {
        return refused_us(&id, upstream);
    }
    let met = answer.status.is_success()
        && Reply::read(&answer.message).is_some_and(|reply| reply.result.is_some());
    let mut response = answered(&answer, answer.message.clone());
    if !met {
        return response;
    }
    let Some(mut opened) = new_session(visit) else { return body::empty(StatusCode::INTERNAL_SERVER_ERROR) };
    opened.upstream = session;
    if let Some(child) = child {
        opened.initialize = Some(params);
        if let Err(error) = sessions.keep(upstream, &opened, Lane::Child(child)) {
            return unreachable(&id, upstream, &error);
        }
    }
    if let Some(handle) = sealed(visit, &opened) {
        response.headers_mut().insert(SESSION, handle);
    }
    response
}

/// An answer in the form in which it came: alone, or as the last message of a stream.
pub(crate) fn answered(answer: &Final, message: Bytes) -> Response<Body> {
    if answer.streamed {
        body::event_stream(sse::event(&String::from_utf8_lossy(&message)))
    } else {
        body::json(answer.status, message)
    }
}

/// A session of this visitor, not yet known to anyone.
pub(crate) fn new_session(visit: &Visit) -> Option<Session> {
    let mut key = [0u8; 16];
    getrandom::fill(&mut key).ok()?;
    let key = key.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(Session {
        agent: visit.caller.name.clone(),
        endpoint: visit.endpoint.clone(),
        key,
        upstream: None,
        client: visit.message.client(),
        initialize: None,
    })
}

pub(crate) fn sealed(visit: &Visit, session: &Session) -> Option<HeaderValue> {
    let handle = visit.gateway.seal.close(Purpose::Session, session).ok()?;
    HeaderValue::from_str(&handle).ok()
}

/// Passes a request through.
pub(crate) async fn request(visit: &Visit, upstream: &Arc<Upstream>) -> Response<Body> {
    if let Some(refused) = visit.unfit_for(upstream) {
        return refused;
    }
    let id = visit.message.id();
    match visit.lane(upstream).await {
        Ok(Some(Lane::Http { upstream: http, headers })) => {
            match http.send(Method::POST, headers, visit.bytes()).await {
                Ok(response) => {
                    let ids = Ids::at(visit.shared);
                    pass_back(&visit.gateway.catalogue, &id, upstream, ids, response).await
                }
                Err(error) => unreachable(&id, upstream, &error),
            }
        }
        Ok(Some(Lane::Child(child))) => {
            let route = Route { id: id.clone(), progress: visit.message.progress_token() };
            let label = (Ids::at(visit.shared), upstream.name.clone());
            from_child(&child, visit.bytes(), route, label)
                .await
                .unwrap_or_else(|error| unreachable(&id, upstream, &error))
        }
        Ok(None) => eras::request(visit, upstream).await,
        Err(error) => unreachable(&id, upstream, &error),
    }
}

/// Passes a notification, or an answer, through.
pub(crate) async fn tell(visit: &Visit, upstream: &Arc<Upstream>) -> Response<Body> {
    match visit.lane(upstream).await {
        Ok(Some(Lane::Http { upstream: http, headers })) => {
            match http.send(Method::POST, headers, visit.bytes()).await {
                Ok(response) => {
                    let ids = Ids::at(visit.shared);
                    pass_back(&visit.gateway.catalogue, "null", upstream, ids, response).await
                }
                Err(error) => unreachable("null", upstream, &error),
            }
        }
        Ok(Some(lane @ Lane::Child(_))) => {
            // Whoever has no session has nothing to say beside its requests, and knows none of their names there.
            if matches!(&lane, Lane::Child(child) if child.is_shared()) {
                return body::empty(StatusCode::ACCEPTED);
            }
            // We have told the program ourselves that its client is ready.
            if visit.message.method() == Some("notifications/initialized") {
                return body::empty(StatusCode::ACCEPTED);
            }
            match lane.tell(visit.bytes()).await {
                Ok(status) => body::empty(status),
                Err(error) => unreachable("null", upstream, &error),
            }
        }
        Ok(None) if matches!(visit.message.shape(), Shape::Answer) => {
            bad_request("null", -32600, "nobody here waits for that answer")
        }
        // In our own session nobody waits for what this client has to say.
        Ok(None) => body::empty(StatusCode::ACCEPTED),
        Err(error) => unreachable("null", upstream, &error),
    }
}

/// The server's answer as it is, but for what is between it and us, and for answers to something else that no client may
/// see unseen.
pub(crate) async fn pass_back(
    catalogue: &Arc<Catalogue>,
    id: &str,
    upstream: &Upstream,
    ids: Ids,
    response: Response<Incoming>,
) -> Response<Body> {
    if refuses_us(response.status()) {
        return refused_us(id, upstream);
    }
    let (parts, body) = response.into_parts();
    let mut passed = if is_event_stream(&parts.headers) {
        body::events(sifted(catalogue, id, upstream, ids, body))
    } else if parts.status.is_success() {
        match lane::whole(body).await {
            Ok(bytes) if bytes.is_empty() || may_pass(catalogue, &upstream.name, id, &bytes) => {
                Response::new(body::full(bytes))
            }
            Ok(_) => {
                let problem = SendError::Lost("it answers something else than it was asked".to_owned());
                return unreachable(id, upstream, &problem);
            }
            Err(error) => return unreachable(id, upstream, &error),
        }
    } else {
        Response::new(body::passed(body))
    };
    *passed.status_mut() = parts.status;
    passed.headers_mut().extend(passed_back(&parts.headers));
    passed
}

/// The events of a stream that may reach the client.
fn sifted(
    catalogue: &Arc<Catalogue>,
    id: &str,
    upstream: &Upstream,
    ids: Ids,
    mut body: Incoming,
) -> mpsc::Receiver<Bytes> {
    let (catalogue, server, id) = (Arc::clone(catalogue), upstream.name.clone(), id.to_owned());
    let (events, receiver) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let mut reader = sse::Reader::new(MAX_ANSWER);
        loop {
            while let Some(event) = reader.next() {
                if !may_pass(&catalogue, &server, &id, &event.data) {
                    continue;
                }
                let labelled = ids.outward(&server, &event.data).map(|text| sse::event(&text));
                if events.send(labelled.unwrap_or(event.raw)).await.is_err() {
                    return;
                }
            }
            // The server has to hear at once that its client is gone: that may be how a request is cancelled.
            let frame = tokio::select! {
                frame = body.frame() => frame,
                () = events.closed() => return,
            };
            let Some(Ok(frame)) = frame else { return };
            if frame.data_ref().is_some_and(|data| reader.push(data).is_err()) {
                return;
            }
        }
    });
    receiver
}

/// Whether a message may reach a client where the answer to the request `id` is due. Clients go by ids and not by where a
/// message came from, so that the answer to any other request could stand here; if it lists tools, they are remembered
/// like those of any other list.
pub(crate) fn may_pass(catalogue: &Catalogue, server: &str, id: &str, message: &[u8]) -> bool {
    if message.is_empty() || Reply::to(message, id).is_some() {
        return true;
    }
    let Ok(read) = json::parse(message) else { return false };
    let is_answer = ["result", "error"].iter().any(|member| read.get(member).is_some());
    if read.as_object().is_none() || misspelt(&read).is_some() || (is_answer && read.get("method").is_some())
    {
        return false;
    }
    match read.get("result") {
        Some(result) if result.get("tools").is_some() || misspelt_in(Some(result), &["tools"]).is_some() => {
            catalogue.learn(server, CanonicalJson::of(result).as_str()).is_ok()
        }
        Some(_) | None => true,
    }
}

/// What a program answers: JSON if that is all it says, and else a stream.
async fn from_child(
    child: &Arc<Child>,
    message: Bytes,
    route: Route,
    (ids, server): (Ids, String),
) -> Result<Response<Body>, SendError> {
    let id = route.id.clone();
    let mut messages = child.ask(message, route).await?;
    let Some(first) = messages.recv().await else {
        return Err(SendError::Lost("its program ended without an answer".to_owned()));
    };
    if Reply::to(&first, &id).is_some() {
        let status = if child.is_shared() { headers::status_of(&first) } else { StatusCode::OK };
        return Ok(body::json(status, first));
    }
    let (events, receiver) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let mut next = Some(first);
        while let Some(message) = next {
            let text = ids.outward(&server, &message);
            let text = text.map_or_else(|| String::from_utf8_lossy(&message), Into::into);
            if events.send(sse::event(&text)).await.is_err() {
                break;
            }
            next = tokio::select! {
                next = messages.recv() => next,
                // What is asked from now on, somebody else may answer.
                () = events.closed() => None,
            };
        }
    });
    Ok(body::events(receiver))
}

/// The whole answer to a request that is to be looked into; `Err` is what to answer instead.
pub(crate) async fn whole(visit: &Visit, upstream: &Arc<Upstream>) -> Result<Final, Response<Body>> {
    if let Some(refused) = visit.unfit_for(upstream) {
        return Err(refused);
    }
    let id = visit.message.id();
    let lane = match visit.lane(upstream).await {
        Ok(Some(lane)) => lane,
        Ok(None) => return eras::whole(visit, upstream).await,
        Err(error) => return Err(unreachable(&id, upstream, &error)),
    };
    let route = Route { id: id.clone(), progress: visit.message.progress_token() };
    match lane.answer(visit.bytes(), route).await {
        Ok(answer) if refuses_us(answer.status) => Err(refused_us(&id, upstream)),
        Ok(answer) if matches!(&lane, Lane::Child(child) if child.is_shared()) => {
            let status = headers::status_of(&answer.message);
            // Only what comes alone has a status of its own.
            Ok(Final { status, streamed: answer.streamed && status.is_success(), ..answer })
        }
        Ok(answer) => Ok(answer),
        Err(error) => Err(unreachable(&id, upstream, &error)),
    }
}

/// Whether the server refuses our credential. That is nothing that its client could mend.
pub(crate) fn refuses_us(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED)
}

fn refused_us(id: &str, upstream: &Upstream) -> Response<Body> {
    tracing::error!(
        upstream = upstream.name,
        "an MCP server refuses the credential that is configured for it"
    );
    let text = format!("the server `{}` refuses the gateway's credential: tell its operator", upstream.name);
    body::json(StatusCode::BAD_GATEWAY, message::error(id, -32603, &text))
}

pub(crate) fn unreachable(id: &str, upstream: &Upstream, error: &SendError) -> Response<Body> {
    tracing::warn!(upstream = upstream.name, %error, "an MCP server does not answer");
    let text = format!("the server `{}` does not answer: {error}", upstream.name);
    body::json(StatusCode::BAD_GATEWAY, message::error(id, -32603, &text))
}
