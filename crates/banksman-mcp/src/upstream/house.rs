//! Our own sessions with a server: one to learn what tools it has, and one for each agent, to run what was approved when its
//! client is away, or has none of its own. No agent's calls find what another has left behind in one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::sync::{Mutex, OnceCell};

use super::http::{SESSION, own_headers};
use super::reply::{Final, Reply};
use super::{Lane, Manner, Reach, Route, SendError, Slot, Upstream};
use crate::message::{self, ERA_ONE, ERA_TWO, Era, META_CAPABILITIES, META_CLIENT, META_VERSION};
use crate::raw::{Members, quoted};

/// For how long an answer to what we ask for ourselves is of use.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

const UNKNOWN_REVISION: &str = "it speaks no revision of MCP that we know";

/// Our own sessions with a server, each opened when it is first needed.
#[derive(Default)]
pub(crate) struct House {
    ours: Arc<Room>,
    agents: StdMutex<HashMap<String, Arc<Room>>>,
    next_id: AtomicU64,
    /// Whether it understands each era, once that is known.
    speaks_one: OnceCell<bool>,
    speaks_two: OnceCell<bool>,
}

/// The place of one session.
#[derive(Default)]
struct Room {
    open: Mutex<Option<Open>>,
    used_at: StdMutex<Option<Instant>>,
}

impl Room {
    fn use_now(&self) {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn is_idle_for(&self, time: Duration) -> bool {
        let used_at = *self.used_at.lock().unwrap_or_else(PoisonError::into_inner);
        used_at.is_some_and(|used_at| used_at.elapsed() >= time)
    }
}

impl House {
    fn agents(&self) -> MutexGuard<'_, HashMap<String, Arc<Room>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room(&self, agent: Option<&str>) -> Arc<Room> {
        let Some(agent) = agent else { return Arc::clone(&self.ours) };
        let mut agents = self.agents();
        let room = match agents.get(agent) {
            Some(room) => Arc::clone(room),
            None => Arc::clone(agents.entry(agent.to_owned()).or_default()),
        };
        room.use_now();
        room
    }

    /// The sessions of agents that nobody has used for so long, which are no longer ours: whoever asks has to end them.
    pub(crate) async fn take_idle(&self, time: Duration) -> Vec<Lane> {
        let idle: Vec<Arc<Room>> = {
            let mut agents = self.agents();
            // Whoever asks something in one holds it meanwhile.
            let is_idle = |room: &Arc<Room>| Arc::strong_count(room) == 1 && room.is_idle_for(time);
            let names: Vec<String> =
                agents.iter().filter(|(_, room)| is_idle(room)).map(|(name, _)| name.clone()).collect();
            names.iter().filter_map(|name| agents.remove(name)).collect()
        };
        let mut lanes = Vec::new();
        for room in idle {
            lanes.extend(room.open.lock().await.take().map(|open| open.lane));
        }
        lanes
    }
}

/// For whom something is asked, and how.
#[derive(Clone, Copy)]
pub(crate) struct Behalf<'a> {
    /// In whose session; without one, in that in which we ask for ourselves.
    pub(crate) agent: Option<&'a str>,
    /// Headers beside our own.
    pub(crate) headers: &'a HeaderMap,
    /// For how long the answer is of use.
    pub(crate) patience: Duration,
}

#[derive(Clone)]
struct Open {
    lane: Lane,
    era: Era,
    /// What the server said of itself, as it said it.
    said: Arc<str>,
}

/// Why our own request has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum HouseError {
    #[error(transparent)]
    Send(#[from] SendError),
    #[error("it refuses: {0}")]
    Refused(String),
    #[error("its answer cannot be read")]
    Unreadable,
}

