//! Room in the house: a proposal that would be held and meets a full house waits in line until there is room.
//!
//! Whether there is room, only the store knows: it counts, and refuses what is too much. The line decides who asks it
//! next: the first, among those for whom there may be room. Each slot that comes free lets one ask, and so does each
//! who leaves the line. Who is refused says what is full, and then nobody asks in vain until something changes. So as
//! many are woken as slots came free, in the order in which they came, and newcomers cannot overtake.
//!
//! Nothing that stands in line was promised anything, so nothing of it is stored.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use banksman_store::{Conflict, PendingLimits};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::EngineError;

/// How many proposals may stand in line, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    /// Of one agent.
    pub per_agent: usize,
    /// Altogether. Each may hold a body of up to 1 MiB in memory.
    pub total: usize,
    /// How long, if the request does not say.
    pub patience: Duration,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { per_agent: 32, total: 256, patience: Duration::from_secs(5) }
    }
}

/// What is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Too many actions of this agent are pending.
    Agent,
    /// Too many actions are pending altogether.
    House,
}

impl Scope {
    /// What is full, if that is what a commit met.
    pub(crate) fn of(conflict: &Conflict) -> Option<Self> {
        match conflict {
            Conflict::TooManyPendingForAgent => Some(Self::Agent),
            Conflict::TooManyPending => Some(Self::House),
            Conflict::ControlMoved
            | Conflict::PeopleMoved
            | Conflict::CaseMoved(_)
            | Conflict::TooLate(_)
            | Conflict::Joinable(_)
            | Conflict::MetersMoved
            | Conflict::ReadOn
            | Conflict::EventSeen
            | Conflict::IdempotencyKeyUsed { .. } => None,
        }
    }
}

impl Scope {
    /// What the agent is told, and with it the operator who hears of it: how many, and what sets that.
    fn refusal(self, limits: PendingLimits) -> EngineError {
        let (scope, limit, option) = match self {
            Self::Agent => ("for this agent", limits.per_agent, "--max-pending-per-agent"),
            Self::House => ("altogether", limits.total, "--max-pending"),
        };
        EngineError::TooManyPending { scope, limit, option }
    }
}

/// Why someone in line is sent away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoRoom {
    /// There is no room, and patience or the line has ended.
    Full(Scope),
    /// The place itself is gone: a bug.
    Lost,
}

struct Waiting {
    agent: String,
    /// What was full when it last asked.
    full: Scope,
    /// If it may ask now: the count of slots that had come free when it began to.
    asks: Option<u64>,
    called: Arc<Notify>,
}

#[derive(Default)]
struct Line {
    /// By number, and so in order of arrival.
    waiting: BTreeMap<u64, Waiting>,
    next_number: u64,
    /// How many slots have come free, ever.
    freed: u64,
    /// Whether the store said that the house is full, and nothing has come free since.
    house_is_full: bool,
    /// The agents of whom it said so.
    full_agents: HashSet<String>,
    closed: bool,
}

impl Line {
    /// Whether someone in line waits for the very room that an action of this agent would take.
    fn first_competitor_of(&self, agent: &str) -> Option<&Waiting> {
        let competes = |waiting: &&Waiting| waiting.agent == agent || waiting.full == Scope::House;
        self.waiting.values().find(competes)
    }

    /// There may be room in the house, and for this agent: lets one more ask.
    fn offer(&mut self, agent: &str) {
        self.house_is_full = false;
        self.full_agents.remove(agent);
        self.call_next();
    }

    /// Calls the first who does not ask already, passing over those for whom there is no room.
    fn call_next(&mut self) {
        if self.house_is_full {
            return;
        }
        let may_ask =
            |waiting: &&mut Waiting| waiting.asks.is_none() && !self.full_agents.contains(&waiting.agent);
        if let Some(next) = self.waiting.values_mut().find(may_ask) {
            next.asks = Some(self.freed);
            next.called.notify_one();
        }
    }
}

/// The line of those who wait for room.
pub(crate) struct Admission {
    limits: QueueLimits,
    line: Mutex<Line>,
}

