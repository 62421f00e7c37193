//! Running what may run: passed on, and how it ended written down. An errand goes on when its client goes away.

use std::sync::{Arc, Weak};
use std::time::Duration;

use banksman_core::{Case, Digest, Outcome, Status};
use banksman_engine::EngineError;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::gateway::Gateway;
use crate::message::{self, Era};
use crate::open_stream::{self, Closed, OpenStream};
use crate::outcome::{Facts, Keep, outcome};
use crate::questions::Askable;
use crate::raw::Members;
use crate::relay::{may_pass, refuses_us};
use crate::rounds::{Round, Why};
use crate::seal::Purpose;
use crate::sse;
use crate::sse::Event;
use crate::upstream::reply::{Final, Reply};
use crate::upstream::{Answer, Hush, REFUSED_WITHIN, SendError, Stream, Upstream};
use crate::ways::Way;
use crate::{headers, words};

/// Messages on their way to one client.
pub(crate) const QUEUE: usize = 64;

/// A report that comes after the lease is still the truth; but nobody waits for one longer than this.
pub(crate) const AFTER_LEASE: Duration = Duration::from_secs(60 * 60);

/// How often to look whether a client is still there while its server says nothing.
const LOOK: Duration = Duration::from_secs(1);

/// How often writing an outcome down is tried.
const RECORD_TRIES: u32 = 8;

/// Something that was claimed, on its way to its server.
pub(crate) struct Errand {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) case: Arc<Case>,
    pub(crate) way: Way,
    /// What the client sent.
    pub(crate) message: Bytes,
    /// The id of its request, as JSON; one of ours, if it goes out without it.
    pub(crate) id: String,
    pub(crate) progress: Option<String>,
    pub(crate) era: Era,
    /// What the client asked for; people may have changed what runs.
    pub(crate) asked: Digest,
    /// Which round this is, if the server asked something before.
    pub(crate) round: u32,
    /// Whether the result is kept for whoever asks later.
    pub(crate) keep: Keep,
    /// Whether the client speaks to several servers at once.
    pub(crate) shared: bool,
    /// The client that listens, if it can be asked something.
    pub(crate) askable: Option<Askable>,
    /// Whether it was on its way before, so that it may have run though this time it does not get there.
    pub(crate) again: bool,
}

/// What a client gets, as soon as it is known of what kind it is.
pub(crate) enum Opened {
    Whole(Final),
    Stream(mpsc::Receiver<Bytes>),
}

/// Where what a server says goes while it works.
pub(crate) enum Out {
    /// Nothing was answered yet.
    Fresh(oneshot::Sender<Opened>),
    /// A stream is open; the answer itself is not sent there. The errand holds it weakly: it may be answered, and end,
    /// before this does.
    Open(Weak<OpenStream>),
    /// Nobody listens.
    Nobody,
}

/// How an errand ended.
pub(crate) enum Ended {
    /// With this answer of the server, as a message to the client.
    Answered(Final),
    /// The server asks something first.
    Asks(Final),
    /// It surely did not arrive.
    NotSent(String),
    /// Nobody knows.
    Lost(String),
}

impl Errand {
    /// What was approved, for nobody in particular, under an id of ours.
    pub(crate) fn of(upstream: Arc<Upstream>, case: &Arc<Case>, asked: Digest, way: Way) -> Self {
        Self {
            upstream,
            case: Arc::clone(case),
            way,
            message: Bytes::new(),
            id: format!("\"banksman-{}\"", case.id),
            progress: None,
            era: Era::One,
            asked,
            round: 0,
            keep: Keep::HERE,
            shared: false,
            askable: None,
            again: false,
        }
    }

