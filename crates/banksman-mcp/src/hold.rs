//! Calls that people decide about. Each is one durable action; here is who sees to it that it runs once it may.
//!
//! A keeper waits for the decision, claims and passes on, whether its client is still there or not. After a restart the
//! store knows which actions need one. That two keepers run the same thing cannot be: the claim is taken once.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use banksman_core::{ActionId, Case, ClaimRequest, Digest, Principal, Refusal, State, Status};
use banksman_engine::EngineError;
use bytes::Bytes;
use tokio::sync::watch;

use crate::callers::{Callers, Listener};
use crate::errand::{Ended, Errand, Member, Out};
use crate::gateway::Gateway;
use crate::message::{self, Era};
use crate::open_stream::OpenStream;
use crate::outcome::kept_error;
use crate::upstream::{Lane, SendError, Upstream};
use crate::visit::Visit;
use crate::ways::Way;
use crate::words;

/// How long a keeper waits before it looks again, if nothing wakes it.
const LOOK: Duration = Duration::from_secs(600);

/// How long to wait when the store cannot be used, or a freeze is in force.
const PAUSE: Duration = Duration::from_secs(1);

/// Results that nobody has fetched are offered to whoever sends the same call again, for so long.
pub(crate) const OFFERED_FOR: Duration = Duration::from_secs(3600);

/// So many of them are remembered.
const OFFERED: usize = 100_000;

/// How a held call ended, for everyone who waits for it.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    member: Member,
    text: Arc<str>,
    /// The client whose call it was, if this is no end: what the server asks only that one can answer.
    asks: Option<Weak<OpenStream>>,
}

impl Ending {
    fn of(member: Member, text: impl Into<Arc<str>>) -> Self {
        Self { member, text: text.into(), asks: None }
    }

    /// Whether the call has ended.
    pub(crate) fn is_one(&self) -> bool {
        self.asks.is_none()
    }

    /// Whether the client that waits on this stream is to have it.
    pub(crate) fn is_for(&self, stream: Option<&Arc<OpenStream>>) -> bool {
        let asks =
            |asked: &Weak<OpenStream>| stream.is_some_and(|stream| asked.as_ptr() == Arc::as_ptr(stream));
        self.asks.as_ref().is_none_or(asks)
    }

    fn words(case: &Case) -> Self {
        // With which era it is told, only who tells it knows; results of both eras may carry the type.
        let text = words::standing_error(&case.into(), Era::One);
        Self::of(Member::Result, text)
    }

    /// The same, for whoever asks anew for what ran before: with the time when it did.
    pub(crate) fn replayed(self, case: &Case) -> Self {
        let Some(claim) = case.state.claim() else { return self };
        let text = match self.member {
            Member::Result => words::with_notice_of_replay(&self.text, case.id, claim.at),
            Member::Error => words::error_with_notice_of_replay(&self.text, case.id, claim.at),
        };
        Self { text: text.into(), ..self }
    }

    /// As the answer to a request.
    pub(crate) fn to_message(&self, id: &str, era: Era) -> String {
        match self.member {
            Member::Result => message::result(id, &words::for_era(self.text.to_string(), era)),
            Member::Error => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, self.text),
        }
    }

    /// As the result of a tool, or the error.
    pub(crate) fn parts(&self) -> (Member, &str) {
        (self.member, &self.text)
    }
}

/// How an action ended, from what is stored of it; `None` while it has not.
pub(crate) fn ending_of(case: &Case) -> Option<Ending> {
    match &case.state {
        State::Pending { .. } | State::Authorised { .. } | State::Executing { .. } => None,
        // That people changed the arguments was said in it before it was written down.
        State::Succeeded { result: Some(result), .. } => Some(Ending::of(Member::Result, result.as_str())),
        State::Failed { result: Some(result), .. } => Some(match kept_error(result) {
            Some(error) => Ending::of(Member::Error, error),
            None => Ending::of(Member::Result, result.as_str()),
        }),
        State::Blocked { .. }
        | State::Denied { .. }
        | State::Expired { .. }
        | State::Cancelled { .. }
        | State::Succeeded { result: None, .. }
        | State::Failed { result: None, .. }
        | State::Unknown { .. }
        | State::Lapsed { .. }
        | State::Revoked { .. } => Some(Ending::words(case)),
    }
}

