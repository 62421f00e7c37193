//! How a held call looks to its client: as what it can wait for, in the order of what serves it best.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::{Case, Digest, Principal};
use bytes::Bytes;
use http::{Response, StatusCode};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::body::{self, Body};
use crate::errand::QUEUE;
use crate::gateway::Gateway;
use crate::hold::{Ending, Hold, ending_of};
use crate::message::{self, Era};
use crate::open_stream::OpenStream;
use crate::raw::quoted;
use crate::rounds::{Round, Why};
use crate::seal::Purpose;
use crate::sse;
use crate::visit::Visit;
use crate::{tasks, words};

/// A client hears something at least so often.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Clients of era two send a call again by themselves, ten times at the most.
const ROUNDS: u32 = 8;

/// A call that is held.
pub(crate) struct Held {
    pub(crate) case: Arc<Case>,
    /// What the client asked for; people may have changed what would run.
    pub(crate) asked: Digest,
    /// In which round it is.
    pub(crate) round: u32,
}

/// Answers a held call.
pub(crate) async fn answer(visit: Box<Visit>, held: Held) -> Response<Body> {
    let Held { case, asked, round } = held;
    let hold = visit.gateway.keep(&case, asked, Principal::clone(&visit.caller));
    if visit.era == Era::Two && visit.client.tasks {
        return tasks::created(&visit, &case);
    }
    let (events, receiver) = mpsc::channel::<Bytes>(QUEUE);
    let stream = Arc::new(OpenStream::new(events));
    let ended = hold.ended();
    hold.join(&visit, visit.takes_events().then_some(&stream));
    let progress = visit.message.progress_token();
    // Progress keeps a client waiting, but only a stream can carry it.
    let hears_progress = progress.is_some() && visit.takes_events();
    let window = visit.gateway.config.clients.window(visit.client.name.as_deref(), hears_progress);
    let presenter = Presenter {
        gateway: Arc::clone(&visit.gateway),
        agent: Arc::clone(&visit.caller),
        hold,
        case,
        asked,
        round,
        id: visit.message.id(),
        progress,
        era: visit.era,
        asks_by_url: visit.client.url_elicitation && visit.era == Era::One,
        stream,
        ended,
    };
    if visit.takes_events() {
        tokio::spawn(presenter.stream(window));
        body::events(receiver)
    } else {
        // Without a stream nothing can be said before the answer.
        drop(receiver);
        let text = presenter.wait_silently(window).await;
        body::json(StatusCode::OK, text)
    }
}

struct Presenter {
    gateway: Arc<Gateway>,
    agent: Arc<Principal>,
    hold: Arc<Hold>,
    case: Arc<Case>,
    asked: Digest,
    round: u32,
    id: String,
    progress: Option<String>,
    era: Era,
    asks_by_url: bool,
    stream: Arc<OpenStream>,
    ended: watch::Receiver<Option<Ending>>,
}

/// What a client is answered.
enum Answer {
    Ending(Ending),
    /// This message.
    NotYet(String),
}

/// How the ids of requests begin that show where to decide.
pub(crate) const POINTER: &str = "\"banksman-review-";

/// What became of waiting.
enum Waited {
    Ended(Ending),
    TimeIsUp,
    ClientIsGone,
}

impl Presenter {
    /// Keeps a stream open and says something from time to time, until there is an answer or the client would give up.
    async fn stream(self, window: Duration) {
        // Something at once, so that the client sees that it was heard.
        let _ = self.stream.say(Bytes::from_static(sse::COMMENT)).await;
        let mut beats = 0;
        let mut waited = self.wait(Instant::now() + window, &mut beats).await;
        if self.asks_by_url && !self.hold.runs() && matches!(waited, Waited::TimeIsUp) {
            let _ = self.stream.say(sse::event(&self.pointer())).await;
            waited = self.wait(Instant::now() + Duration::from_secs(366 * 86_400), &mut beats).await;
        }
        let answer = match waited {
            Waited::Ended(ending) if !ending.is_for(Some(&self.stream)) => self.not_yet().await,
            Waited::Ended(ending) => Answer::Ending(ending),
            Waited::ClientIsGone => return,
            Waited::TimeIsUp => self.not_yet().await,
        };
        let heard = self.stream.answer(sse::event(&self.text_of(&answer))).await.is_ok();
        if let Answer::Ending(ending) = answer
            && heard
            && ending.is_one()
        {
            self.gateway.holds.fetched(self.case.id);
        }
    }

