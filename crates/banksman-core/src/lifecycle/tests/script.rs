//! The language of the tables: who asks what, and how what comes of it is written.

use std::fmt::Write as _;

use super::super::*;
use crate::{
    Action, ActionId, Assessment, FreezeId, FreezeScope, Kind, PrincipalKind, Quorum, Risk, Tier, TokenId,
    Verdict,
};

pub(super) fn second(count: i64) -> Timestamp {
    Timestamp::from_micros(count * 1_000_000)
}

pub(super) fn freeze() -> Freeze {
    Freeze {
        id: FreezeId::from_parts(0, 1),
        scope: FreezeScope::Everything,
        reason: "drill".into(),
        by: "ada".into(),
        at: second(0),
    }
}

/// Riley is Olga's agent, Bot another one; the others are reviewers.
pub(super) fn principal(name: &str) -> Principal {
    let (kind, roles): (_, &[&str]) = match name {
        "ann" => (PrincipalKind::Reviewer, &["lead"]),
        "bob" => (PrincipalKind::Reviewer, &["finance"]),
        "olga" => (PrincipalKind::Reviewer, &["lead", "finance"]),
        "riley" | "bot" => (PrincipalKind::Agent, &["lead", "finance"]),
        _ => (PrincipalKind::Reviewer, &[]),
    };
    Principal {
        token: TokenId::from_parts(0, 1),
        kind,
        name: name.into(),
        owner: (name == "riley").then(|| "olga".into()),
        roles: roles.iter().map(ToString::to_string).collect(),
    }
}

/// Held for 60 seconds, to be claimed within 30, to be reported within 10.
pub(super) fn verdict(tier: Tier, count: u32, roles: &[&str]) -> Verdict {
    Verdict {
        quorum: Quorum::new(count, roles.iter().map(ToString::to_string).collect()),
        timeout_seconds: 60,
        claim_within_seconds: 30,
        lease_seconds: 10,
        ..Verdict::new(tier, Risk::High, "refunds")
    }
}

pub(super) fn strict(verdict: Verdict) -> Verdict {
    Verdict { require_reason: true, ..verdict }
}

pub(super) fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text.as_bytes()).unwrap()
}

pub(super) fn submission(amount: u32, preconditions: Option<&str>, verdict: Verdict) -> Arc<Submission> {
    let args = json(&format!(r#"{{"amount":{amount}}}"#));
    let action =
        Action { preconditions: preconditions.map(json), ..Action::bare("refund", Kind::Tool, args) };
    Arc::new(Submission::new(action, Assessment::of(Vec::new()), verdict))
}

pub(super) fn opened(verdict: Verdict, preconditions: Option<&str>, moment: &Moment<'_>) -> Transition {
    let submission = submission(899, preconditions, verdict);
    let id = ActionId::from_parts(0, 1);
    open(Opening { id, agent: principal("riley"), batch: None, submission, grant: None }, moment)
}

pub(super) fn held(verdict: Verdict) -> Case {
    opened(verdict, None, &Moment::at(second(0))).case
}

/// What is asked; a ballot is about what is on the table unless it says otherwise.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Vote(Vote),
    Cancel,
    Claim(Option<&'static str>),
    ClaimOther,
    Report,
    PassTime,
    Freeze,
    Thaw,
}

#[derive(Debug, Clone)]
pub(super) struct Vote {
    pub(super) by: &'static str,
    pub(super) decision: Decision,
    pub(super) version: Option<u32>,
    pub(super) other_digest: bool,
    pub(super) reason: Option<&'static str>,
    pub(super) message: Option<&'static str>,
    pub(super) remember: bool,
    pub(super) becomes: Option<Box<Verdict>>,
}

pub(super) fn vote(by: &'static str, decision: Decision) -> Vote {
    let (reason, message) = (None, None);
    Vote { by, decision, version: None, other_digest: false, reason, message, remember: false, becomes: None }
}

pub(super) fn says(by: &'static str, decision: Decision) -> Ask {
    Ask::Vote(vote(by, decision))
}

/// Edits the amount; what comes out is judged so.
pub(super) fn edits(by: &'static str, becomes: Verdict) -> Ask {
    Ask::Vote(Vote { becomes: Some(Box::new(becomes)), ..vote(by, Decision::Modify) })
}

pub(super) fn command(ask: Ask, case: &Case) -> Command {
    let other = Digest::of(b"something else");
    match ask {
        Ask::Vote(vote) => {
            let ballot = Ballot {
                reviewer: principal(vote.by),
                lent: Vec::new(),
                brought_by: None,
                decision: vote.decision,
                version: vote.version.unwrap_or(case.version),
                digest: if vote.other_digest { other } else { case.submission.digest },
                reason: vote.reason.map(str::to_owned),
                message: vote.message.map(str::to_owned),
                remember: vote.remember,
                step_up: None,
            };
            match vote.becomes {
                Some(verdict) => Command::Edit(Edit { ballot, submission: submission(49, None, *verdict) }),
                None => Command::Decide(ballot),
            }
        }
        Ask::Cancel => Command::Cancel { by: Actor::Agent { name: "riley".into() }, reason: None },
        Ask::Claim(seen) => {
            Command::Claim(ClaimRequest { digest: case.submission.digest, preconditions: seen.map(json) })
        }
        Ask::ClaimOther => Command::Claim(ClaimRequest { digest: other, preconditions: None }),
        Ask::Report => Command::Report(Outcome::Succeeded { result: None }),
        Ask::PassTime | Ask::Freeze | Ask::Thaw => Command::PassTime,
    }
}

/// `STATUS vVERSION`, until when if time moves it on, and what is to be done about it.
pub(super) fn describe(transition: &Transition) -> String {
    let case = &transition.case;
    let mut text = format!("{} v{}", case.status(), case.version);
    if let Some(at) = case.state.wakes_at() {
        let _ = write!(text, " until {}", at.as_micros() / 1_000_000);
    }
    for effect in &transition.effects {
        match effect {
            Effect::Notify(notice) => drop(write!(text, ", tell {}", notice.as_str())),
            Effect::Remember => text.push_str(", remember"),
        }
    }
    if let Fact::Finished { late: true, .. } = transition.event.fact {
        text.push_str(", late");
    }
    text
}

/// Asks one thing after the other; a refusal changes nothing.
#[track_caller]
pub(super) fn check(mut case: Case, steps: impl IntoIterator<Item = (i64, Ask, &'static str)>) -> Case {
    let freeze = freeze();
    let mut frozen = false;
    for (position, (at, ask, expected)) in steps.into_iter().enumerate() {
        if let Ask::Freeze | Ask::Thaw = ask {
            frozen = matches!(ask, Ask::Freeze);
            continue;
        }
        let moment = Moment { freeze: frozen.then_some(&freeze), ..Moment::at(second(at)) };
        let got = match step(&case, command(ask.clone(), &case), &moment) {
            Ok(transition) => {
                let told = describe(&transition);
                case = transition.case;
                told
            }
            Err(refusal) => refusal.code().to_owned(),
        };
        assert_eq!(got, expected, "step {position}: {ask:?} at second {at}");
    }
    case
}