impl Admission {
    pub(crate) fn new(limits: QueueLimits) -> Arc<Self> {
        Arc::new(Self { limits, line: Mutex::default() })
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A proposal of this agent comes in.
    pub(crate) fn visit<'a>(
        self: &'a Arc<Self>,
        agent: &'a str,
        limits: PendingLimits,
        patience: Option<Duration>,
    ) -> Visit<'a> {
        Visit { admission: self, agent, limits, patience, behind: None, place: None }
    }

    /// What a newcomer of this agent has to wait for behind others, if there are such.
    fn ahead_of(&self, agent: &str) -> Option<Scope> {
        self.line().first_competitor_of(agent).map(|waiting| waiting.full)
    }

    /// An action of this agent is no longer pending.
    pub(crate) fn freed(&self, agent: &str) {
        let mut line = self.line();
        line.freed += 1;
        line.offer(agent);
    }

    /// Takes a place at the end of the line.
    ///
    /// # Errors
    /// If the line itself is full.
    fn enter(
        self: &Arc<Self>,
        agent: &str,
        full: Scope,
        patience: Option<Duration>,
    ) -> Result<Place, NoRoom> {
        let mut line = self.line();
        let of_agent = line.waiting.values().filter(|waiting| waiting.agent == agent).count();
        let is_full = of_agent >= self.limits.per_agent || line.waiting.len() >= self.limits.total;
        if is_full || line.closed {
            return Err(NoRoom::Full(full));
        }
        let is_first = line.first_competitor_of(agent).is_none();
        let number = line.next_number;
        line.next_number += 1;
        let called = Arc::new(Notify::new());
        let waiting = Waiting { agent: agent.to_owned(), full, asks: None, called: Arc::clone(&called) };
        line.waiting.insert(number, waiting);
        if is_first {
            // Something may have come free between the refusal and now, when nobody stood here to be told. Behind
            // others there is no need to look again: they do, and call the next when they leave.
            line.offer(agent);
        }
        tracing::debug!(in_line = line.waiting.len(), "a proposal waits for room");
        let until = Instant::now() + patience.unwrap_or(self.limits.patience);
        Ok(Place { admission: Arc::clone(self), number, called, until })
    }

    /// Sends everyone away, and whoever comes from now on.
    pub(crate) fn close(&self) {
        let mut line = self.line();
        line.closed = true;
        line.waiting.values().for_each(|waiting| waiting.called.notify_one());
    }
}

/// A proposal on its way in.
pub(crate) struct Visit<'a> {
    admission: &'a Arc<Admission>,
    agent: &'a str,
    limits: PendingLimits,
    patience: Option<Duration>,
    /// What those wait for who stand in line before it, while it has no place itself.
    behind: Option<Scope>,
    place: Option<Place>,
}

impl Visit<'_> {
    /// What the store is to allow. While others are before it in line, nothing that is held: but it may still join what
    /// waits already, or turn out to need nobody.
    pub(crate) fn limits(&mut self) -> PendingLimits {
        self.behind = if self.place.is_none() { self.admission.ahead_of(self.agent) } else { None };
        if self.behind.is_some() { PendingLimits { per_agent: 0, total: 0 } } else { self.limits }
    }

    /// There was no room for so many: waits in line until it is worth asking again.
    ///
    /// # Errors
    /// If the line is full too, or patience ends, or so many could never be held.
    pub(crate) async fn wait(&mut self, full: Scope, held: u64) -> Result<(), EngineError> {
        if held > self.limits.per_agent {
            return Err(Scope::Agent.refusal(self.limits));
        }
        if held > self.limits.total {
            return Err(Scope::House.refusal(self.limits));
        }
        let turn = match self.place.take() {
            Some(place) => {
                place.refused(full);
                Ok(place)
            }
            None => self.admission.enter(self.agent, self.behind.unwrap_or(full), self.patience),
        };
        let turn = match turn {
            Ok(place) => self.place.insert(place).turn().await,
            Err(refused) => Err(refused),
        };
        turn.map_err(|refused| match refused {
            NoRoom::Full(scope) => scope.refusal(self.limits),
            NoRoom::Lost => EngineError::Internal("a place in line was lost".into()),
        })
    }
}

/// A place in line. Dropping it, for whatever reason, leaves the line and lets the next one ask.
struct Place {
    admission: Arc<Admission>,
    number: u64,
    called: Arc<Notify>,
    until: Instant,
}

impl Place {
    /// Waits until it is this one's turn to ask the store.
    ///
    /// # Errors
    /// When patience ends, or the line is closed.
    async fn turn(&self) -> Result<(), NoRoom> {
        loop {
            let full = {
                let mut line = self.admission.line();
                let (freed, closed) = (line.freed, line.closed);
                match line.waiting.get_mut(&self.number) {
                    Some(waiting) if closed => return Err(NoRoom::Full(waiting.full)),
                    Some(Waiting { asks: Some(since), .. }) => {
                        *since = freed;
                        return Ok(());
                    }
                    Some(waiting) => waiting.full,
                    None => return Err(NoRoom::Lost),
                }
            };
            if tokio::time::timeout_at(self.until, self.called.notified()).await.is_err() {
                return Err(NoRoom::Full(full));
            }
        }
    }

    /// Notes that there was no room, and where.
    fn refused(&self, full: Scope) {
        let mut line = self.admission.line();
        let freed = line.freed;
        let Some(waiting) = line.waiting.get_mut(&self.number) else { return };
        waiting.full = full;
        let is_news = waiting.asks.take() == Some(freed);
        let agent = waiting.agent.clone();
        // If something came free while it asked, the refusal may be older than that, and says nothing.
        if is_news {
            match full {
                Scope::Agent => drop(line.full_agents.insert(agent)),
                Scope::House => line.house_is_full = true,
            }
        }
        line.call_next();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut line = self.admission.line();
        if let Some(left) = line.waiting.remove(&self.number) {
            line.offer(&left.agent);
        }
    }
}

#[cfg(test)]
mod tests;