    /// Passes it on, tells `out` what comes, and writes down how it ended.
    pub(crate) async fn run(self, gateway: Arc<Gateway>, out: Out) -> Ended {
        let until = Instant::now() + self.time_left(&gateway) + AFTER_LEASE;
        let sent = timeout_at(until, self.send(&gateway, matches!(out, Out::Open(_)))).await;
        let sent = sent.unwrap_or_else(|_| Err(too_late()));
        let sent = match sent {
            Ok(Answer::Stream(mut stream)) if matches!(out, Out::Fresh(_)) => {
                match stream.answer_at_once(&self.id).await {
                    Some(body) => {
                        let status = self.status_of(&body);
                        Ok(Answer::Whole { status, headers: HeaderMap::new(), body })
                    }
                    None => Ok(Answer::Stream(stream)),
                }
            }
            sent => sent,
        };
        match sent {
            Ok(Answer::Whole { status, headers, body }) => {
                let answer = Final::alone(status, headers, body);
                let ended = self.conclude(&gateway, answer);
                if let Out::Fresh(opened) = out {
                    drop(opened.send(Opened::Whole(self.told_of(&ended))));
                }
                self.settle(&gateway, &ended).await;
                ended
            }
            Ok(Answer::Stream(stream)) => Box::pin(self.follow(&gateway, stream, out)).await,
            Err(error) => {
                let ended = match error {
                    SendError::NotSent(problem) => Ended::NotSent(problem),
                    SendError::Lost(problem) => Ended::Lost(problem),
                };
                if let Out::Fresh(opened) = out {
                    drop(opened.send(Opened::Whole(self.told_of(&ended))));
                }
                self.settle(&gateway, &ended).await;
                ended
            }
        }
    }

    /// The HTTP status of a program's answer.
    pub(crate) fn status_of(&self, answer: &[u8]) -> StatusCode {
        match self.era {
            Era::One => StatusCode::OK,
            Era::Two => headers::status_of(answer),
        }
    }

    /// Follows a stream to the answer.
    async fn follow(&self, gateway: &Gateway, mut stream: Stream, out: Out) -> Ended {
        let (mut client, ends_with_answer) = match out {
            Out::Fresh(opened) => {
                let (sender, events) = mpsc::channel(QUEUE);
                drop(opened.send(Opened::Stream(events)));
                (Client::Own(sender), true)
            }
            Out::Open(stream) => (Client::Waits(stream), false),
            Out::Nobody => {
                stream.only_answer();
                (Client::Gone, false)
            }
        };
        let time_left = self.time_left(gateway);
        stream.resume_for(time_left);
        let until = Instant::now() + time_left + AFTER_LEASE;
        let ended = loop {
            if client.is_gone() && Instant::now() >= until {
                break Ended::Lost(too_late().to_string());
            }
            let event = match next_for(&mut stream, &mut client, until).await {
                Ok(Some(event)) => event,
                Ok(None) => break Ended::Lost("it ended without an answer".to_owned()),
                Err(error) => break Ended::Lost(error.to_string()),
            };
            if Reply::to(&event.data, &self.id).is_none() {
                if !may_pass(&gateway.catalogue, &self.upstream.name, &self.id, &event.data) {
                    continue;
                }
                let is_another_asking = self.shared && !gateway.questions.is_ours(&event.data);
                let relabelled =
                    is_another_asking.then(|| crate::labels::outward(&self.upstream.name, &event.data));
                let shown = relabelled.flatten().map_or(event.raw, |text| sse::event(&text));
                client.hear(shown).await;
                if matches!(client, Client::Gone) {
                    self.answer_for_nobody(&event.data).await;
                    // What is asked from now on, somebody else may answer.
                    stream.only_answer();
                }
                continue;
            }
            let answer = Final::alone(StatusCode::OK, HeaderMap::new(), event.data.clone());
            let ended = self.conclude(gateway, answer);
            if ends_with_answer && let Ended::Answered(answer) | Ended::Asks(answer) = &ended {
                // The server's own bytes, with its event id, unless something had to be changed.
                let same = answer.message == event.data;
                let text = || sse::event(&String::from_utf8_lossy(&answer.message));
                client.hear(if same { event.raw } else { text() }).await;
            }
            break ended;
        };
        if ends_with_answer && matches!(ended, Ended::Lost(_)) {
            let told = self.told_of(&ended);
            client.hear(sse::event(&String::from_utf8_lossy(&told.message))).await;
        }
        drop(client);
        self.settle(gateway, &ended).await;
        ended
    }