    fn text_of(&self, answer: &Answer) -> String {
        match answer {
            Answer::Ending(ending) => ending.to_message(&self.id, self.era),
            Answer::NotYet(text) => text.clone(),
        }
    }

    async fn wait_silently(mut self, window: Duration) -> String {
        let ended = async {
            match self.ended.wait_for(Option::is_some).await {
                Ok(ending) => ending.clone(),
                Err(_) => None,
            }
        };
        let answer = match tokio::time::timeout(window, ended).await {
            Ok(Some(ending)) if ending.is_for(None) => Answer::Ending(ending),
            Ok(Some(_) | None) | Err(_) => self.not_yet().await,
        };
        if let Answer::Ending(_) = answer {
            self.gateway.holds.fetched(self.case.id);
        }
        self.text_of(&answer)
    }

    async fn wait(&self, until: Instant, beats: &mut u64) -> Waited {
        let mut beat = tokio::time::interval(HEARTBEAT);
        // The first comes at once.
        beat.tick().await;
        let mut ended = self.ended.clone();
        loop {
            tokio::select! {
                ended = ended.wait_for(Option::is_some) => {
                    let ending = ended.ok().and_then(|ending| ending.clone());
                    return ending.map_or(Waited::TimeIsUp, Waited::Ended);
                }
                () = self.stream.client_is_gone() => return Waited::ClientIsGone,
                () = tokio::time::sleep_until(until) => return Waited::TimeIsUp,
                _ = beat.tick() => {
                    *beats += 1;
                    // A client that does not read has its queue full of beats already.
                    self.stream.try_say(self.beat(*beats));
                }
            }
        }
    }

    /// Progress, if the client wants to hear of it; or a comment, which keeps connections alive.
    fn beat(&self, count: u64) -> Bytes {
        match &self.progress {
            Some(token) => {
                let id = self.case.id;
                let text = if self.hold.runs() {
                    words::running(id)
                } else {
                    words::waiting(id, &self.gateway.review_url(id))
                };
                sse::event(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{count},"message":{}}}}}"#,
                    quoted(&text)
                ))
            }
            None => Bytes::from_static(sse::COMMENT),
        }
    }

    /// A request that shows the client's user where to decide. Whatever the client answers decides nothing.
    fn pointer(&self) -> String {
        let id = self.case.id;
        let params = format!(
            r#"{{"mode":"url","elicitationId":"{id}","url":{},"message":{}}}"#,
            quoted(&self.gateway.review_url(id)),
            quoted(&format!("This call waits for a person's approval ({id}). Open the page to review it."))
        );
        message::request(&format!("{POINTER}{id}\""), "elicitation/create", &params)
    }

    /// The answer when the client would not wait any longer. It may have been approved since the waiting began: an agent
    /// that is told of a running call that it was not executed does the same in another way.
    async fn not_yet(&self) -> Answer {
        // Not from memory: another node may run it.
        let case = match self.gateway.engine.action_as_stored(&self.agent, self.case.id).await {
            Ok(case) => case,
            Err(error) => {
                tracing::warn!(action = %self.case.id, %error, "a held call cannot be looked at");
                let text = words::out_of_sight(self.case.id);
                let result = words::tool_error(&text, None, self.era);
                return Answer::NotYet(message::result(&self.id, &result));
            }
        };
        if let Some(ending) = ending_of(&case) {
            return Answer::Ending(ending);
        }
        if self.era == Era::Two
            && self.round < ROUNDS
            && let Some(state) = self.next_round(&case)
        {
            let result = format!(r#"{{"resultType":"input_required","requestState":{}}}"#, quoted(&state));
            return Answer::NotYet(message::result(&self.id, &result));
        }
        let text = words::not_yet(&(&*case).into(), &self.gateway.review_url(case.id));
        let result = words::tool_error(&text, Some((case.id, case.status())), self.era);
        Answer::NotYet(message::result(&self.id, &result))
    }

    fn next_round(&self, case: &Case) -> Option<String> {
        let ends = case.state.ends_at()?;
        let claim = Duration::from_secs(case.submission.verdict.claim_within_seconds);
        let lease = Duration::from_secs(case.submission.verdict.lease_seconds);
        let round = Round {
            agent: case.agent.clone(),
            action: case.id,
            digest: self.asked,
            expires: ends.after(claim + lease).as_micros(),
            number: self.round + 1,
            why: Why::Held,
        };
        self.gateway.seal.close(Purpose::Round, &round).ok()
    }
}
