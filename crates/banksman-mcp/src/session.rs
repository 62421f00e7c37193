//! Sessions of era one. A session's id carries what it means, so no table of them has to be kept: only programs that
//! run for a session are, and those that nobody uses end and are started again when somebody does.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::message::{self, ClientSays};
use crate::raw::quoted;
use crate::upstream::{Child, Greeting, Lane, Manner, Reach, Route, SendError, Slots, Upstream};

/// A program that no request reached for so long is ended.
pub(crate) const IDLE: Duration = Duration::from_secs(15 * 60);

/// So many sessions that were ended are remembered, so that their ids say nothing any more.
const ENDED: usize = 10_000;

/// So many sessions have a level of logs of their own.
const LEVELS: usize = 10_000;
const LONGEST_LEVEL: usize = 32;
const LEVEL_ID: &str = "\"banksman-level\"";

/// How long a server that is met has to take in what its session has said before.
const TOLD_WITHIN: Duration = Duration::from_secs(2);

/// What a session's id means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Whose it is. Nobody else can use it.
    pub(crate) agent: String,
    /// Which endpoint it is of.
    pub(crate) endpoint: String,
    /// What makes it different from every other.
    pub(crate) key: String,
    /// The server's own id for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) upstream: Option<String>,
    pub(crate) client: ClientSays,
    /// What the client initialized with, for servers that have to be told again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) initialize: Option<String>,
}

struct Running {
    lane: Lane,
    used_at: Instant,
    /// Held by whoever listens to it.
    heard: Heard,
}

/// That somebody listens in a session: while this is there, it is in use.
pub(crate) type Heard = Arc<()>;

impl Running {
    fn is_gone(&self) -> bool {
        matches!(&self.lane, Lane::Child(child) if child.is_gone())
    }
}

/// The programs that run for sessions, and the sessions behind sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    running: Mutex<HashMap<(String, String), Running>>,
    programs: Slots,
    ended: Mutex<Ended>,
    /// The level of logs that a session asked for.
    levels: Mutex<HashMap<String, String>>,
}

/// Sessions that were ended, the oldest forgotten first.
#[derive(Default)]
struct Ended {
    keys: HashSet<String>,
    in_order: VecDeque<String>,
}

impl Sessions {
    /// The way to a server for this session, opened anew if it is gone.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(crate) async fn lane(&self, upstream: &Upstream, session: &Session) -> Result<Lane, SendError> {
        let key = (session.key.clone(), upstream.name.clone());
        if let Some(lane) = self.find(&key) {
            return Ok(lane);
        }
        let params = session.initialize.as_deref().unwrap_or("{}");
        match self.initialize(upstream, &session.agent, params).await? {
            Greeting::Met { lane, .. } => {
                if let Some(level) = self.level(&session.key) {
                    let params = format!(r#"{{"level":{}}}"#, quoted(&level));
                    let text = message::request(LEVEL_ID, "logging/setLevel", &params);
                    let route = Route { id: LEVEL_ID.to_owned(), progress: None };
                    // One that does not want to know is not worth waiting for.
                    drop(timeout(TOLD_WITHIN, lane.answer(text.into(), route)).await);
                }
                // Who was quicker has told its client's listener already.
                match self.find(&key) {
                    Some(lane) => Ok(lane),
                    None => self.keep(upstream, session, lane),
                }
            }
            Greeting::Refused { .. } => Err(SendError::NotSent("it refuses to be initialized".to_owned())),
        }
    }

