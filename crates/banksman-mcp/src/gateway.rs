//! The gateway: what comes in, and where it goes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use banksman_core::Principal;
use banksman_engine::Engine;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use tokio::task::JoinHandle;

use crate::body::{self, Body};
use crate::catalogue::Catalogue;
use crate::changes::Changes;
use crate::config::Config;
use crate::headers;
use crate::hold::Holds;
use crate::labels;
use crate::message::{self, Message, Shape};
use crate::owners::Owners;
use crate::parked::ParkingLot;
use crate::present;
use crate::questions::{self, Questions};
use crate::seal::{Purpose, Seal};
use crate::session::{Session, Sessions};
use crate::upstream::Upstream;
use crate::upstream::http::SESSION;
use crate::visit::Visit;

/// Where people decide, if nobody said.
const REVIEW_URL: &str = "http://127.0.0.1:7447";

/// Stands before MCP servers, over one engine.
pub struct Gateway {
    pub(crate) engine: Arc<Engine>,
    pub(crate) config: Config,
    pub(crate) upstreams: BTreeMap<String, Arc<Upstream>>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) owners: Owners,
    pub(crate) sessions: Sessions,
    pub(crate) holds: Holds,
    pub(crate) changes: Changes,
    pub(crate) questions: Questions,
    pub(crate) parked: Arc<ParkingLot>,
    pub(crate) seal: Seal,
}

/// The gateway cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("the MCP gateway cannot be made: {0}")]
pub struct GatewayError(String);

impl Gateway {
    /// A gateway over an engine. `pins` is where the definitions of tools are remembered.
    ///
    /// # Errors
    /// If its keys cannot be made, or what tools were first cannot be read.
    pub fn new(
        engine: Arc<Engine>,
        config: Config,
        pins: Option<PathBuf>,
    ) -> Result<Arc<Self>, GatewayError> {
        let key = engine.derived_key("MCP sessions and rounds");
        let seal = Seal::new(&key).map_err(|error| GatewayError(error.to_string()))?;
        let catalogue = Catalogue::new(pins).map_err(|error| GatewayError(error.to_string()))?;
        let upstreams = config
            .upstreams
            .iter()
            .map(|(name, config)| (name.clone(), Upstream::new(name, config)))
            .collect();
        Ok(Arc::new(Self {
            engine,
            config,
            upstreams,
            catalogue: Arc::new(catalogue),
            owners: Owners::default(),
            sessions: Sessions::default(),
            holds: Holds::default(),
            changes: Changes::default(),
            questions: Questions::default(),
            parked: Arc::default(),
            seal,
        }))
    }

    /// Starts what goes on by itself: approved calls run, whether their clients are there or not.
    pub fn start_workers(self: &Arc<Self>) -> JoinHandle<()> {
        tokio::spawn(Arc::clone(self).find_left_behind())
    }

    /// Whether there is a server of this name; with no name, whether there is any.
    #[must_use]
    pub fn serves(&self, endpoint: Option<&str>) -> bool {
        endpoint.map_or(!self.upstreams.is_empty(), |name| self.upstreams.contains_key(name))
    }

    /// The page on which people decide about an action.
    pub(crate) fn review_url(&self, id: banksman_core::ActionId) -> String {
        let base = self.config.review_url.as_deref().unwrap_or(REVIEW_URL);
        format!("{}/actions/{id}", base.trim_end_matches('/'))
    }

    /// A message from a client.
    pub async fn post(
        self: &Arc<Self>,
        caller: Arc<Principal>,
        endpoint: Option<&str>,
        headers: HeaderMap,
        body: Bytes,
    ) -> Response<Body> {
        let Some((endpoint, upstream)) = self.resolve(endpoint) else { return no_such_endpoint() };
        if !body::is_utf8(&headers) {
            return not_utf8();
        }
        let message = match Message::read(body) {
            Ok(message) => message,
            Err(error) => return bad_request("null", -32700, &error.to_string()),
        };
        let session = match self.session(&caller, &endpoint, &headers) {
            Ok(session) => session,
            Err(answer) => return *answer,
        };
        let visit = Visit::new(Arc::clone(self), caller, endpoint, upstream, session, headers, message);
        visit.answer().await
    }