/// One held call.
pub(crate) struct Hold {
    ended: watch::Sender<Option<Ending>>,
    /// Whether somebody has the result, perhaps before its keeper had it.
    fetched: AtomicBool,
    /// Whether it was approved and runs.
    runs: AtomicBool,
    callers: Mutex<Callers>,
}

impl Hold {
    fn callers(&self) -> MutexGuard<'_, Callers> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody asks for it, and perhaps waits on a stream.
    pub(crate) fn join(&self, visit: &Visit, stream: Option<&Arc<OpenStream>>) {
        self.callers().join(visit, stream);
    }

    pub(crate) fn runs(&self) -> bool {
        self.runs.load(Ordering::SeqCst)
    }

    pub(crate) fn ended(&self) -> watch::Receiver<Option<Ending>> {
        self.ended.subscribe()
    }
}

/// What can be joined: the same call of the same agent.
type Same = (String, Digest);

/// All held calls of this node.
#[derive(Default)]
pub(crate) struct Holds {
    kept: Mutex<HashMap<ActionId, Arc<Hold>>>,
    /// Which action the same call would be.
    under_way: Mutex<HashMap<Same, ActionId>>,
    /// What ran, or was answered, while nobody listened.
    offered: Mutex<HashMap<Same, (ActionId, tokio::time::Instant)>>,
}

impl Holds {
    fn kept(&self) -> MutexGuard<'_, HashMap<ActionId, Arc<Hold>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Same, ActionId>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The action that the same call is already, if people decide about it or it runs because they did.
    pub(crate) fn same_call(&self, agent: &str, asked: Digest) -> Option<ActionId> {
        self.under_way().get(&(agent.to_owned(), asked)).copied()
    }

    fn offered(&self) -> MutexGuard<'_, HashMap<Same, (ActionId, tokio::time::Instant)>> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn offer(&self, case: &Case) {
        let mut offered = self.offered();
        if offered.len() >= OFFERED {
            offered.retain(|_, (_, at)| at.elapsed() < OFFERED_FOR);
        }
        if offered.len() < OFFERED {
            let same = (case.agent.clone(), case.submission.digest);
            offered.insert(same, (case.id, tokio::time::Instant::now()));
        }
    }

    /// The action whose result nobody has fetched yet, if the same call is sent again.
    pub(crate) fn unfetched(&self, agent: &str, digest: Digest) -> Option<ActionId> {
        let offered = self.offered();
        let (id, at) = offered.get(&(agent.to_owned(), digest))?;
        (at.elapsed() < OFFERED_FOR).then_some(*id)
    }

    /// Somebody has the result now: the same call, sent again, is another call.
    pub(crate) fn fetched(&self, id: ActionId) {
        // First: a keeper who has offered it looks here afterwards.
        if let Some(hold) = self.kept().get(&id) {
            hold.fetched.store(true, Ordering::SeqCst);
        }
        self.offered().retain(|_, (offered, _)| *offered != id);
    }

    /// The sessions in which held calls are to run.
    pub(crate) fn sessions(&self) -> HashSet<String> {
        let holds: Vec<Arc<Hold>> = self.kept().values().cloned().collect();
        let mut keys = HashSet::new();
        for hold in holds {
            hold.callers().add_sessions(&mut keys);
        }
        keys
    }
}

impl Gateway {
    /// The agent has the result of a held call by another way than MCP's: the same call, sent again, is another call.
    pub fn was_fetched(&self, action: ActionId) {
        self.holds.fetched(action);
    }