fn who_we_are() -> String {
    format!(r#"{{"name":"banksman","version":{}}}"#, quoted(env!("CARGO_PKG_VERSION")))
}

impl Upstream {
    /// Asks something on our own account.
    ///
    /// # Errors
    /// If there is no result.
    pub(crate) async fn ask(&self, method: &str, params: &str) -> Result<String, HouseError> {
        let behalf = Behalf { agent: None, headers: &HeaderMap::new(), patience: PATIENCE };
        let answer = self.ask_as(behalf, method, params).await?;
        let reply = Reply::read(&answer.message).ok_or(HouseError::Unreadable)?;
        match (reply.result, reply.rpc_error()) {
            (Some(result), None) => Ok(result.get().to_owned()),
            (_, Some(error)) => Err(HouseError::Refused(error.message)),
            (None, None) => Err(HouseError::Unreadable),
        }
    }

    /// The same, with all of the answer.
    ///
    /// # Errors
    /// If there is no answer.
    pub(crate) async fn ask_as(
        &self,
        behalf: Behalf<'_>,
        method: &str,
        params: &str,
    ) -> Result<Final, SendError> {
        let room = self.house.room(behalf.agent);
        for attempt in 0..2 {
            let open = self.house_session(&room).await?;
            let id = self.house.next_id.fetch_add(1, Ordering::Relaxed).to_string();
            let (lane, params) = framed(&open, method, params, behalf.headers);
            let text = message::request(&id, method, &params);
            let asked = lane.ask(text.into(), Route { id: id.clone(), progress: None }).await;
            let answer = match asked {
                Ok(answer) => answer.conclude_within(Some(behalf.patience), &id).await,
                Err(error) => Err(error),
            };
            room.use_now();
            match answer {
                // The server has forgotten our session. It says so instead of doing anything, so asking again is safe.
                Ok(answer)
                    if answer.status == StatusCode::NOT_FOUND && attempt == 0 && open.lane.has_session() =>
                {
                    *room.open.lock().await = None;
                }
                Err(SendError::NotSent(_)) if attempt == 0 && matches!(open.lane, Lane::Child(_)) => {
                    *room.open.lock().await = None;
                }
                answer => return answer,
            }
        }
        Err(SendError::NotSent("it forgets our session again and again".to_owned()))
    }

    /// What the server said of itself when we met.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub(crate) async fn introduction(&self) -> Result<(Era, Arc<str>), SendError> {
        let open = self.house_session(&self.house.ours).await?;
        Ok((open.era, open.said))
    }

    /// Whether the server understands requests of this era. What it turns out to speak is remembered.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub(crate) async fn speaks(&self, era: Era) -> Result<bool, SendError> {
        match era {
            Era::One => self.house.speaks_one.get_or_try_init(|| self.try_era_one()).await.copied(),
            Era::Two => self.house.speaks_two.get_or_try_init(|| self.try_era_two()).await.copied(),
        }
    }

    async fn try_era_one(&self) -> Result<bool, SendError> {
        Ok(self.house_session(&self.house.ours).await?.era == Era::One)
    }

    async fn try_era_two(&self) -> Result<bool, SendError> {
        let Reach::Http(upstream) = &self.reach else {
            return Ok(self.house_session(&self.house.ours).await?.era == Era::Two);
        };
        match discover(Lane::http(upstream, own_headers(), None)).await {
            Ok(_) => Ok(true),
            Err(SendError::NotSent(problem)) if problem == UNKNOWN_REVISION => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn house_session(&self, room: &Room) -> Result<Open, SendError> {
        let mut open = room.open.lock().await;
        let alive = |open: &&mut Open| !matches!(&open.lane, Lane::Child(child) if child.is_gone());
        if let Some(open) = open.as_mut().filter(alive) {
            return Ok(open.clone());
        }
        let params = format!(
            r#"{{"protocolVersion":{},"capabilities":{{}},"clientInfo":{}}}"#,
            quoted(ERA_ONE),
            who_we_are()
        );
        let fresh = match self.initialize(&params, Manner::Alone, None).await? {
            Greeting::Met { lane, said } => Open { lane, era: Era::One, said: said.into() },
            Greeting::Refused { lane, .. } => discover(lane).await?,
        };
        Ok(open.insert(fresh).clone())
    }

    /// Opens a session of era one; for a client's program in a slot of its agent.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub(crate) async fn initialize(
        &self,
        params: &str,
        manner: Manner,
        slot: Option<Slot>,
    ) -> Result<Greeting, SendError> {
        let lane = match &self.reach {
            Reach::Http(upstream) => Lane::http(upstream, own_headers(), None),
            Reach::Program => Lane::Child(self.start(manner, slot)?),
        };
        let text = message::request("\"banksman-initialize\"", "initialize", params);
        let route = Route { id: "\"banksman-initialize\"".to_owned(), progress: None };
        let asked = lane.ask(text.into(), route).await;
        let answer = match asked {
            Ok(answer) => answer.conclude("\"banksman-initialize\"").await,
            Err(error) => Err(error),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.note_failure();
                return Err(error);
            }
        };
        let said =
            Reply::read(&answer.message).and_then(|reply| reply.result).map(|result| result.get().to_owned());
        let Some(said) = said.filter(|_| answer.status.is_success()) else {
            return Ok(Greeting::Refused { lane, answer });
        };
        let session = answer.headers.get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let lane = match lane {
            Lane::Http { upstream, mut headers } => {
                let version = Members::read(&said).and_then(|said| said.text("protocolVersion"));
                let version = version.unwrap_or_else(|| ERA_ONE.to_owned());
                if let Ok(version) = HeaderValue::from_str(&version) {
                    headers.insert("mcp-protocol-version", version);
                }
                Lane::http(&upstream, headers, session.as_deref())
            }
            child @ Lane::Child(_) => child,
        };
        const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        lane.tell(Bytes::from_static(INITIALIZED)).await?;
        Ok(Greeting::Met { lane, said })
    }
}

