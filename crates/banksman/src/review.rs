//! What approving, denying and editing have in common: look, show, ask, send, say what came of it.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use banksman_client::Client;
use banksman_core::wire::{ActionView, DecisionRequest};
use banksman_core::{Decision, Digest, Status};
use banksman_review::{Shown, overtaken, result};

use crate::context::{Context, now};
use crate::display::Visible;
use crate::exit::{Exit, stop};
use crate::select;
use crate::sheet::Sheet;
use crate::span;

/// How many seconds one request waits for someone else's decision: an edit does not end the wait, and is seen after it.
const ROUND: u64 = 5;
/// How long to leave a server alone that did not answer.
const BREATH: Duration = Duration::from_millis(500);

/// The heading over what a reviewer changed before.
pub(crate) const EDITED: &str = "What a reviewer changed of what the agent proposed";

/// An action that is about to be decided, as it was fetched.
pub(crate) struct Review<'a> {
    context: &'a Context,
    client: Arc<Client>,
    pub(crate) action: ActionView,
}

/// Whether to ask before sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// Ask; where nobody is there to answer, nothing is sent.
    Ask,
    /// The command line has said yes already.
    Given,
}

impl<'a> Review<'a> {
    /// Fetches the action that is meant.
    pub(crate) fn open(context: &'a Context, wanted: &str) -> anyhow::Result<Self> {
        let client = context.client()?;
        let id = select::resolve(&client, wanted)?;
        let action = client.action(id)?;
        Ok(Self { context, client: Arc::new(client), action })
    }

    /// Says once, in words, that this can no longer be decided: someone else did, or it is no longer what was fetched.
    pub(crate) fn follow(&self) -> Receiver<String> {
        let (tell, news) = channel();
        let (client, shown) = (Arc::clone(&self.client), self.action.clone());
        std::thread::spawn(move || {
            loop {
                match client.await_action(shown.id, ROUND) {
                    Ok(current) => {
                        if let Some(words) = overtaken(&shown, &current, now()) {
                            let _ = tell.send(words);
                            return;
                        }
                    }
                    // A decision will say so, if it is still so by then.
                    Err(_) => std::thread::sleep(BREATH),
                }
            }
        });
        news
    }

    /// Shows what is going to be decided.
    pub(crate) fn show(&self, heading: &'static str) -> anyhow::Result<()> {
        self.context.remark(&summary(heading, &self.action, self.context))
    }

    /// A decision on exactly what was shown.
    pub(crate) fn request(&self, decision: Decision) -> anyhow::Result<DecisionRequest> {
        if let Some(objection) = Shown::of(&self.action).objection(decision) {
            return Err(stop(Exit::Failure, objection));
        }
        Ok(DecisionRequest {
            decision,
            version: self.action.version,
            digest: self.action.digest,
            reason: None,
            args: None,
            message: None,
            remember: None,
        })
    }

    /// Asks what is left to ask, sends the decision and says what came of it.
    pub(crate) fn finish(
        &self,
        mut request: DecisionRequest,
        confirmation: Confirmation,
        question: &str,
    ) -> anyhow::Result<ExitCode> {
        // What is no longer pending is not asked about: the server says precisely why it is too late.
        let pending = self.action.status == Status::Pending;
        if pending && confirmation == Confirmation::Ask && !self.context.can_ask() {
            // A pipe may say anything, a no included, and silence is no yes.
            return Err(stop(
                Exit::Usage,
                "nobody is here to ask: look at it with `banksman show`, then say --yes; nothing was sent",
            ));
        }
        if pending && self.context.can_ask() {
            if self.action.verdict.require_reason && request.reason.is_none() {
                let reason = self.context.ask("Policy asks for a reason:")?;
                request.reason = Some(reason).filter(|reason| !reason.is_empty());
            }
            if confirmation == Confirmation::Ask && !self.context.confirm(question)? {
                return Err(stop(Exit::Failure, "nothing was sent"));
            }
        }
        self.send(&request)
    }

    /// Sends the decision and says what came of it.
    pub(crate) fn send(&self, request: &DecisionRequest) -> anyhow::Result<ExitCode> {
        let decided = self.client.decide(self.action.id, request)?;
        if self.context.globals.json {
            self.context.print_json(&decided)?;
        } else {
            self.context
                .print(&format!("{}\n", Visible(&result(request.decision, &decided, self.context.now))))?;
        }
        Ok(Exit::Done.into())
    }
}

