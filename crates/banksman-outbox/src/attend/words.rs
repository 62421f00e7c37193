//! What people on a channel are told.

use banksman_core::{Decision, Refusal, Status};
use banksman_notify::{Card, Reply, Standing};

use super::Why;

/// Their id on the channel, which is what an operator needs to let them decide.
pub(super) fn who_am_i(who: Option<&str>) -> Reply {
    Reply::Words(match who {
        Some(who) => format!(
            "Banksman tells people here when an agent needs a decision. Your id is {who}: whoever runs Banksman can enter it among the recipients."
        ),
        None => "Write to this account in the one-to-one chat, and it tells you your id.".to_owned(),
    })
}

/// Why it does not count because of who they are.
pub(super) fn not_you(why: Why) -> Reply {
    Reply::Words(
        match why {
            Why::Nobody => "It was not said who you are here. Nothing was decided. Use the one-to-one chat.",
            Why::NoRights => "You may not decide: your access to Banksman has ended. Nothing was decided.",
            Why::Stranger
            | Why::Forged
            | Why::Late
            | Why::Unreadable
            | Why::Replayed
            | Why::NotHere
            | Why::Refused(_) => {
                "You may not decide: you are not among Banksman's recipients. Nothing was decided."
            }
        }
        .to_owned(),
    )
}

/// It is decided elsewhere.
pub(super) fn in_the_console(card: &Card) -> Reply {
    Reply::Words(format!("This is not decided here. Nothing was decided. Its page: {}", card.link))
}

/// What came of a decision.
pub(super) fn decided(card: &Card, decision: Decision) -> Reply {
    let said = match (&card.standing, decision) {
        (Standing::Waiting | Standing::Changed, Decision::Modify) => {
            "Your edit is on the table, and waits for others.".to_owned()
        }
        (Standing::Waiting | Standing::Changed, Decision::Approve | Decision::Deny | Decision::Respond) => {
            format!("Your approval counts: {} of {}.", card.approvals, card.needed)
        }
        (Standing::Settled { status: Status::Denied, .. }, _) => "Denied. It will not run.".to_owned(),
        (Standing::Settled { .. } | Standing::Expired { .. }, Decision::Modify) => {
            "Edited and approved. It may run once, as you changed it.".to_owned()
        }
        (Standing::Settled { .. } | Standing::Expired { .. }, _) => "Approved. It may run once.".to_owned(),
    };
    Reply::Words(format!("{said} ({})", card.tool))
}

/// Why a decision changes nothing.
pub(super) fn refused(refusal: &Refusal, card: &Card) -> Reply {
    let said = match refusal {
        Refusal::Expired { .. } => "This request has expired. It did not run.".to_owned(),
        Refusal::AlreadyDecided { .. } => format!("Already decided: {}.", card.standing),
        Refusal::AlreadyVoted { .. } => {
            format!("You have approved it already: {} of {}.", card.approvals, card.needed)
        }
        Refusal::StaleVersion { .. } | Refusal::DigestMismatch { .. } => {
            "It has changed since this was sent. Nothing was decided; look at it again.".to_owned()
        }
        Refusal::SelfApproval | Refusal::NotIndependent { .. } | Refusal::MissingRole { .. } => {
            format!("You may not decide this: {refusal}.")
        }
        Refusal::StepUpRequired | Refusal::StepUpMismatch => {
            "Policy asks for your passkey, and that works on its page only. Nothing was decided.".to_owned()
        }
        Refusal::ReasonRequired
        | Refusal::MessageRequired
        | Refusal::RememberNotAllowed { .. }
        | Refusal::ModificationBlocked { .. }
        | Refusal::Frozen { .. }
        | Refusal::NotAuthorised { .. }
        | Refusal::AlreadyClaimed { .. }
        | Refusal::PreconditionFailed { .. }
        | Refusal::OtherPreconditions
        | Refusal::Lapsed { .. }
        | Refusal::NotClaimed { .. }
        | Refusal::AlreadyRecorded { .. }
        | Refusal::WrongDecision { .. }
        | Refusal::NotDue { .. } => format!("Nothing was decided: {refusal}."),
    };
    Reply::Words(format!("{said} ({}) {}", card.tool, card.link))
}
