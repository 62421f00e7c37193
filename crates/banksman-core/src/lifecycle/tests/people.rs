//! Chains, delegations and the solo operator, by tables.

use super::script::{Ask, check, edits, freeze, held, opened, principal, says, second, verdict, vote};
use super::*;
use crate::{
    Acting, ActingSource, Authority, DelegationId, Escalation, EscalationStep, Review, Status, Tier, Verdict,
};
use Decision::{Approve, Deny};

fn remind(after_seconds: u64) -> EscalationStep {
    EscalationStep { after_seconds, then: Escalation::NotifyAgain }
}

fn hand(after_seconds: u64, role: &str, instead_of: &[&str]) -> EscalationStep {
    let instead_of = instead_of.iter().map(ToString::to_string).collect();
    EscalationStep { after_seconds, then: Escalation::HandTo { role: role.into(), instead_of } }
}

/// Needs one of `vault`, whom nobody here is; after 20 seconds one of finance (Bob) will do.
fn chained() -> Verdict {
    let escalation = vec![remind(10), hand(20, "finance", &["vault"])];
    Verdict { escalation, ..verdict(Tier::Approve, 1, &["vault"]) }
}

#[test]
fn while_nobody_answers_people_are_told_again_and_others_may_step_in() {
    let case = check(
        held(chained()),
        [
            (9, Ask::PassTime, "not_due"),
            (9, says("bob", Approve), "missing_role"),
            (10, Ask::PassTime, "pending v1 until 20, tell reminder"),
            (10, Ask::PassTime, "not_due"),
            (19, says("bob", Approve), "missing_role"),
            (21, Ask::PassTime, "pending v1 until 60, tell handed_over"),
            (22, says("ann", Approve), "missing_role"),
            (22, says("bob", Approve), "authorised v1 until 52"),
        ],
    );
    let acting = &case.reviews[0].acting;
    assert_eq!(acting[0].role, "vault");
    assert_eq!(acting[0].source, ActingSource::HandOver { as_role: "finance".into() });
}

#[test]
fn a_chain_goes_by_its_plan_and_never_beyond_the_deadline() {
    // Nobody looked for a while: one reminder is told, the hand-over always is, and what comes next is not put off.
    let late = Verdict {
        escalation: vec![remind(10), remind(15), hand(20, "finance", &[]), remind(50)],
        ..chained()
    };
    check(
        held(late.clone()),
        [
            (30, Ask::PassTime, "pending v1 until 15"),
            (30, Ask::PassTime, "pending v1 until 20"),
            (30, Ask::PassTime, "pending v1 until 50, tell handed_over"),
            (30, Ask::PassTime, "not_due"),
            (50, Ask::PassTime, "pending v1 until 60, tell reminder"),
            (60, Ask::PassTime, "expired v1"),
        ],
    );
    check(held(late), [(60, Ask::PassTime, "expired v1")]);
    let beyond = Verdict { escalation: vec![remind(90)], ..verdict(Tier::Approve, 1, &[]) };
    check(held(beyond), [(59, Ask::PassTime, "not_due"), (60, Ask::PassTime, "expired v1")]);
}

#[test]
fn a_chain_ends_with_the_hold_and_a_freeze_does_not_stop_it() {
    let told = || Verdict { escalation: vec![remind(10)], ..verdict(Tier::Approve, 1, &[]) };
    check(held(told()), [(1, says("ann", Deny), "denied v1"), (10, Ask::PassTime, "not_due")]);
    check(
        held(told()),
        [(1, says("ann", Approve), "authorised v1 until 31"), (10, Ask::PassTime, "not_due")],
    );
    check(held(told()), [(1, Ask::Freeze, ""), (10, Ask::PassTime, "pending v1 until 60, tell reminder")]);
    let two = || Verdict { escalation: vec![remind(10)], ..verdict(Tier::Escalate, 2, &[]) };
    check(
        held(two()),
        [
            (1, says("ann", Approve), "pending v1 until 10"),
            (10, Ask::PassTime, "pending v1 until 60, tell reminder"),
            (11, says("bob", Approve), "authorised v1 until 41"),
        ],
    );
}

#[test]
fn who_stepped_in_may_edit_and_another_chain_begins_again() {
    let handed = || {
        check(
            held(chained()),
            [
                (10, Ask::PassTime, "pending v1 until 20, tell reminder"),
                (20, Ask::PassTime, "pending v1 until 60, tell handed_over"),
            ],
        )
    };
    check(handed(), [(21, edits("bob", chained()), "authorised v2 until 51")]);
    let other = Verdict { escalation: vec![hand(5, "finance", &["vault"])], ..chained() };
    check(handed(), [(21, edits("bob", other), "missing_role")]);
    let more = Verdict {
        escalation: vec![hand(5, "finance", &["vault"])],
        ..verdict(Tier::Escalate, 2, &["vault"])
    };
    check(
        handed(),
        [
            (21, edits("bob", more), "pending v2 until 26, tell held"),
            (26, Ask::PassTime, "pending v2 until 81, tell handed_over"),
            (27, says("bob", Approve), "pending v2 until 81"),
        ],
    );
}