    /// Opens a session behind a session of this agent. If that takes a program, the agent must have room for one.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(crate) async fn initialize(
        &self,
        upstream: &Upstream,
        agent: &str,
        params: &str,
    ) -> Result<Greeting, SendError> {
        let slot = match &upstream.reach {
            Reach::Program => Some(self.programs.take(agent)?),
            Reach::Http(_) => None,
        };
        upstream.initialize(params, Manner::ForClient, slot).await
    }

    /// The program of this session.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) async fn child(
        &self,
        upstream: &Upstream,
        session: &Session,
    ) -> Result<Arc<Child>, SendError> {
        match self.lane(upstream, session).await? {
            Lane::Child(child) => Ok(child),
            Lane::Http { .. } => Err(SendError::NotSent("it is no program".to_owned())),
        }
    }

    /// The ways that are open for a session.
    pub(crate) fn open_lanes(&self, key: &str) -> Vec<Lane> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let of_session =
            running.iter().filter(|((session, _), running)| session == key && !running.is_gone());
        of_session.map(|(_, running)| running.lane.clone()).collect()
    }

    /// Keeps a way to a server for a session.
    ///
    /// # Errors
    /// If the session was ended meanwhile.
    pub(crate) fn keep(&self, upstream: &Upstream, session: &Session, lane: Lane) -> Result<Lane, SendError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, running| !running.is_gone());
        if self.has_ended(&session.key) {
            return Err(SendError::NotSent("the session has ended".to_owned()));
        }
        let key = (session.key.clone(), upstream.name.clone());
        let kept = Running { lane: lane.clone(), used_at: Instant::now(), heard: Heard::default() };
        running.insert(key, kept);
        Ok(lane)
    }

    /// How much of their logs servers are to tell this session, also those that it meets later.
    pub(crate) fn set_level(&self, key: &str, level: &str) {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if level.len() <= LONGEST_LEVEL && (levels.len() < LEVELS || levels.contains_key(key)) {
            levels.insert(key.to_owned(), level.to_owned());
        }
    }

    fn level(&self, key: &str) -> Option<String> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Keeps a way open for as long as what it gives back is there.
    pub(crate) fn hear(&self, upstream: &Upstream, session: &Session) -> Option<Heard> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(&(session.key.clone(), upstream.name.clone())).map(|running| Arc::clone(&running.heard))
    }

    fn find(&self, key: &(String, String)) -> Option<Lane> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let found = running.get_mut(key).filter(|running| !running.is_gone())?;
        found.used_at = Instant::now();
        Some(found.lane.clone())
    }

    /// Ends a session: its programs end, and its id says nothing any more.
    pub(crate) fn end(&self, key: &str) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(session, _), _| session != key);
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.keys.insert(key.to_owned()) {
            ended.in_order.push_back(key.to_owned());
        }
        if ended.in_order.len() > ENDED
            && let Some(oldest) = ended.in_order.pop_front()
        {
            ended.keys.remove(&oldest);
        }
    }

    pub(crate) fn has_ended(&self, key: &str) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).keys.contains(key)
    }

    /// Ends programs that nobody has used or listened to for so long, but for those of sessions in which something is still to
    /// run.
    pub(crate) fn sweep(&self, idle: Duration, needed: &HashSet<String>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(session, _), running| {
            let is_heard = Arc::strong_count(&running.heard) > 1;
            if is_heard {
                running.used_at = Instant::now();
            }
            let used = is_heard || running.used_at.elapsed() < idle || needed.contains(session);
            used && !running.is_gone()
        });
        let in_use: HashSet<&String> = running.keys().map(|(session, _)| session).collect();
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever comes back to a session that was idle is told as much as at first.
        if levels.len() >= LEVELS {
            levels.retain(|session, _| in_use.contains(session));
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::config::Config;

    #[test]
    fn a_session_that_somebody_listens_in_is_not_idle() {
        let config = "version: 1\nupstreams: {notes: {url: 'http://127.0.0.1:9/mcp'}}\n";
        let config = Config::parse("mcp.yaml", config).unwrap();
        let upstream = Upstream::new("notes", &config.upstreams["notes"]);
        let Reach::Http(http) = &upstream.reach else { panic!("it is a program") };
        let session = Session {
            agent: "riley".to_owned(),
            endpoint: String::new(),
            key: "mine".to_owned(),
            upstream: None,
            client: ClientSays::default(),
            initialize: None,
        };
        let sessions = Sessions::default();
        sessions.keep(&upstream, &session, Lane::http(http, HeaderMap::new(), None)).unwrap();
        let heard = sessions.hear(&upstream, &session).unwrap();
        sessions.sweep(Duration::ZERO, &HashSet::new());
        assert_eq!(sessions.open_lanes("mine").len(), 1);
        drop(heard);
        sessions.sweep(IDLE, &HashSet::new());
        assert_eq!(sessions.open_lanes("mine").len(), 1, "it was listened to just now");
        sessions.sweep(Duration::ZERO, &HashSet::new());
        assert_eq!(sessions.open_lanes("mine").len(), 0);
    }
}
