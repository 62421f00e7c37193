//! One message of one client: what it is, and who answers it.

use std::sync::Arc;

use banksman_core::{ActionId, Principal};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};

use crate::body::{self, Body};
use crate::callers::WayOf;
use crate::gateway::{Behind, Gateway, bad_request, is_for_us};
use crate::message::{ClientSays, Era, Message, Shape};
use crate::session::Session;
use crate::upstream::{Lane, Reach, SendError, Upstream};
use crate::{call, headers, lists, questions, relay, tasks};

/// What there is with sessions only. A program that speaks both eras might take it for the begin of one.
pub(crate) const GONE_IN_ERA_TWO: &[&str] =
    &["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// One message, and everything that is known around it. It is handed on from one to the next, so it lives on the heap; and
/// so does whatever is rare and large on its way, which would otherwise be moved along with every call.
pub(crate) struct Visit {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) caller: Arc<Principal>,
    pub(crate) endpoint: String,
    pub(crate) behind: Behind,
    pub(crate) session: Option<Session>,
    pub(crate) headers: HeaderMap,
    pub(crate) message: Message,
    pub(crate) era: Era,
    pub(crate) client: ClientSays,
    /// Whether this endpoint leads to several servers.
    pub(crate) shared: bool,
}

impl Visit {
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        caller: Arc<Principal>,
        endpoint: String,
        behind: Behind,
        session: Option<Session>,
        headers: HeaderMap,
        message: Message,
    ) -> Box<Self> {
        let era = message.era(&headers);
        let client = match (&session, era) {
            (Some(session), Era::One) => session.client.clone(),
            (Some(_) | None, _) => message.client(),
        };
        let shared = matches!(behind, Behind::All);
        Box::new(Self { gateway, caller, endpoint, behind, session, headers, message, era, client, shared })
    }

    /// Answers it.
    pub(crate) async fn answer(self: Box<Self>) -> Response<Body> {
        if let Some(messages) = self.message.batch() {
            return Box::pin(crate::batch::answer(self, messages)).await;
        }
        if let Some(refused) = headers::problem(&self.message, self.era, &self.headers) {
            return refused;
        }
        if is_for_us(&self.message) {
            // Its answer to what a server asks by us; or to our pointer at the review page, where it decides nothing.
            let id = self.message.id();
            let taken = self.gateway.questions.answer(self.session.as_ref(), &id, self.bytes());
            if taken || !questions::is_one(&id) {
                return body::empty(StatusCode::ACCEPTED);
            }
            return match &self.behind {
                // It may be a gateway, too.
                Behind::One(upstream) => Box::pin(relay::tell(&self, upstream)).await,
                Behind::All => bad_request("null", -32600, "nobody here waits for that answer"),
            };
        }
        match self.behind.clone() {
            Behind::One(upstream) => self.answer_of(&upstream).await,
            Behind::All => Box::pin(crate::aggregate::answer(self)).await,
        }
    }

    /// The answer, with one server behind us.
    pub(crate) async fn answer_of(self: Box<Self>, upstream: &Arc<Upstream>) -> Response<Body> {
        if let Some(refused) = self.unfit_for(upstream) {
            return refused;
        }
        match self.message.shape() {
            Shape::Request("tools/call") if self.message.has_usable_id() => {
                call::answer(self, upstream).await
            }
            Shape::Request("tools/call") => {
                bad_request("null", -32600, "the id is neither a text nor a number")
            }
            // A server might run it all the same, and nobody would have been asked.
            Shape::Notification("tools/call") if self.message.is_json_rpc() => {
                bad_request("null", -32600, "tools/call needs an id")
            }
            Shape::Notification("tools/call") => match self.message.named() {
                Some(message) => call::answer(Box::new(Self { message, ..*self }), upstream).await,
                None => bad_request("null", -32600, "the message cannot be read"),
            },
            Shape::Request("initialize") if self.era == Era::One => {
                Box::pin(relay::initialize(&self, upstream)).await
            }
            Shape::Request("tools/list") => Box::pin(lists::tools(&self, upstream)).await,
            Shape::Request("server/discover") => Box::pin(lists::discover(&self, upstream)).await,
            Shape::Request("tasks/get" | "tasks/update" | "tasks/cancel") if self.task().is_some() => {
                Box::pin(tasks::answer(&self)).await
            }
            Shape::Request(_) => Box::pin(relay::request(&self, upstream)).await,
            Shape::Notification(_) | Shape::Answer => Box::pin(relay::tell(&self, upstream)).await,
            Shape::Other => bad_request(&self.message.id(), -32600, "this is no message of JSON-RPC"),
        }
    }

    /// The answer to a request of era two that a program is not to see: its own transport would have refused it.
    pub(crate) fn unfit_for(&self, upstream: &Upstream) -> Option<Response<Body>> {
        let Shape::Request(method) = self.message.shape() else { return None };
        if self.era == Era::One || !matches!(upstream.reach, Reach::Program) {
            return None;
        }
        let id = self.message.id();
        if !self.message.says_who_asks() {
            return Some(bad_request(
                &id,
                -32602,
                "`_meta` does not say which revision, and what the client can",
            ));
        }
        GONE_IN_ERA_TWO.contains(&method).then(|| headers::no_such_method(&id))
    }

    /// The held call that a task of ours is, if the message names one.
    pub(crate) fn task(&self) -> Option<ActionId> {
        self.message.text_param("taskId")?.parse().ok()
    }

    /// The client's own way to a server; `None` if it has none and ours has to do.
    pub(crate) async fn lane(&self, upstream: &Arc<Upstream>) -> Result<Option<Lane>, SendError> {
        let way = WayOf {
            agent: &self.caller.name,
            era: self.era,
            shared: self.shared,
            plain: self.is_plain(),
            session: self.session.as_ref(),
            headers: &self.headers,
        };
        way.lane(&self.gateway, upstream).await
    }

    /// Whether this is a client that only posts JSON, without a session or a word of MCP's transport.
    pub(crate) fn is_plain(&self) -> bool {
        let accepts = self.headers.get("accept").and_then(|value| value.to_str().ok()).unwrap_or_default();
        self.session.is_none()
            && self.era == Era::One
            && !self.headers.contains_key("mcp-protocol-version")
            && !accepts.contains("text/event-stream")
    }

    /// Whether the client can be answered with a stream.
    pub(crate) fn takes_events(&self) -> bool {
        let accepts = self.headers.get("accept").and_then(|value| value.to_str().ok()).unwrap_or_default();
        accepts.contains("text/event-stream") || accepts.contains("*/*")
    }

    /// The bytes that the client sent.
    pub(crate) fn bytes(&self) -> Bytes {
        self.message.bytes.clone()
    }
}