fn lent(role: &str, lender: &str) -> Acting {
    let delegation = DelegationId::from_parts(0, 1);
    Acting { role: role.into(), source: ActingSource::Delegation { delegation, on_behalf_of: lender.into() } }
}

fn approves(case: &Case, by: &str, lent: Vec<Acting>) -> Result<Case, &'static str> {
    let Command::Decide(ballot) = super::script::command(Ask::Vote(vote("nobody", Approve)), case) else {
        unreachable!("a vote is a decision")
    };
    let ballot = Ballot { reviewer: principal(by), lent, ..ballot };
    step(case, Command::Decide(ballot), &Moment::at(second(1)))
        .map(|transition| transition.case)
        .map_err(|refusal| refusal.code())
}

#[test]
fn a_delegate_has_the_role_for_this_decision_and_the_record_says_whose() {
    let case = held(verdict(Tier::Approve, 1, &["finance"]));
    assert_eq!(approves(&case, "dan", Vec::new()).unwrap_err(), "missing_role");
    let approved = approves(&case, "dan", vec![lent("finance", "bob"), lent("lead", "ann")]).unwrap();
    assert_eq!(approved.status(), Status::Authorised);
    assert_eq!(approved.reviews[0].acting, [lent("finance", "bob")], "only what counted");
    assert_eq!(approved.reviews[0].roles, [""; 0]);
}

#[test]
fn a_lent_role_is_one_persons_role_all_the_same() {
    let two = || held(verdict(Tier::Escalate, 2, &["finance", "finance"]));
    let dan = approves(&two(), "dan", vec![lent("finance", "bob")]).unwrap();
    assert_eq!(approves(&dan, "bob", Vec::new()).unwrap_err(), "missing_role", "the lender again");
    assert_eq!(
        approves(&dan, "eve", vec![lent("finance", "bob")]).unwrap_err(),
        "missing_role",
        "lent twice"
    );
    assert_eq!(approves(&dan, "dan", Vec::new()).unwrap_err(), "already_voted");
    assert_eq!(approves(&dan, "eve", vec![lent("finance", "cho")]).unwrap().status(), Status::Authorised);
    let bob = approves(&two(), "bob", Vec::new()).unwrap();
    assert_eq!(approves(&bob, "dan", vec![lent("finance", "bob")]).unwrap_err(), "missing_role");
    // Where one place is anyone's, lender and delegate are two people, one of whom is of finance.
    let any = held(verdict(Tier::Escalate, 2, &["finance"]));
    let dan = approves(&any, "dan", vec![lent("finance", "bob")]).unwrap();
    assert_eq!(approves(&dan, "bob", Vec::new()).unwrap().status(), Status::Authorised);
}

#[test]
fn nobody_has_another_approve_for_them_what_they_may_not() {
    let case = held(verdict(Tier::Approve, 1, &["finance"]));
    assert_eq!(approves(&case, "dan", vec![lent("finance", "olga")]).unwrap_err(), "missing_role");
    assert_eq!(approves(&case, "dan", vec![lent("finance", "riley")]).unwrap_err(), "missing_role");
    assert_eq!(approves(&case, "dan", vec![lent("finance", "dan")]).unwrap_err(), "missing_role");
    assert_eq!(approves(&case, "olga", vec![lent("finance", "bob")]).unwrap_err(), "self_approval");
    // A role that was lent does not let its holder step in for another.
    let mut handed = held(chained());
    for at in [10, 20] {
        handed = step(&handed, Command::PassTime, &Moment::at(second(at))).unwrap().case;
    }
    assert_eq!(approves(&handed, "dan", vec![lent("finance", "bob")]).unwrap_err(), "missing_role");
}

