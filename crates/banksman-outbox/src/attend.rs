//! Attend: to what people answer on a channel.
//!
//! The channel has checked that the provider sent it. Here it is found out whether it is the first time, who that is,
//! and what they may; then it is a decision like any other, by the same door. Whatever changes nothing is on record.

mod record;
mod words;

use std::time::Duration;

use banksman_core::json::CanonicalJson;
use banksman_core::redact::redacted;
use banksman_core::visible::pretty;
use banksman_core::wire::DecisionRequest;
use banksman_core::{Case, Decision, Principal};
use banksman_engine::EngineError;
use banksman_notify::{Binding, Card, Inbound, Reply, Unheard, Wish};

use crate::Outbox;

pub(crate) use record::Allowance;

/// For how long events are remembered: longer than any channel listens to an old one.
const REMEMBERED: Duration = Duration::from_secs(3 * 24 * 3600);

/// Why an event changes nothing, as the audit log names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Forged,
    Late,
    Unreadable,
    Replayed,
    Nobody,
    Stranger,
    NoRights,
    NotHere,
    Refused(&'static str),
}

impl Why {
    fn as_str(self) -> &'static str {
        match self {
            Self::Forged => "forged",
            Self::Late => "late",
            Self::Unreadable => "unreadable",
            Self::Replayed => "replayed",
            Self::Nobody => "nobody",
            Self::Stranger => "stranger",
            Self::NoRights => "no_rights",
            Self::NotHere => "not_here",
            Self::Refused(code) => code,
        }
    }
}

impl Outbox {
    /// Records that a request was not listened to.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub async fn unheard(&self, channel: &str, unheard: &Unheard) -> Result<(), EngineError> {
        let why = match unheard {
            Unheard::Forged => Why::Forged,
            Unheard::Late => Why::Late,
            Unheard::Unreadable(_) => Why::Unreadable,
        };
        self.record_refused(channel, why, None).await
    }

    /// Does what someone on a channel wants, if they may; says what to tell them.
    ///
    /// # Errors
    /// If the store cannot be used. Nothing was decided then.
    pub async fn attend(&self, channel: &str, inbound: &Inbound) -> Result<Option<Reply>, EngineError> {
        // Remembered before anything else: of an event that is heard twice at once, one is the first.
        if !self.engine.is_heard_first(channel, &inbound.event, REMEMBERED).await? {
            self.record_refused(channel, Why::Replayed, Some(inbound)).await?;
            return Ok(None);
        }
        let (about, decision) = match &inbound.wish {
            Wish::WhoAmI => return Ok(Some(words::who_am_i(inbound.who.as_deref()))),
            Wish::Decide { about, decision, .. } | Wish::Explain { about, decision } => (*about, *decision),
        };
        let person = match self.identify(channel, inbound).await? {
            Ok(person) => person,
            Err(why) => {
                self.record_refused(channel, why, Some(inbound)).await?;
                return Ok(Some(words::not_you(why)));
            }
        };
        let case = match self.engine.case(about.action).await {
            Ok(case) => case,
            Err(EngineError::NotFound) => {
                self.record_refused(channel, Why::Refused("not_found"), Some(inbound)).await?;
                return Ok(Some(Reply::Words("There is no such request any more.".into())));
            }
            Err(error) => return Err(error),
        };
        // An old card may have a button that this one would not have.
        let card = self.card(channel, &case);
        if decision.approves() && !card.is_approved_here() {
            self.record_refused(channel, Why::NotHere, Some(inbound)).await?;
            return Ok(Some(words::in_the_console(&card)));
        }
        match &inbound.wish {
            Wish::WhoAmI => Ok(None),
            Wish::Explain { .. } => Ok(Some(ask(&case, &card, about, decision))),
            Wish::Decide { reason, arguments, .. } => {
                let request = match request(about, decision, reason.clone(), arguments.as_deref()) {
                    Ok(request) => request,
                    Err(problem) => return Ok(Some(Reply::Words(problem))),
                };
                self.decide_as(channel, inbound, &person, about, request).await.map(Some)
            }
        }
    }

    async fn decide_as(
        &self,
        channel: &str,
        inbound: &Inbound,
        person: &Principal,
        about: Binding,
        request: DecisionRequest,
    ) -> Result<Reply, EngineError> {
        let decision = request.decision;
        match self.engine.decide_by_channel(channel, person, about.action, request).await {
            Ok(case) => Ok(words::decided(&self.card(channel, &case), decision)),
            Err(EngineError::Refused { refusal, .. }) => {
                let case = self.engine.case(about.action).await?;
                self.record_refused(channel, Why::Refused(refusal.code()), Some(inbound)).await?;
                Ok(words::refused(&refusal, &self.card(channel, &case)))
            }
            Err(EngineError::InvalidArgs(problem) | EngineError::Invalid(problem)) => {
                Ok(Reply::Words(format!("Nothing was decided: {problem}")))
            }
            Err(EngineError::Unauthenticated) => {
                self.record_refused(channel, Why::NoRights, Some(inbound)).await?;
                Ok(words::not_you(Why::NoRights))
            }
            Err(error) => Err(error),
        }
    }

    /// Who that is, as far as rights go. Nothing in the event says so but the provider's id of the person.
    async fn identify(
        &self,
        channel: &str,
        inbound: &Inbound,
    ) -> Result<Result<Principal, Why>, EngineError> {
        let Some(who) = inbound.who.as_deref() else { return Ok(Err(Why::Nobody)) };
        let Some(name) = self.directory.reviewer(channel, who) else { return Ok(Err(Why::Stranger)) };
        match self.engine.person_named(name).await {
            Ok(person) => Ok(Ok(person)),
            Err(EngineError::Unauthenticated) => Ok(Err(Why::NoRights)),
            Err(error) => Err(error),
        }
    }
}

/// What a wish comes to as a request.
fn request(
    about: Binding,
    decision: Decision,
    reason: Option<String>,
    arguments: Option<&str>,
) -> Result<DecisionRequest, String> {
    let args = match (decision, arguments) {
        (Decision::Modify, Some(text)) => Some(
            CanonicalJson::parse(text.as_bytes())
                .map_err(|error| format!("Nothing was decided: the arguments are not JSON: {error}"))?,
        ),
        (Decision::Modify | Decision::Approve | Decision::Deny | Decision::Respond, _) => None,
    };
    // To respond is to tell the agent why.
    let (reason, message) = match decision {
        Decision::Respond => (None, reason),
        Decision::Approve | Decision::Deny | Decision::Modify => (reason, None),
    };
    let Binding { version, digest, .. } = about;
    Ok(DecisionRequest { decision, version, digest, reason, args, message, remember: None })
}

/// Asks for what a button cannot say. It binds to what the card showed, not to what there is now.
fn ask(case: &Case, card: &Card, about: Binding, decision: Decision) -> Reply {
    let submission = &case.submission;
    let arguments = match decision {
        Decision::Modify => Some(pretty(&redacted(&submission.action.args, &submission.verdict.redact))),
        Decision::Approve | Decision::Deny | Decision::Respond => None,
    };
    Reply::Ask { about, decision, tool: card.tool.clone(), arguments }
}