    /// The hold of an action, with a keeper that sees it through.
    pub(crate) fn keep(self: &Arc<Self>, case: &Case, asked: Digest, agent: Principal) -> Arc<Hold> {
        let mut kept = self.holds.kept();
        if let Some(hold) = kept.get(&case.id) {
            return Arc::clone(hold);
        }
        let same = (case.agent.clone(), asked);
        let hold = Arc::new(Hold {
            ended: watch::Sender::new(None),
            fetched: AtomicBool::new(false),
            runs: AtomicBool::new(false),
            callers: Mutex::default(),
        });
        kept.insert(case.id, Arc::clone(&hold));
        drop(kept);
        self.holds.under_way().insert(same.clone(), case.id);
        let (gateway, keeping, id) = (Arc::clone(self), Arc::clone(&hold), case.id);
        tokio::spawn(async move {
            let ending = gateway.see_through(&keeping, agent, id, asked).await;
            gateway.holds.kept().remove(&id);
            gateway.holds.under_way().retain(|known, other| *known != same || *other != id);
            if let Some(ending) = ending {
                keeping.ended.send_replace(Some(ending));
            }
        });
        hold
    }

    /// The same, for an action that has not ended.
    pub(crate) fn keep_if_open(self: &Arc<Self>, case: &Case, agent: &Principal) -> Option<Arc<Hold>> {
        ending_of(case).is_none().then(|| self.keep(case, case.submission.digest, agent.clone()))
    }