/// What is going to be decided, in short.
fn summary(heading: &'static str, action: &ActionView, context: &Context) -> String {
    let mut sheet = Sheet::new(context.screen);
    sheet.section(heading);
    sheet.field("action", &format!("{} (version {})", action.id, action.version));
    sheet.field("agent", &action.agent);
    sheet.field("tool", &format!("{} ({})", action.tool, action.kind));
    sheet.risk("risk", action.verdict.risk);
    sheet.field("rule", &action.verdict.rule);
    for finding in &action.assessment.findings {
        sheet.field("", &format!("{} ({})", finding.reason, finding.level));
    }
    sheet.field("digest", &short_digest(action.digest));
    if let Some(at) = action.expires_at.filter(|_| action.status == Status::Pending) {
        sheet.field("expires", &span::relative(context.now, at));
    }
    if action.status != Status::Pending {
        sheet.field("status", action.status.as_str());
    }
    let shown = Shown::of(action);
    if let Some(warning) = shown.warning() {
        sheet.note(warning);
    }
    sheet.field("arguments", if shown == Shown::Whole { "exactly these:" } else { "shown of them:" });
    sheet.json(&action.args);
    if let Some(proposed) = &action.proposed_args {
        sheet.section(EDITED);
        sheet.changes(proposed, &action.args);
    }
    sheet.into_text() + "\n"
}

/// Enough of a digest to compare by eye.
pub(crate) fn short_digest(digest: Digest) -> String {
    let text = digest.to_string();
    format!("{}…", text.get(..19).unwrap_or(&text))
}

/// How to decide, for whoever reads a page about the action.
pub(crate) fn commands(sheet: &mut Sheet, id: banksman_core::ActionId) {
    sheet.verbatim(&format!("banksman approve {id}"));
    sheet.verbatim(&format!("banksman deny {id} --reason TEXT"));
    sheet.verbatim(&format!("banksman deny {id} --message TEXT"));
    sheet.verbatim(&format!("banksman modify {id}"));
}

#[cfg(test)]
mod tests {
    use banksman_review::Approvals;

    use super::*;
    use crate::sample;

    #[test]
    fn the_summary_says_how_far_the_digest_vouches_for_it() {
        let mut action = sample::action();
        let said = |action: &ActionView| summary("Approve?", action, &sample::context()).replace("\n  ", " ");
        assert!(said(&action).contains("exactly these"));
        action.args = sample::json(r#"{"amount":1,"order_id":"[redacted]"}"#);
        assert!(said(&action).contains("can only be denied") && !said(&action).contains("exactly these"));
        Arc::make_mut(&mut action.verdict).redact = vec!["order_id".into()];
        let text = said(&action);
        assert!(text.contains("cannot be checked here") && !text.contains("exactly these"), "{text}");
    }

    #[test]
    fn the_summary_shows_what_would_run() {
        let text = summary("Approve?", &sample::action(), &sample::context());
        for expected in [
            "Approve?\n",
            "act_01J9",
            "process_refund (tool)",
            "high",
            "refunds",
            "  | {\n",
            "\"amount\": 899",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        assert!(text.contains("expires     in 4 min"), "{text}");
    }

    #[test]
    fn what_came_of_it_is_said_in_a_sentence() {
        let mut action = sample::action();
        assert_eq!(
            result(Decision::Approve, &action, sample::NOW),
            "Recorded: 1 of 2 approvals; the action stays held."
        );
        action.status = Status::Authorised;
        assert_eq!(
            result(Decision::Modify, &action, sample::NOW),
            "Approved: process_refund may run once, with your arguments if it is claimed within 4 min."
        );
        action.status = Status::Denied;
        assert_eq!(result(Decision::Respond, &action, sample::NOW), "Denied; the agent gets your message.");
    }

    #[test]
    fn only_different_people_on_this_version_count() {
        let mut action = sample::action();
        let first = action.votes[0].clone();
        action.votes.push(first.clone());
        assert_eq!(Approvals::of(&action).given, 1);
        action.version = 2;
        assert_eq!(Approvals::of(&action).given, 0);
    }
}
