//! Every interleaving of a small house, checked exhaustively with the real `open` and `step`.
//!
//! People decide, edit and revoke, the agent cancels, two executors race for the claim and die after it, a worker
//! lets time pass, an operator freezes. Each does so as the engine and the store do: it reads the case, computes
//! the transition, and later commits it if nobody was faster. Between the two anything may happen, for any time.

mod properties;
mod world;

use std::sync::Arc;

use banksman_core::{
    Escalation, EscalationStep, Principal, PrincipalKind, Quorum, Submission, Tier, Verdict,
};
use stateright::{Checker, HasDiscoveries, Model};

use crate::fixture::{agent, person, quorum, refund, submission, verdict};
use world::Commit;

/// The house: who is in it, what they may try, and how the store commits.
#[derive(Debug)]
struct House {
    /// What is proposed, and what it may be edited into.
    submissions: Vec<Arc<Submission>>,
    /// The credentials that try to decide.
    people: Vec<Principal>,
    /// What the people, the agent and the operator try besides approving.
    tries: Tries,
    /// How many commands are under way at a time.
    at_once: usize,
    /// The last tick of the clock.
    ends: u8,
    /// How often a freeze is put on or lifted.
    freezes: u8,
    commit: Commit,
    /// Whether to look for claims that came late, although this way of committing does not keep them out.
    shows_late_claims: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tries {
    deny: bool,
    cancel: bool,
    revoke: bool,
}

/// A hold of two ticks, two to claim in, one to report in.
const TICKS: [u64; 3] = [2, 2, 1];

fn proposed(tier: Tier, quorum: Quorum) -> Arc<Submission> {
    submission(refund(899), verdict(tier, quorum, TICKS))
}

fn edited(amount: u32, tier: Tier, quorum: Quorum) -> Arc<Submission> {
    submission(refund(amount), verdict(tier, quorum, TICKS))
}

/// A credential of an agent, with every role that there is: it must be of no use.
fn agent_credential() -> Principal {
    Principal { kind: PrincipalKind::Agent, ..person("bot", &["lead", "finance"]) }
}

fn owner() -> Principal {
    person("olga", &["lead", "finance"])
}

/// Checks every property on every reachable state.
fn check(house: House) {
    // A first counterexample ends the search: a core that is broken may well have no end of states.
    let checker = house.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    println!(
        "{} states, {} of them unique, depth {}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

/// Checks that a property is broken, which shows that the model could have found it broken elsewhere.
fn check_breaks(house: House, property: &'static str) {
    let found = HasDiscoveries::AnyOf([property].into());
    house.checker().threads(2).finish_when(found).spawn_bfs().join().assert_any_discovery(property);
}

#[test]
fn one_person_is_enough() {
    check(House {
        submissions: vec![proposed(Tier::Approve, Quorum::one())],
        people: vec![person("ann", &[]), person("bob", &[]), owner(), agent_credential(), agent()],
        tries: Tries { deny: true, cancel: true, revoke: true },
        at_once: 2,
        ends: 3,
        freezes: 2,
        commit: Commit::IfRevisionUnchanged,
        shows_late_claims: false,
    });
}

/// Ann has two credentials, in her browser and on her phone, and uses both at the same time.
#[test]
fn two_people_of_two_roles() {
    check(House {
        submissions: vec![proposed(Tier::Escalate, quorum(2, &["lead", "finance"]))],
        people: vec![
            person("ann", &["lead", "finance"]),
            person("ann", &["lead", "finance"]),
            person("bob", &["finance"]),
            owner(),
            agent_credential(),
        ],
        tries: Tries { deny: true, ..Tries::default() },
        at_once: 2,
        ends: 3,
        freezes: 0,
        commit: Commit::IfRevisionUnchanged,
        shows_late_claims: false,
    });
}

/// Edits to what is judged the same and to what needs two people, while others approve what they saw before.
#[test]
fn edits_while_others_decide() {
    check(House {
        submissions: vec![
            proposed(Tier::Approve, Quorum::one()),
            edited(49, Tier::Approve, Quorum::one()),
            edited(9_999, Tier::Escalate, quorum(2, &["finance"])),
        ],
        people: vec![person("ann", &[]), person("bob", &["finance"]), owner(), agent_credential()],
        tries: Tries::default(),
        at_once: 2,
        ends: 4,
        freezes: 0,
        commit: Commit::IfRevisionUnchanged,
        shows_late_claims: false,
    });
}

/// One of two has approved when someone edits: that approval was of something else.
#[test]
fn edits_under_a_quorum_of_two() {
    check(House {
        submissions: vec![
            proposed(Tier::Escalate, quorum(2, &[])),
            edited(49, Tier::Escalate, quorum(2, &[])),
        ],
        people: vec![person("ann", &[]), person("bob", &[]), owner()],
        tries: Tries::default(),
        at_once: 2,
        ends: 3,
        freezes: 0,
        commit: Commit::IfRevisionUnchanged,
        shows_late_claims: false,
    });
}

/// Nobody of the role answers in time, and another role may step in, while the one that it was meant for still decides.
#[test]
fn a_hold_that_is_handed_over() {
    let chain = [
        EscalationStep { after_seconds: 1, then: Escalation::NotifyAgain },
        EscalationStep {
            after_seconds: 2,
            then: Escalation::HandTo { role: "finance".into(), instead_of: vec!["lead".into()] },
        },
    ];
    let held =
        Verdict { escalation: chain.into(), ..verdict(Tier::Approve, quorum(1, &["lead"]), [3, 2, 1]) };
    check(House {
        submissions: vec![submission(refund(899), held)],
        people: vec![
            person("ann", &["lead"]),
            person("bob", &["finance"]),
            person("dan", &[]),
            owner(),
            agent_credential(),
        ],
        tries: Tries { deny: true, ..Tries::default() },
        at_once: 2,
        ends: 5,
        freezes: 0,
        commit: Commit::IfRevisionUnchanged,
        shows_late_claims: false,
    });
}

/// A small house, to compare ways of committing in.
fn small(commit: Commit) -> House {
    House {
        submissions: vec![proposed(Tier::Approve, Quorum::one())],
        people: vec![person("ann", &[])],
        tries: Tries { revoke: true, ..Tries::default() },
        at_once: 3,
        ends: 3,
        freezes: 1,
        commit,
        shows_late_claims: true,
    }
}

/// A store that checks the freeze and the deadline in the transaction that commits lets nothing slip through.
#[test]
fn a_store_that_guards_the_moment_too_lets_nothing_slip_through() {
    check(small(Commit::IfMomentUnchangedToo));
}

/// Why it has to: comparing the revision keeps two claims apart, but a claim that was computed before a freeze, or
/// before the authorisation lapsed, could be committed after it by a process that was slow.
#[test]
fn the_revision_alone_does_not_guard_the_moment() {
    check_breaks(small(Commit::IfRevisionUnchanged), properties::NO_LATE_CLAIM);
}

/// Two executors that read the same authorisation both claim it if commits are not guarded at all.
#[test]
fn without_a_guard_the_model_finds_the_second_claim() {
    check_breaks(small(Commit::Blindly), properties::ONE_CLAIM);
    check_breaks(small(Commit::Blindly), properties::AUDITED);
}