    /// For how long its answer is of use: when its lease ends, it is unknown.
    pub(crate) fn time_left(&self, gateway: &Gateway) -> Duration {
        let lease = self.case.state.claim().map(|claim| claim.lease_expires_at);
        lease.map_or(Duration::ZERO, |lease| lease.since(gateway.engine.now()))
    }

    /// A server that asks something while nobody listens should not wait for it until the lease ends.
    async fn answer_for_nobody(&self, asked: &[u8]) {
        let (Way::Clients(lane) | Way::ItsSession(lane)) = &self.way else { return };
        let Some(asked) = Members::read_bytes(asked) else { return };
        let (Some(method), Some(id)) = (asked.text("method"), asked.get("id")) else { return };
        let answer = message::for_nobody(&method, id);
        drop(timeout(REFUSED_WITHIN, lane.tell(answer.into())).await);
    }

    /// What an answer means, and as what it goes to the client.
    fn conclude(&self, gateway: &Gateway, answer: Final) -> Ended {
        if refuses_us(answer.status) {
            // A client would take it for its own credential, and could mend nothing.
            tracing::error!(
                upstream = self.upstream.name,
                "an MCP server refuses the credential that is configured for it"
            );
            return Ended::NotSent("it refuses the gateway's credential: tell its operator".to_owned());
        }
        let Some(reply) = Reply::read(&answer.message) else {
            if answer.status.is_client_error() {
                return Ended::Answered(answer);
            }
            return Ended::Lost(format!("its answer (HTTP {}) cannot be read", answer.status.as_u16()));
        };
        let Some(result) = reply.result else { return Ended::Answered(answer) };
        let facts: Facts<'_> = serde_json::from_str(result.get()).unwrap_or_default();
        if facts.result_type.as_deref() == Some("input_required") {
            let state = facts.request_state.map(|state| state.get().to_owned());
            return match self.next_round(gateway, result.get(), state) {
                Some(result) => Ended::Asks(self.with_result(&answer, &result)),
                None => Ended::Lost("it asks something, and nobody can be asked".to_owned()),
            };
        }
        let wanted = if self.case.version == 1 {
            result.get().to_owned()
        } else {
            let args = &self.case.submission.action.args;
            words::with_notice_of_change(result.get(), &(&*self.case).into(), args)
        };
        let is_ours = matches!(self.way, Way::Ours | Way::Parked(_));
        let wanted = if is_ours { words::for_era(wanted, self.era) } else { wanted };
        if wanted == result.get() {
            Ended::Answered(answer)
        } else {
            Ended::Answered(self.with_result(&answer, &wanted))
        }
    }

    fn with_result(&self, answer: &Final, result: &str) -> Final {
        Final::alone(answer.status, answer.headers.clone(), message::result(&self.id, result))
    }

    /// The server's question, with a state that leads back to this very call.
    fn next_round(&self, gateway: &Gateway, result: &str, state: Option<String>) -> Option<String> {
        // Whoever is asked while no client listens cannot answer.
        let why = match self.way {
            Way::Clients(_) => Why::Asked { state },
            Way::Parked(_) => Why::Parked { state: state? },
            Way::Ours if self.era == Era::Two && self.askable.is_some() => Why::Parked { state: state? },
            Way::Ours | Way::ItsSession(_) | Way::None(_) => return None,
        };
        let lease = self.case.state.claim()?.lease_expires_at;
        let round = Round {
            agent: self.case.agent.clone(),
            action: self.case.id,
            digest: self.asked,
            expires: lease.as_micros(),
            number: self.round + 1,
            why,
        };
        let sealed = gateway.seal.close(Purpose::Round, &round).ok()?;
        let mut members = Members::read(result)?;
        members.set("requestState", crate::raw::quoted(&sealed));
        Some(members.write())
    }