    /// A client wants to hear what the server says on its own account.
    pub async fn get(
        self: &Arc<Self>,
        caller: Arc<Principal>,
        endpoint: Option<&str>,
        headers: HeaderMap,
    ) -> Response<Body> {
        let Some((endpoint, upstream)) = self.resolve(endpoint) else { return no_such_endpoint() };
        if let Some(refused) = headers::unknown_version(&headers) {
            return refused;
        }
        match self.session(&caller, &endpoint, &headers) {
            Ok(session) => crate::stream::listen(self, &upstream, session, &headers).await,
            Err(answer) => *answer,
        }
    }

    /// A client ends its session.
    pub async fn delete(
        self: &Arc<Self>,
        caller: Arc<Principal>,
        endpoint: Option<&str>,
        headers: HeaderMap,
    ) -> Response<Body> {
        let Some((endpoint, upstream)) = self.resolve(endpoint) else { return no_such_endpoint() };
        if let Some(refused) = headers::unknown_version(&headers) {
            return refused;
        }
        match self.session(&caller, &endpoint, &headers) {
            Ok(session) => crate::stream::end(self, &upstream, session, &headers).await,
            Err(answer) => *answer,
        }
    }

    /// Which server an endpoint leads to: the one that it names, or all of them.
    fn resolve(&self, endpoint: Option<&str>) -> Option<(String, Behind)> {
        match endpoint {
            Some(name) => {
                let upstream = self.upstreams.get(name)?;
                Some((name.to_owned(), Behind::One(Arc::clone(upstream))))
            }
            None => {
                let mut upstreams = self.upstreams.values();
                match (upstreams.next(), upstreams.next()) {
                    (None, _) => None,
                    // The one there is, under its tools' own names.
                    (Some(only), None) => Some((String::new(), Behind::One(Arc::clone(only)))),
                    (Some(_), Some(_)) => Some((String::new(), Behind::All)),
                }
            }
        }
    }

    /// The session that a request belongs to, if it names one: of this agent, at this endpoint, and not ended.
    fn session(
        &self,
        caller: &Principal,
        endpoint: &str,
        headers: &HeaderMap,
    ) -> Result<Option<Session>, Box<Response<Body>>> {
        let Some(id) = headers.get(SESSION) else { return Ok(None) };
        let session: Option<Session> = id.to_str().ok().and_then(|id| self.seal.open(Purpose::Session, id));
        session
            .filter(|session| session.agent == caller.name && session.endpoint == endpoint)
            .filter(|session| !self.sessions.has_ended(&session.key))
            .map(Some)
            .ok_or_else(|| {
                let text = message::error("null", -32001, "there is no such session: initialize again");
                Box::new(body::json(StatusCode::NOT_FOUND, text))
            })
    }
}

/// What is behind an endpoint.
#[derive(Clone)]
pub(crate) enum Behind {
    One(Arc<Upstream>),
    All,
}

fn no_such_endpoint() -> Response<Body> {
    body::json(StatusCode::NOT_FOUND, message::error("null", -32601, "there is no such MCP server here"))
}

/// Whoever says that its bytes mean something else than we would read in them is not read at all.
fn not_utf8() -> Response<Body> {
    let text = message::error("null", -32700, "the charset of a message is UTF-8");
    body::json(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
}

pub(crate) fn bad_request(id: &str, code: i32, problem: &str) -> Response<Body> {
    body::json(StatusCode::BAD_REQUEST, message::error(id, code, problem))
}

/// Whether a message is a question that only we can answer to.
pub(crate) fn is_for_us(message: &Message) -> bool {
    let id = message.id();
    // A server's own ids stand behind its name, and that may begin like ours.
    let is_ours = questions::is_one(&id) || id.starts_with(present::POINTER);
    matches!(message.shape(), Shape::Answer) && is_ours && !id.contains(labels::BETWEEN)
}
