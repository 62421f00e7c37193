//! What a server with sessions asks while it works, put to a client that has none: the call is parked, the client gets the
//! question in place of an answer (`input_required`), and its next round goes on where the server waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use crate::errand::AFTER_LEASE;
use crate::message;
use crate::raw::{Members, quoted};
use crate::sse::Event;
use crate::upstream::Stream;
use crate::upstream::reply::Reply;
use crate::upstream::{Answer, Hush, Post, Questions, Route, SendError, Wants, mailbox};

/// So many calls may be parked at a time, and of one agent.
const PARKED: usize = 10_000;
const PARKED_OF_AN_AGENT: usize = 64;

/// How often to look whether the client is still there.
const LOOK: Duration = Duration::from_secs(1);

/// How long a server that did not take in what its client answers is listened to.
const UNTOLD_FOR: Duration = Duration::from_secs(60);

/// By what name the client knows the one question that is open.
const QUESTION: &str = "question";

/// The calls whose servers wait for an answer, by the state that leads back to each.
#[derive(Default)]
pub(crate) struct ParkingLot(Mutex<HashMap<String, Parked>>);

struct Parked {
    agent: Arc<str>,
    stream: Stream,
    /// The id of the server's question, as JSON.
    question: String,
    method: String,
    until: Instant,
}

impl Parked {
    async fn give_up(mut self) {
        self.stream.hears_questions(Questions::Never);
        self.stream.refuse(&self.method, &self.question);
        while let Ok(Some(event)) = self.stream.next().await {
            if let Some((question, method, _)) = question(&event.data) {
                self.stream.refuse(&method, &question);
            }
        }
    }
}

impl ParkingLot {
    fn parked(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Parks a call; the state that leads back to it, as JSON. If there is no room, it comes back.
    fn park(&self, parked: Parked) -> Result<String, Box<Parked>> {
        let mut key = [0u8; 16];
        let mut all = self.parked();
        let of_agent = all.values().filter(|other| other.agent == parked.agent).count();
        if all.len() >= PARKED || of_agent >= PARKED_OF_AN_AGENT || getrandom::fill(&mut key).is_err() {
            return Err(Box::new(parked));
        }
        let state = quoted(&format!("parked-{:032x}", u128::from_be_bytes(key)));
        all.insert(state.clone(), parked);
        Ok(state)
    }

    /// Lets those go whose answers are of no use any more. Their servers are told that nobody answers, whatever they ask.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let late: Vec<Parked> =
            self.parked().extract_if(|_, parked| parked.until <= now).map(|(_, parked)| parked).collect();
        for parked in late {
            tokio::spawn(timeout_at(now + AFTER_LEASE, parked.give_up()));
        }
    }

    /// Goes on with a parked call: its server gets the client's answer.
    ///
    /// # Errors
    /// If nobody knows the call here, or its server cannot be told.
    pub(crate) async fn go_on(
        self: &Arc<Self>,
        state: &str,
        answers: Option<&str>,
        theirs: Route,
    ) -> Result<Answer, SendError> {
        let lost = |problem: &str| SendError::Lost(problem.to_owned());
        let parked = self.parked().remove(state);
        let Some(mut parked) = parked else {
            return Err(lost("it waits for an answer elsewhere, or does not wait any more"));
        };
        let answer =
            answers.and_then(Members::read).and_then(|answers| answers.get(QUESTION).map(str::to_owned));
        parked.stream.now_known_as(theirs.clone());
        parked.stream.hears_questions(Questions::Now);
        let told = match answer {
            Some(answer) => parked.stream.answer_to(&parked.question, &answer).await,
            // Who goes on without an answer has none.
            None => {
                parked.stream.refuse(&parked.method, &parked.question);
                true
            }
        };
        // It may not wait for one any more, and what it says then may be on its way.
        let over = if told { parked.until + AFTER_LEASE } else { Instant::now() + UNTOLD_FOR };
        Ok(self.hand_on(parked.agent, parked.stream, theirs, (parked.until, over)))
    }

    /// An answer in which what the server asks comes as one, with the call parked behind it.
    pub(crate) fn watch(
        self: &Arc<Self>,
        agent: &str,
        answer: Answer,
        theirs: &Route,
        until: Instant,
    ) -> Answer {
        match answer {
            Answer::Stream(stream) => {
                self.hand_on(agent.into(), stream, theirs.clone(), (until, until + AFTER_LEASE))
            }
            whole @ Answer::Whole { .. } => whole,
        }
    }

    fn hand_on(
        self: &Arc<Self>,
        agent: Arc<str>,
        stream: Stream,
        theirs: Route,
        (until, over): (Instant, Instant),
    ) -> Answer {
        let (post, messages) = mailbox(Wants::Everything);
        let conducted = Arc::clone(self).conduct(agent, stream, theirs, until, post);
        tokio::spawn(timeout_at(over, conducted));
        Answer::Stream(Stream::of_child(messages))
    }

    /// Where there is no answer, the post is dropped without one.
    async fn conduct(
        self: Arc<Self>,
        agent: Arc<str>,
        mut stream: Stream,
        theirs: Route,
        until: Instant,
        post: Post,
    ) {
        stream.resume_for(until.saturating_duration_since(Instant::now()));
        while let Ok(Some(event)) = next_while_wanted(&mut stream, &post).await {
            if Reply::to(&event.data, &theirs.id).is_some() {
                return post.answer(event.data);
            }
            let Some((question, method, request)) = question(&event.data) else {
                post.offer(&event.data);
                continue;
            };
            if !post.is_wanted() {
                stream.refuse(&method, &question);
                continue;
            }
            stream.hears_questions(Questions::Later);
            match self.park(Parked { agent: Arc::clone(&agent), stream, question, method, until }) {
                Ok(state) => return post.answer(asked(&theirs.id, &request, &state)),
                Err(parked) => {
                    parked.stream.refuse(&parked.method, &parked.question);
                    stream = parked.stream;
                    stream.hears_questions(Questions::Now);
                }
            }
        }
    }
}

/// What comes next. Who has left is asked nothing that another could answer.
async fn next_while_wanted(stream: &mut Stream, post: &Post) -> Result<Option<Event>, SendError> {
    let look = |hush: Option<&Hush>| {
        if !post.is_wanted() {
            hush.into_iter().for_each(|hush| hush.hears_questions(Questions::Never));
        }
        Ok(())
    };
    stream.next_with_looks(LOOK, look).await
}

/// A server's question: its id, its method, and itself as era two has it.
fn question(message: &[u8]) -> Option<(String, String, String)> {
    let said = Members::read_bytes(message)?;
    let (id, method) = (said.get("id")?, said.text("method")?);
    let mut request = Members::default();
    request.set("method", quoted(&method));
    if let Some(params) = said.get("params") {
        request.set("params", params);
    }
    let request = request.write();
    Some((id.to_owned(), method, request))
}

fn asked(id: &str, request: &str, state: &str) -> Bytes {
    let result = format!(
        r#"{{"resultType":"input_required","inputRequests":{{"{QUESTION}":{request}}},"requestState":{state}}}"#
    );
    message::result(id, &result).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_put_as_the_revision_without_sessions_has_it() {
        let said = br#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Who?"}}"#;
        let (id, method, request) = question(said).unwrap();
        assert_eq!((id.as_str(), method.as_str()), ("7", "elicitation/create"));
        assert_eq!(
            asked("1", &request, "\"s\""),
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"question":{"method":"elicitation/create","params":{"message":"Who?"}}},"requestState":"s"}}"#
        );
        assert!(question(br#"{"method":"notifications/progress","params":{}}"#).is_none());
    }
}
