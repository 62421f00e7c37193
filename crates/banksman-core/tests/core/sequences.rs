//! Random sequences of commands, against a model of the lifecycle that was written from its description.
//!
//! The model knows nothing of `step`: it keeps the few facts that decide what may happen next, and says for each
//! command what it leads to or with which code it is refused.

mod reference;

use std::collections::BTreeSet;
use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Actor, Ballot, Case, ClaimRequest, Command, Decision, Edit, Moment, Opening, Outcome, Principal,
    PrincipalKind, Status, Submission, Tier, Verdict, open, step,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::fixture::{
    action_id, agent, cases, foreign_digest, freeze, person, quorum, refund, second, submission, verdict,
};
use reference::Reference;

/// What is asked of the case next, and when.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    wait: i64,
    pub(crate) frozen: bool,
    pub(crate) ask: Ask,
}

#[derive(Debug, Clone)]
pub(crate) enum Ask {
    Decide(Vote),
    Edit { vote: Vote, edited: Terms, amount: u32 },
    Cancel,
    Claim { digest_is_right: bool, preconditions: Option<&'static str> },
    Report { succeeded: bool },
    PassTime,
}

/// A ballot, relative to the case that it will meet.
#[derive(Debug, Clone)]
pub(crate) struct Vote {
    pub(crate) reviewer: Principal,
    pub(crate) decision: Decision,
    pub(crate) version_is: VersionIs,
    pub(crate) digest_is_right: bool,
    pub(crate) reason: Option<&'static str>,
    pub(crate) message: Option<&'static str>,
    pub(crate) remember: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionIs {
    Current,
    Older,
    Newer,
}

/// What policy could demand of an action.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) tier: Tier,
    pub(crate) count: u32,
    pub(crate) roles: &'static [&'static str],
    pub(crate) seconds: [u64; 3],
    pub(crate) require_reason: bool,
    pub(crate) allow_remember: bool,
}

impl Terms {
    fn verdict(&self) -> Verdict {
        Verdict {
            require_reason: self.require_reason,
            allow_remember: self.allow_remember,
            ..verdict(self.tier, quorum(self.count, self.roles), self.seconds)
        }
    }
}

/// How a case begins.
#[derive(Debug, Clone)]
struct Beginning {
    terms: Terms,
    frozen: bool,
    /// What the agent is willing to wait.
    patience: Option<u64>,
    preconditions: Option<&'static str>,
}

fn terms() -> impl Strategy<Value = Terms> {
    let tier = prop_oneof![
        1 => Just(Tier::Auto), 1 => Just(Tier::Notify), 8 => Just(Tier::Approve), 4 => Just(Tier::Escalate),
        1 => Just(Tier::Block),
    ];
    let demand = prop::sample::select(vec![
        (1, &[][..]),
        (1, &[]),
        (2, &[]),
        (3, &[]),
        (1, &["finance"]),
        (2, &["finance"]),
        (2, &["lead", "finance"]),
    ]);
    let seconds = [10u64..40, 10u64..40, 10u64..40];
    (tier, demand, seconds, any::<bool>(), any::<bool>()).prop_map(
        |(tier, (count, roles), seconds, require_reason, allow_remember)| Terms {
            tier,
            count,
            roles,
            seconds,
            require_reason,
            allow_remember,
        },
    )
}