#[test]
fn the_solo_operator_approves_their_own_on_the_record_and_never_counts_as_two() {
    let alone = Moment { solo_operator: Some("olga"), ..Moment::at(second(1)) };
    let decide = |case: &Case, by: &'static str, moment: &Moment<'_>| {
        step(case, super::script::command(says(by, Approve), case), moment)
    };
    let one = held(verdict(Tier::Approve, 1, &[]));
    assert_eq!(decide(&one, "olga", &Moment::at(second(1))).unwrap_err(), Refusal::SelfApproval);
    let other = Moment { solo_operator: Some("ann"), ..alone };
    assert_eq!(decide(&one, "olga", &other).unwrap_err(), Refusal::SelfApproval);
    let done = decide(&one, "olga", &alone).unwrap();
    assert!(matches!(&done.case.reviews[..], [Review { solo_operator: true, .. }]));
    assert!(matches!(done.event.fact, Fact::Decided { solo_operator: true, .. }));
    let by_ann = decide(&one, "ann", &alone).unwrap();
    assert!(matches!(by_ann.event.fact, Fact::Decided { solo_operator: false, .. }), "nothing special");
    let two = decide(&held(verdict(Tier::Escalate, 2, &[])), "olga", &alone).unwrap().case;
    assert_eq!(two.status(), Status::Pending);
    assert_eq!(decide(&two, "olga", &alone).unwrap_err().code(), "already_voted");
    assert_eq!(
        decide(&one, "riley", &Moment { solo_operator: Some("riley"), ..alone }).unwrap_err().code(),
        "missing_role"
    );
}

#[test]
fn what_is_only_observed_runs_at_once_but_neither_blocks_nor_freezes_give_way() {
    let freeze = freeze();
    let (free, frozen) = (Moment::at(second(0)), Moment { freeze: Some(&freeze), ..Moment::at(second(0)) });
    for (tier, expected) in [
        (Tier::Auto, Status::Authorised),
        (Tier::Notify, Status::Authorised),
        (Tier::Approve, Status::Authorised),
        (Tier::Escalate, Status::Authorised),
        (Tier::Block, Status::Blocked),
    ] {
        let observed = Verdict { observed: true, ..verdict(tier, 2, &["finance"]) };
        let transition = opened(observed.clone(), None, &free);
        assert_eq!(transition.case.status(), expected, "{tier}");
        let is_observation = matches!(tier, Tier::Approve | Tier::Escalate);
        assert_eq!(transition.case.was_observed(), is_observation, "{tier}");
        assert_eq!(transition.event.action.as_ref().unwrap().tier, tier, "the tier is what it is");
        let authority =
            matches!(transition.case.state, State::Authorised { authority: Authority::Observation, .. });
        assert_eq!(authority, is_observation, "{tier}");
        assert_eq!(opened(observed, None, &frozen).case.status(), Status::Blocked, "{tier} while frozen");
    }
}

/// An approval by someone whom another may be behind.
fn approves_for(
    case: &Case,
    by: &str,
    brought_by: Option<&str>,
    moment: &Moment<'_>,
) -> Result<Case, &'static str> {
    let Command::Decide(ballot) = super::script::command(Ask::Vote(vote("nobody", Approve)), case) else {
        unreachable!("a vote is a decision")
    };
    let ballot = Ballot { reviewer: principal(by), brought_by: brought_by.map(Into::into), ..ballot };
    let done = step(case, Command::Decide(ballot), moment);
    done.map(|transition| transition.case).map_err(|refusal| refusal.code())
}

#[test]
fn those_who_may_be_one_person_are_one_voice() {
    let now = Moment::at(second(1));
    let two = || held(verdict(Tier::Escalate, 2, &[]));
    let voices: [(&str, Option<&str>); 4] =
        [("ada", None), ("bob", Some("ada")), ("cho", Some("ada")), ("ann", Some("ada"))];
    for (first, behind_first) in voices {
        let one = approves_for(&two(), first, behind_first, &now).unwrap();
        for (second, behind_second) in voices.into_iter().filter(|(name, _)| *name != first) {
            let again = approves_for(&one, second, behind_second, &now);
            assert_eq!(again.unwrap_err(), "not_independent", "{first} and {second}");
        }
        for (other, behind) in [("eve", None), ("fay", Some("eve"))] {
            let done = approves_for(&one, other, behind, &now).unwrap();
            assert_eq!(done.status(), Status::Authorised, "{first} and {other}");
        }
    }
}

#[test]
fn nobody_has_another_approve_what_is_their_own() {
    let one = held(verdict(Tier::Approve, 1, &[]));
    let owner = one.owner.clone().unwrap_or_else(|| one.agent.clone());
    let now = Moment::at(second(1));
    assert_eq!(approves_for(&one, "bob", Some(&owner), &now).unwrap_err(), "not_independent");
    assert_eq!(approves_for(&one, "bob", Some("ada"), &now).unwrap().status(), Status::Authorised);
    let alone = Moment { solo_operator: Some(&owner), ..now };
    assert!(approves_for(&one, "bob", Some(&owner), &alone).is_ok(), "who may approve it themselves");
}