    /// Waits for the decision and runs what was approved. `None` if this node cannot find out how it ended.
    async fn see_through(
        self: &Arc<Self>,
        hold: &Hold,
        mut agent: Principal,
        id: ActionId,
        asked: Digest,
    ) -> Option<Ending> {
        loop {
            let case = match self.engine.wait(&agent, id, LOOK).await {
                Ok(case) => case,
                Err(EngineError::NotFound) => return None,
                Err(EngineError::Unauthenticated) => {
                    agent = self.successor(agent).await;
                    continue;
                }
                Err(error) => {
                    tracing::warn!(action = %id, %error, "a held call cannot be looked at; trying again");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            match case.status() {
                Status::Pending => continue,
                Status::Authorised => {}
                // Another node runs it.
                Status::Executing => {
                    let there = |case: &Case| case.status() != Status::Executing;
                    if self.engine.wait_until(&agent, id, LOOK, there).await.is_err() {
                        tokio::time::sleep(PAUSE).await;
                    }
                    continue;
                }
                Status::Blocked
                | Status::Denied
                | Status::Expired
                | Status::Cancelled
                | Status::Succeeded
                | Status::Failed
                | Status::Unknown
                | Status::Lapsed
                | Status::Revoked => {
                    self.offer(hold, &case, asked);
                    return ending_of(&case);
                }
            }
            let request = ClaimRequest { digest: case.submission.digest, preconditions: None };
            match self.engine.claim(&agent, id, request).await {
                Ok(claimed) => {
                    let ending = self.run_held(hold, claimed.case, asked).await;
                    return Some(ending);
                }
                Err(EngineError::Refused { refusal: Refusal::Frozen { .. }, .. } | EngineError::Store(_)) => {
                    tokio::time::sleep(PAUSE).await;
                }
                // It has moved; look again.
                Err(EngineError::Refused { .. }) => {}
                Err(EngineError::Unauthenticated) => agent = self.successor(agent).await,
                Err(error) => {
                    tracing::error!(action = %id, %error, "an approved call cannot be claimed; trying again");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// The agent by another credential, if its own is gone. If it has none any more, nothing runs in its name: what was
    /// approved lapses.
    async fn successor(&self, agent: Principal) -> Principal {
        match self.engine.agent_named(&agent.name).await {
            Ok(other) if other.token != agent.token => other,
            Ok(_) | Err(_) => {
                tokio::time::sleep(PAUSE).await;
                agent
            }
        }
    }

    /// The same call, sent again, gets this result. An edited action is found by what was asked for, not by what ran.
    fn offer(&self, hold: &Hold, case: &Case, asked: Digest) {
        let mut offered = case.clone();
        if offered.submission.digest != asked {
            let mut submission = (*offered.submission).clone();
            submission.digest = asked;
            offered.submission = Arc::new(submission);
        }
        self.holds.offer(&offered);
        if hold.fetched.load(Ordering::SeqCst) {
            self.holds.fetched(case.id);
        }
    }

    /// Runs what was approved and claimed, in the place of whoever waits for it.
    async fn run_held(self: &Arc<Self>, hold: &Hold, case: Arc<Case>, asked: Digest) -> Ending {
        let Some(upstream) = self.upstream_of(&case) else {
            let error = Some("not executed: its server is no longer configured".to_owned());
            self.record(&case, banksman_core::Outcome::Failed { error, result: None }).await;
            self.offer(hold, &case, asked);
            return Ending::words(&case);
        };
        hold.runs.store(true, Ordering::SeqCst);
        let (errand, out) = self.errand_of(hold, upstream, &case, asked).await;
        let errand_id = errand.id.clone();
        let to = match &out {
            Out::Open(stream) => Some(Weak::clone(stream)),
            Out::Fresh(_) | Out::Nobody => None,
        };
        let ended = errand.run(Arc::clone(self), out).await;
        let asks = to.filter(|_| matches!(ended, Ended::Asks(_)));
        self.offer(hold, &case, asked);
        match ended.shared(&errand_id) {
            Some((member, text)) => Ending { asks, ..Ending::of(member, text) },
            None => {
                let stored = self.engine.agent_named(&case.agent).await;
                let stored = match stored {
                    Ok(agent) => self.engine.action(&agent, case.id).await.ok(),
                    Err(_) => None,
                };
                let now = stored.as_deref().unwrap_or(&case);
                match ending_of(now) {
                    Some(ending) => ending,
                    None => {
                        let text = format!(
                            "UNKNOWN ({}): the call was passed on, and no answer came back. It may have run. Find out before you try again.",
                            case.id
                        );
                        let text = words::tool_error(&text, Some((now.id, now.status())), Era::One);
                        Ending::of(Member::Result, text)
                    }
                }
            }
        }
    }

    /// How an approved call goes out: as the call of a client that still listens; else in the session in which it was asked
    /// for, as long as that lives; else in our own session for its agent. If a session's way cannot be had, it does not run:
    /// anywhere else it might do something else than people have looked at.
    async fn errand_of(
        &self,
        hold: &Hold,
        upstream: Arc<Upstream>,
        case: &Arc<Case>,
        asked: Digest,
    ) -> (Errand, Out) {
        let way_of = |lane: Result<Option<Lane>, SendError>, there: fn(Lane) -> Way| match lane {
            Ok(Some(lane)) => there(lane),
            Ok(None) => Way::Ours,
            Err(error) => Way::None(error.to_string()),
        };
        let listener = hold.callers().take_listener();
        if let Some(listener) = listener {
            let way = way_of(listener.way().lane(self, &upstream).await, Way::Clients);
            let Listener { message, id, progress, era, shared, askable, stream, .. } = listener;
            let message = without_our_state(message);
            let of_nobody = Errand::of(upstream, case, asked, way);
            let errand = Errand { message, id, progress, era, shared, askable, ..of_nobody };
            return (errand, Out::Open(stream));
        }
        let origin = hold.callers().origin(&self.sessions);
        let way = match origin {
            Some(origin) => way_of(origin.way().lane(self, &upstream).await, Way::ItsSession),
            None => Way::Ours,
        };
        (Errand::of(upstream, case, asked, way), Out::Nobody)
    }

    pub(crate) fn upstream_of(&self, case: &Case) -> Option<Arc<Upstream>> {
        self.upstreams.get(case.submission.action.server.as_deref()?).cloned()
    }
}

/// The state that we gave a client is not for its server.
pub(crate) fn without_our_state(message: Bytes) -> Bytes {
    let stripped = message::with_params(&message, |params| {
        params.get("requestState")?;
        params.remove("requestState");
        params.remove("inputResponses");
        Some(())
    });
    stripped.unwrap_or(message)
}