    /// What a client is told when there is no answer.
    fn told_of(&self, ended: &Ended) -> Final {
        let (id, name) = (self.case.id, &self.upstream.name);
        let (text, status) = match ended {
            Ended::NotSent(problem) => {
                let text = format!("NOT EXECUTED ({id}): the server `{name}` could not be asked: {problem}.");
                (text, Status::Failed)
            }
            Ended::Lost(problem) => {
                let text = format!(
                    "UNKNOWN ({id}): the call was passed on to the server `{name}`, but {problem}. It may have run. Find out before you try again."
                );
                (text, Status::Executing)
            }
            Ended::Answered(answer) | Ended::Asks(answer) => return answer.clone(),
        };
        let result = words::tool_error(&text, Some((id, status)), self.era);
        Final::alone(StatusCode::OK, HeaderMap::new(), message::result(&self.id, &result))
    }

    /// Writes down how it ended. What nobody knows is left to the lease: when that ends, it is `unknown`.
    async fn settle(&self, gateway: &Gateway, ended: &Ended) {
        let outcome = match ended {
            Ended::Answered(answer) => outcome(answer, self.keep),
            Ended::NotSent(problem) => {
                Outcome::Failed { error: Some(format!("not executed: {problem}")), result: None }
            }
            Ended::Asks(_) | Ended::Lost(_) => return,
        };
        gateway.record(&self.case, outcome).await;
    }
}

fn too_late() -> SendError {
    SendError::Lost("it did not answer in time".to_owned())
}

/// What comes next for a client. Whether it is still there is looked at meanwhile; once it is not, nothing is waited for
/// that would be of no use to anybody.
async fn next_for(
    stream: &mut Stream,
    client: &mut Client,
    until: Instant,
) -> Result<Option<Event>, SendError> {
    let look = |hush: Option<&Hush>| {
        if client.is_gone() {
            *client = Client::Gone;
            // What is asked from now on, somebody else may answer.
            hush.into_iter().for_each(Hush::only_answer);
            if Instant::now() >= until {
                return Err(too_late());
            }
        }
        Ok(())
    };
    stream.next_with_looks(LOOK, look).await
}

impl Ended {
    /// The result, or error, for others who wait for the same; `None` if there is none to tell.
    pub(crate) fn shared(&self, errand_id: &str) -> Option<(Member, String)> {
        let (Self::Answered(answer) | Self::Asks(answer)) = self else { return None };
        let reply = Reply::to(&answer.message, errand_id)?;
        match (reply.result, reply.error) {
            (Some(result), _) => Some((Member::Result, result.get().to_owned())),
            (None, Some(error)) => Some((Member::Error, error.get().to_owned())),
            (None, None) => None,
        }
    }
}

/// Which member of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Member {
    Result,
    Error,
}

/// Who hears what a server says while it works.
enum Client {
    /// Whose call it is: the stream is this errand's alone.
    Own(mpsc::Sender<Bytes>),
    /// One that waits for what was held.
    Waits(Weak<OpenStream>),
    Gone,
}

impl Client {
    fn is_gone(&self) -> bool {
        match self {
            Self::Own(events) => events.is_closed(),
            Self::Waits(stream) => stream.upgrade().is_none_or(|stream| stream.is_closed()),
            Self::Gone => true,
        }
    }

    async fn hear(&mut self, event: Bytes) {
        let heard = match self {
            Self::Own(events) => open_stream::send(events, event).await,
            Self::Waits(stream) => match stream.upgrade() {
                Some(stream) => stream.say(event).await,
                None => Err(Closed),
            },
            Self::Gone => return,
        };
        if heard.is_err() {
            *self = Self::Gone;
        }
    }
}

impl Gateway {
    /// Writes an outcome down, and tries again while the store cannot be used: it is the truth about what happened.
    pub(crate) async fn record(&self, case: &Case, outcome: Outcome) {
        let mut pause = Duration::from_millis(100);
        for _ in 0..RECORD_TRIES {
            match self.engine.record_forwarded(case.id, outcome.clone()).await {
                Ok(_) => return,
                Err(EngineError::Store(error)) => {
                    tracing::warn!(action = %case.id, %error, "an outcome could not be written down; trying again");
                    sleep(pause).await;
                    pause = pause.saturating_mul(2);
                }
                Err(error) => {
                    tracing::warn!(action = %case.id, %error, "an outcome was refused");
                    return;
                }
            }
        }
        tracing::error!(action = %case.id, "an outcome was given up: when its lease ends, it is unknown");
    }
}