/// How a server answered `initialize`.
pub(crate) enum Greeting {
    Met {
        lane: Lane,
        said: String,
    },
    /// It knows no sessions, or not like this.
    Refused {
        lane: Lane,
        answer: Final,
    },
}

/// Meets a server of era two.
async fn discover(lane: Lane) -> Result<Open, SendError> {
    let open = Open { lane, era: Era::Two, said: "{}".into() };
    let (lane, params) = framed(&open, "server/discover", "{}", &HeaderMap::new());
    let text = message::request("\"banksman-discover\"", "server/discover", &params);
    let route = Route { id: "\"banksman-discover\"".to_owned(), progress: None };
    let answer = lane.ask(text.into(), route).await?.conclude("\"banksman-discover\"").await?;
    let said =
        Reply::read(&answer.message).and_then(|reply| reply.result).map(|result| result.get().to_owned());
    match said {
        Some(said) => Ok(Open { said: said.into(), ..open }),
        None => Err(SendError::NotSent(UNKNOWN_REVISION.to_owned())),
    }
}

/// A request as its era wants it.
fn framed(open: &Open, method: &str, params: &str, more: &HeaderMap) -> (Lane, String) {
    let Lane::Http { upstream, headers } = &open.lane else {
        let params = if open.era == Era::Two { with_meta(params) } else { params.to_owned() };
        return (open.lane.clone(), params);
    };
    let mut headers = headers.clone();
    headers.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
    if open.era == Era::One {
        return (Lane::Http { upstream: Arc::clone(upstream), headers }, params.to_owned());
    }
    let named = Members::read(params).and_then(|params| {
        params.text("name").or_else(|| params.text("uri")).or_else(|| params.text("taskId"))
    });
    let mut set = |name: &'static str, value: &str| {
        headers.insert(HeaderName::from_static(name), header_text(value));
    };
    set("mcp-protocol-version", ERA_TWO);
    set("mcp-method", method);
    if let Some(named) = named {
        set("mcp-name", &named);
    }
    (Lane::Http { upstream: Arc::clone(upstream), headers }, with_meta(params))
}

pub(crate) fn with_meta(params: &str) -> String {
    let mut params = Members::read(params).unwrap_or_default();
    let mut meta = params.get("_meta").and_then(Members::read).unwrap_or_default();
    meta.set(META_VERSION, quoted(ERA_TWO));
    meta.set(META_CLIENT, who_we_are());
    meta.set(META_CAPABILITIES, "{}");
    let meta = meta.write();
    params.set("_meta", meta);
    params.write()
}

/// A text as the value of a header: what a header cannot carry is base64 in a wrapper, as the revision wants it.
pub(crate) fn header_text(text: &str) -> HeaderValue {
    use base64::Engine as _;
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain && let Ok(value) = HeaderValue::from_str(text) {
        return value;
    }
    let wrapped = format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text));
    HeaderValue::from_str(&wrapped).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_breaks_out_of_a_header() {
        assert_eq!(header_text("read_file"), "read_file");
        for name in ["a\r\nx: y", "löschen", " a", "a ", "=?base64?eA==?=", "\u{0}"] {
            let value = header_text(name);
            assert!(value.to_str().unwrap().starts_with("=?base64?"), "{name:?}");
            assert_ne!(value, name);
        }
    }

    #[test]
    fn era_two_says_who_asks_with_each_request() {
        let params = with_meta(r#"{"name":"x","_meta":{"a":1}}"#);
        let params: serde_json::Value = serde_json::from_str(&params).unwrap();
        assert_eq!(params["_meta"]["a"], 1);
        assert_eq!(params["_meta"][META_VERSION], ERA_TWO);
        assert_eq!(params["_meta"][META_CLIENT]["name"], "banksman");
        assert_eq!(params["name"], "x");
    }
}
