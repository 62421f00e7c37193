//! Before a program: what was claimed is passed on, and how it ended is reported to the Banksman that was asked.

use std::sync::atomic::Ordering;
use std::time::Duration;

use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, ClaimView, OutcomeBody, OutcomeStatus};
use banksman_core::{ActionId, Outcome};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::message::{self, Message};
use crate::outcome::{Keep, outcome};
use crate::program::line;
use crate::stdio::{Gate, GateError, Proxy, era};
use crate::upstream::reply::{Final, Reply};
use crate::upstream::{Route, SendError};
use crate::words;

/// How often reporting an outcome is tried: over about six minutes, in which a server can be started again.
const REPORT_TRIES: u32 = 20;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl<G: Gate> Proxy<G> {
    /// Passes on exactly what was claimed, and says how it ended.
    pub(crate) async fn run(&self, message: Message, view: &ActionView, claim: ClaimView, alone: bool) {
        let (client_id, era) = (message.id(), era(&message));
        // An answer under the client's id would come twice.
        let id = if alone { self.program.own_id() } else { client_id.clone() };
        let modified = view.resolution.as_ref().is_some_and(|resolution| resolution.modified);
        let sent = if alone || modified {
            rewritten(&message.bytes, &id, &claim.args)
        } else {
            Some(message.bytes.clone())
        };
        let route = Route { id: id.clone(), progress: message.progress_token().filter(|_| !alone) };
        let answers = match sent {
            Some(sent) => self.program.child.ask(sent, route).await,
            None => Err(SendError::NotSent("the message cannot be written".to_owned())),
        };
        let mut answers = match answers {
            Ok(answers) => answers,
            Err(error) => {
                if !alone {
                    self.tell(&client_id, era, &format!("NOT EXECUTED ({}): {error}.", view.id)).await;
                }
                let error = Some(format!("not executed: {error}"));
                self.report(view.id, Outcome::Failed { error, result: None }).await;
                return;
            }
        };
        if alone {
            // What it asks meanwhile goes to the client as what it says on its own account.
            answers.only_answer();
        }
        while let Some(answer) = answers.recv().await {
            let Some(reply) = Reply::to(&answer, &id) else {
                if !alone {
                    self.say(line(&answer)).await;
                }
                continue;
            };
            // Counted before the client has its answer: it may be gone as soon as it does.
            let reporting = Reporting::start(self);
            if !alone {
                let told = reply.result.filter(|_| modified).map(|result| {
                    message::result(&id, &words::with_notice_of_change(result.get(), view, &claim.args))
                });
                self.say(told.unwrap_or_else(|| line(&answer))).await;
            }
            let answer = Final::alone(StatusCode::OK, HeaderMap::new(), answer);
            self.report(view.id, outcome(&answer, Keep::REPORTED)).await;
            drop(reporting);
            return;
        }
        // The program ended in the middle. Nobody knows, so nothing is reported: it becomes unknown.
        if !alone {
            let text = format!(
                "UNKNOWN ({}): the program ended without an answer. It may have run. Find out before you try again.",
                view.id
            );
            self.tell(&client_id, era, &text).await;
        }
    }

    /// Reports an outcome, and tries again while nobody can be asked: it is the truth about what happened.
    async fn report(&self, id: ActionId, outcome: Outcome) {
        let _reporting = Reporting::start(self);
        let mut body = match outcome {
            Outcome::Succeeded { result } => {
                OutcomeBody { status: OutcomeStatus::Succeeded, result, error: None }
            }
            Outcome::Failed { error, result } => OutcomeBody { status: OutcomeStatus::Failed, result, error },
        };
        let mut pause = FIRST_PAUSE;
        for _ in 0..REPORT_TRIES {
            match self.gate.report(id, body.clone()).await {
                Ok(()) => return,
                Err(GateError::TooLong(problem)) if body.result.is_some() => {
                    tracing::warn!(action = %id, problem, "a result is too long to be kept; reported without it");
                    body.result = None;
                }
                Err(GateError::Unavailable(problem)) => {
                    tracing::warn!(action = %id, problem, "an outcome could not be reported; trying again");
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                }
                Err(error @ (GateError::Refused(_) | GateError::TooLong(_))) => {
                    tracing::error!(action = %id, %error, "an outcome was refused: when its lease ends, it is unknown");
                    return;
                }
            }
        }
        tracing::error!(action = %id, "an outcome was given up: when its lease ends, it is unknown");
    }
}

/// An outcome that is on its way, as long as this is there.
struct Reporting<'a, G>(&'a Proxy<G>);

impl<'a, G> Reporting<'a, G> {
    fn start(proxy: &'a Proxy<G>) -> Self {
        proxy.reports.fetch_add(1, Ordering::SeqCst);
        Self(proxy)
    }
}

impl<G> Drop for Reporting<'_, G> {
    fn drop(&mut self) {
        self.0.reports.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The client's message under another id, with the arguments that were claimed.
fn rewritten(message: &Bytes, id: &str, args: &CanonicalJson) -> Option<Bytes> {
    let changed = message::with_params(message, |params| {
        params.set("arguments", args.as_str().to_owned());
        Some(())
    })?;
    message::with_id(&changed, id)
}