fn beginning() -> impl Strategy<Value = Beginning> {
    let preconditions = prop::sample::select(vec![None, None, Some(r#"{"stock":3}"#)]);
    (terms(), prop::bool::weighted(0.05), prop::option::of(5u64..60), preconditions).prop_map(
        |(terms, frozen, patience, preconditions)| Beginning { terms, frozen, patience, preconditions },
    )
}

/// Everyone who might try: reviewers of several roles, an administrator, the agent's owner, a person of the
/// agent's name, and agents.
fn reviewer() -> impl Strategy<Value = Principal> {
    let admin = Principal { kind: PrincipalKind::Admin, ..person("ada", &["lead"]) };
    let other_agent = Principal { kind: PrincipalKind::Agent, ..person("bot", &["lead", "finance"]) };
    prop::sample::select(vec![
        person("ann", &["lead"]),
        person("ann", &["lead"]),
        person("bob", &["finance"]),
        person("bob", &["finance"]),
        person("cho", &["finance", "lead"]),
        person("dan", &[]),
        admin,
        person("olga", &["lead", "finance"]),
        person("riley", &["lead"]),
        agent(),
        other_agent,
    ])
}

fn vote(decisions: Vec<Decision>) -> impl Strategy<Value = Vote> {
    let words = || prop::sample::select(vec![None, Some(""), Some(" \n"), Some("because"), Some("because")]);
    let version = prop_oneof![
        12 => Just(VersionIs::Current), 1 => Just(VersionIs::Older), 1 => Just(VersionIs::Newer),
    ];
    let decision = prop::sample::select(decisions);
    (reviewer(), decision, version, prop::bool::weighted(0.93), words(), words(), prop::bool::weighted(0.2))
        .prop_map(|(reviewer, decision, version_is, digest_is_right, reason, message, remember)| Vote {
            reviewer,
            decision,
            version_is,
            digest_is_right,
            reason,
            message,
            remember,
        })
}

fn turn() -> impl Strategy<Value = Turn> {
    use Decision::{Approve, Deny, Modify, Respond};
    let seen = prop::sample::select(vec![
        None,
        Some(r#"{"stock":3,"x":1}"#),
        Some(r#"{"stock":3.0}"#),
        Some(r#"{"stock":2}"#),
    ]);
    let ask = prop_oneof![
        10 => vote(vec![Approve, Approve, Approve, Approve, Approve, Deny, Respond, Modify]).prop_map(Ask::Decide),
        4 => (vote(vec![Modify, Modify, Modify, Approve, Deny]), terms(), 1u32..4)
            .prop_map(|(vote, edited, amount)| Ask::Edit { vote, edited, amount }),
        2 => Just(Ask::Cancel),
        5 => (prop::bool::weighted(0.9), seen)
            .prop_map(|(digest_is_right, preconditions)| Ask::Claim { digest_is_right, preconditions }),
        3 => any::<bool>().prop_map(|succeeded| Ask::Report { succeeded }),
        3 => Just(Ask::PassTime),
    ];
    // Mostly small steps, now and then past any deadline, and sometimes a clock that was set back.
    let wait = prop_oneof![8 => 0i64..6, 2 => 0i64..50, 1 => -20i64..0];
    (wait, prop::bool::weighted(0.1), ask).prop_map(|(wait, frozen, ask)| Turn { wait, frozen, ask })
}

fn json(text: Option<&str>) -> Option<CanonicalJson> {
    text.map(|text| CanonicalJson::parse(text.as_bytes()).unwrap())
}

fn ballot(vote: &Vote, case: &Case) -> Ballot {
    let version = match vote.version_is {
        VersionIs::Current => case.version,
        VersionIs::Older => case.version - 1,
        VersionIs::Newer => case.version + 1,
    };
    Ballot {
        reviewer: vote.reviewer.clone(),
        lent: Vec::new(),
        brought_by: None,
        decision: vote.decision,
        version,
        digest: if vote.digest_is_right { case.submission.digest } else { foreign_digest() },
        reason: vote.reason.map(str::to_owned),
        message: vote.message.map(str::to_owned),
        remember: vote.remember,
        step_up: None,
    }
}

/// The edited action, judged with the old verdict as its floor, as the engine does it.
fn edited(case: &Case, terms: &Terms, amount: u32) -> Arc<Submission> {
    let action = case.submission.action.with_args(refund(amount).args);
    submission(action, terms.verdict().at_least(&case.submission.verdict))
}

fn command(ask: &Ask, case: &Case) -> Command {
    let by = || Actor::Reviewer { name: "ann".into() };
    match ask {
        Ask::Decide(vote) => Command::Decide(ballot(vote, case)),
        Ask::Edit { vote, edited: terms, amount } => {
            Command::Edit(Edit { ballot: ballot(vote, case), submission: edited(case, terms, *amount) })
        }
        Ask::Cancel => Command::Cancel { by: by(), reason: None },
        Ask::Claim { digest_is_right, preconditions } => Command::Claim(ClaimRequest {
            digest: if *digest_is_right { case.submission.digest } else { foreign_digest() },
            preconditions: json(*preconditions),
        }),
        Ask::Report { succeeded: true } => Command::Report(Outcome::Succeeded { result: None }),
        Ask::Report { succeeded: false } => Command::Report(Outcome::Failed { error: None, result: None }),
        Ask::PassTime => Command::PassTime,
    }
}

/// Runs one sequence; `reached` is told every status and every code that comes up.
fn run(
    beginning: &Beginning,
    turns: &[Turn],
    reached: &mut impl FnMut(&'static str),
) -> Result<(), TestCaseError> {
    let freeze = freeze();
    let mut now = 0;
    let mut action = refund(899);
    action.timeout_seconds = beginning.patience;
    action.preconditions = json(beginning.preconditions);
    let submission = submission(action, beginning.terms.verdict());
    let opening = Opening { id: action_id(), agent: agent(), batch: None, submission, grant: None };
    let moment = Moment { freeze: beginning.frozen.then_some(&freeze), ..Moment::at(second(now)) };
    let mut case = open(opening, &moment).case;
    let mut reference = Reference::begin(&case.submission, beginning.frozen, now);
    prop_assert_eq!(case.status(), reference.status);
    reached(case.status().as_str());

    for turn in turns {
        now += turn.wait;
        let moment = Moment { freeze: turn.frozen.then_some(&freeze), ..Moment::at(second(now)) };
        let expected = match &turn.ask {
            Ask::Edit { vote, edited: terms, amount } => {
                reference.edit(vote, &edited(&case, terms, *amount).verdict, now, turn.frozen)
            }
            ask => reference.ask(ask, now, turn.frozen),
        };
        match step(&case, command(&turn.ask, &case), &moment) {
            Ok(transition) => {
                prop_assert_eq!(expected, Ok(()), "{:?} should have been refused", turn);
                prop_assert_eq!(transition.case.revision, case.revision + 1);
                let told = transition.event.action.as_ref().unwrap();
                prop_assert_eq!(
                    (told.revision, told.status),
                    (transition.case.revision, transition.case.status())
                );
                prop_assert_eq!(
                    (told.version, told.digest),
                    (transition.case.version, transition.case.submission.digest)
                );
                case = transition.case;
            }
            Err(refusal) => {
                reached(refusal.code());
                prop_assert_eq!(expected, Err(refusal.code()), "{:?}: {}", turn, refusal);
            }
        }
        reached(case.status().as_str());
        prop_assert_eq!(case.status(), reference.status, "after {:?}", turn);
        prop_assert_eq!(case.version, reference.version, "after {:?}", turn);
        prop_assert_eq!(case.state.wakes_at(), reference.wakes_at.map(second), "after {:?}", turn);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn every_sequence_goes_as_the_description_says(
        beginning in beginning(),
        turns in prop::collection::vec(turn(), 1..25),
    ) {
        run(&beginning, &turns, &mut |_| {})?;
    }
}

/// Sequences that never get anywhere would prove nothing: together they reach every status and every refusal.
#[test]
fn the_sequences_reach_every_status_and_every_refusal() {
    let mut runner = TestRunner::deterministic();
    let strategy = (beginning(), prop::collection::vec(turn(), 25));
    let mut reached = BTreeSet::new();
    for _ in 0..2_000 {
        let (beginning, turns) = strategy.new_tree(&mut runner).unwrap().current();
        run(&beginning, &turns, &mut |name| {
            let _ = reached.insert(name);
        })
        .unwrap();
    }
    let refusals = [
        "stale_version",
        "digest_mismatch",
        "expired",
        "already_decided",
        "already_voted",
        "self_approval",
        "missing_role",
        "reason_required",
        "message_required",
        "remember_not_allowed",
        "modification_blocked",
        "frozen",
        "not_authorised",
        "already_claimed",
        "precondition_failed",
        "lapsed",
        "not_claimed",
        "already_recorded",
        "wrong_decision",
        "not_due",
    ];
    let every: BTreeSet<_> = Status::ALL.iter().map(|status| status.as_str()).chain(refusals).collect();
    assert_eq!(reached, every);
}
