//! The lifecycle: the only code that moves an action.
//!
//! ```text
//! open ─┬─> blocked
//!       ├─> authorised ─┬─> executing ─┬─> succeeded | failed
//!       │        ^      ├─> lapsed     └─> unknown ──> succeeded | failed   (a late report)
//!       │        │      └─> revoked
//!       └─> pending ────┬─> denied
//!             └─ edit ┘ ├─> expired
//!                       └─> cancelled
//! ```
//!
//! [`step`] is total: every command in every state gives a transition or a refusal, and a refusal changes
//! nothing. One transition writes one audit event, so revision `n` of an action has `n` events behind it.

mod claim;
mod close;
mod decide;
mod hold;
mod open;
mod seats;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::audit::{Event, Fact};
use crate::json::CanonicalJson;
use crate::{
    Acting, Actor, Case, Decision, Digest, Freeze, Principal, Refusal, State, StepUp, Submission, Timestamp,
};

pub use open::{Opening, open};

/// What is true around an action at the moment of a command.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// The time.
    pub now: Timestamp,
    /// A freeze that covers the action.
    pub freeze: Option<&'a Freeze>,
    /// The one person whom policy lets approve what they, or their own agent, proposed.
    pub solo_operator: Option<&'a str>,
}

impl Moment<'_> {
    /// A moment at which nothing is frozen.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { now, freeze: None, solo_operator: None }
    }
}

/// What can be asked of an action.
#[derive(Debug, Clone)]
pub enum Command {
    /// A reviewer approves, denies or responds.
    Decide(Ballot),
    /// A reviewer edits: a new version, assessed and judged.
    Edit(Edit),
    /// The agent withdraws it, or a reviewer takes it off the table; an authorisation that nobody used is taken back.
    Cancel {
        /// Who.
        by: Actor,
        /// Why.
        reason: Option<String>,
    },
    /// The agent's side wants to run it now.
    Claim(ClaimRequest),
    /// The executor says how it ended.
    Report(Outcome),
    /// Time has passed: escalate, expire, lapse or end the lease, whichever is due.
    PassTime,
}

/// A reviewer's decision about the version that they saw.
#[derive(Debug, Clone)]
pub struct Ballot {
    /// Who decides.
    pub reviewer: Principal,
    /// Roles that others have lent them; [`step`] uses those that count here.
    pub lent: Vec<Acting>,
    /// Who brought them in, as long as nobody independent has confirmed that these are two people.
    pub brought_by: Option<String>,
    /// What.
    pub decision: Decision,
    /// The version that they saw.
    pub version: u32,
    /// The digest that they saw.
    pub digest: Digest,
    /// Why.
    pub reason: Option<String>,
    /// Words for the agent.
    pub message: Option<String>,
    /// Whether the approval is to be remembered.
    pub remember: bool,
    /// What their passkey signed, if it did.
    pub step_up: Option<StepUp>,
}

/// A reviewer's edit: the ballot, and the version that it makes.
#[derive(Debug, Clone)]
pub struct Edit {
    /// Whose edit, of which version.
    pub ballot: Ballot,
    /// The edited action, assessed, and judged with the old verdict as its floor.
    pub submission: Arc<Submission>,
}

/// A request to run an authorised action.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// What the executor is about to run.
    pub digest: Digest,
    /// What the executor sees now of the facts that the action depends on.
    pub preconditions: Option<CanonicalJson>,
}

/// How a claimed action ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It ran.
    Succeeded {
        /// What came out.
        result: Option<CanonicalJson>,
    },
    /// It failed, or could not run.
    Failed {
        /// Why.
        error: Option<String>,
        /// What came out all the same.
        result: Option<CanonicalJson>,
    },
}

/// Something to be done elsewhere because of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// People are to be told.
    Notify(Notice),
    /// The approval is to be remembered as a grant.
    Remember,
}

/// What people are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// An action waits for them.
    Held,
    /// An action still waits for them.
    Reminder,
    /// An action waits, and people of another role may answer now.
    HandedOver,
    /// An action was let run without asking, and policy wants it known.
    LetThrough,
    /// An action may or may not have run; someone has to look.
    OutcomeUnknown,
    /// Too much went wrong: the operating mode fell back, because of this action at last.
    ModeFellBack,
}

impl Notice {
    /// The name in the outbox.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Reminder => "reminder",
            Self::HandedOver => "handed_over",
            Self::LetThrough => "let_through",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::ModeFellBack => "mode_fell_back",
        }
    }
}

/// What a command does: the case afterwards, the event to record with it, and what is to be done elsewhere.
#[derive(Debug, Clone)]
pub struct Transition {
    /// The case afterwards, its revision one higher.
    pub case: Case,
    /// The audit event. On the heap: it is the largest part by far, and whoever hands a transition on would copy it each time.
    pub event: Box<Event>,
    /// What is to be done elsewhere, in the same transaction or because of it.
    pub effects: Vec<Effect>,
}

/// Moves an action, or says why not.
///
/// # Errors
/// A [`Refusal`] if the command cannot be carried out now; then nothing has changed.
pub fn step(case: &Case, command: Command, moment: &Moment<'_>) -> Result<Transition, Refusal> {
    match command {
        Command::Decide(ballot) => decide::decide(case, ballot, moment),
        Command::Edit(edit) => decide::edit(case, edit, moment),
        Command::Cancel { by, reason } => close::cancel(case, by, reason, moment),
        Command::Claim(request) => claim::claim(case, &request, moment),
        Command::Report(outcome) => claim::report(case, outcome, moment),
        Command::PassTime => close::pass_time(case, moment),
    }
}

/// The case in its next state, with the event that records it.
fn moved(
    case: Case,
    state: State,
    at: Timestamp,
    actor: Actor,
    fact: Fact,
    effects: Vec<Effect>,
) -> Transition {
    let case = Case { revision: case.revision + 1, state, ..case };
    let event = Event::about(&case, at, actor, fact);
    Transition { case, event: Box::new(event), effects }
}
