//! The lifecycle, by tables: what is asked at which second, and what comes of it.

mod people;
mod script;
mod touch;

use super::*;
use crate::{ActionId, GrantId, Status, Tier, Verdict};
use Decision::{Approve, Deny, Modify, Respond};
use script::{
    Ask, Vote, check, describe, edits, freeze, held, json, opened, principal, says, second, strict,
    submission, verdict, vote,
};

#[test]
fn refusals_come_in_the_order_of_the_contract() {
    let demand = || strict(verdict(Tier::Escalate, 2, &["lead", "finance"]));
    // Everything is wrong with the first ballot; each next one puts one thing right.
    let mut ballot = Vote { version: Some(7), other_digest: true, remember: true, ..vote("olga", Approve) };
    let mut steps = vec![(0, Ask::Freeze, "")];
    let mut put_right = |at, change: fn(&mut Vote), expected| {
        change(&mut ballot);
        steps.push((at, Ask::Vote(ballot.clone()), expected));
    };
    put_right(60, |_| (), "stale_version");
    put_right(60, |ballot| ballot.version = None, "digest_mismatch");
    put_right(60, |ballot| ballot.other_digest = false, "expired");
    put_right(59, |_| (), "self_approval");
    put_right(59, |ballot| ballot.by = "dan", "reason_required");
    put_right(59, |ballot| ballot.reason = Some("checked"), "frozen");
    steps.push((59, Ask::Thaw, ""));
    let mut put_right = |at, change: fn(&mut Vote), expected| {
        change(&mut ballot);
        steps.push((at, Ask::Vote(ballot.clone()), expected));
    };
    put_right(59, |_| (), "missing_role");
    put_right(59, |ballot| ballot.by = "ann", "remember_not_allowed");
    put_right(59, |ballot| ballot.remember = false, "pending v1 until 60");
    put_right(59, |_| (), "already_voted");
    check(held(demand()), steps);
}

#[test]
fn what_is_decided_is_refused_before_it_matters_who_asks() {
    let stale = Ask::Vote(Vote { version: Some(2), ..vote("olga", Approve) });
    let other = Ask::Vote(Vote { other_digest: true, ..vote("olga", Approve) });
    for (ending, expected, refusal) in [
        (says("ann", Deny), "denied v1", "already_decided"),
        (says("ann", Approve), "authorised v1 until 31", "already_decided"),
        (Ask::Cancel, "cancelled v1", "already_decided"),
    ] {
        let steps = [
            (1, ending, expected),
            (99, Ask::Freeze, ""),
            (99, stale.clone(), "stale_version"),
            (99, other.clone(), "digest_mismatch"),
            (99, says("olga", Approve), refusal),
            (99, says("riley", Approve), refusal),
        ];
        check(held(verdict(Tier::Approve, 1, &[])), steps);
    }
    let expired = [(60, Ask::PassTime, "expired v1"), (61, says("olga", Approve), "expired")];
    check(held(verdict(Tier::Approve, 1, &[])), expired);
}

#[test]
fn who_may_decide() {
    for (by, decision, expected) in [
        ("ann", Approve, "authorised v1 until 31"),
        ("dan", Approve, "authorised v1 until 31"),
        ("olga", Approve, "self_approval"),
        ("olga", Modify, "self_approval"),
        ("olga", Deny, "denied v1"),
        ("riley", Approve, "missing_role"),
        ("riley", Deny, "missing_role"),
        ("bot", Approve, "missing_role"),
        ("bot", Modify, "missing_role"),
        ("ann", Modify, "wrong_decision"),
    ] {
        check(held(verdict(Tier::Approve, 1, &[])), [(1, says(by, decision), expected)]);
    }
}

#[test]
fn the_deadline_is_the_first_moment_that_is_too_late() {
    let soon = held(verdict(Tier::Approve, 1, &[]));
    check(soon.clone(), [(59, Ask::PassTime, "not_due"), (60, says("ann", Approve), "expired")]);
    check(soon.clone(), [(60, says("ann", Deny), "expired"), (60, Ask::PassTime, "expired v1")]);
    check(soon, [(59, says("ann", Approve), "authorised v1 until 89"), (89, Ask::Claim(None), "lapsed")]);
}

#[test]
fn an_edit_within_the_tier_counts_as_its_authors_approval() {
    let one = || verdict(Tier::Approve, 1, &[]);
    let edited = check(held(one()), [(5, edits("ann", one()), "authorised v2 until 35")]);
    assert_eq!(edited.submission.digest, submission(49, None, one()).digest);
    assert_eq!(edited.reviews.iter().map(|review| review.version).collect::<Vec<_>>(), [2]);

    let two = || verdict(Tier::Escalate, 2, &[]);
    let steps = [
        (5, says("bob", Approve), "pending v1 until 60"),
        (6, edits("ann", two()), "pending v2 until 60, tell held"),
        (7, says("ann", Approve), "already_voted"),
        // Bob's approval was of what is no longer on the table.
        (8, Ask::Claim(None), "not_authorised"),
        (9, says("bob", Approve), "authorised v2 until 39"),
    ];
    check(held(two()), steps);
    // Someone whose approval would not count cannot bring in a new version either.
    let finance = || verdict(Tier::Approve, 1, &["finance"]);
    check(
        held(finance()),
        [
            (5, edits("ann", finance()), "missing_role"),
            (6, edits("bob", finance()), "authorised v2 until 36"),
        ],
    );
}

#[test]
fn an_edit_that_demands_more_is_held_anew() {
    let first = || verdict(Tier::Approve, 2, &[]);
    let raised = || verdict(Tier::Escalate, 2, &[]);
    let steps = [
        (5, says("dan", Approve), "pending v1 until 60"),
        // Were Dan's approval of the first version counted, two people would be enough here.
        (50, edits("ann", raised()), "pending v2 until 110, tell held"),
        (51, Ask::Vote(Vote { version: Some(1), ..vote("bob", Approve) }), "stale_version"),
        // Ann's edit was no approval under demands that she had not seen; now she has.
        (52, says("ann", Approve), "pending v2 until 110"),
        (53, says("ann", Approve), "already_voted"),
        (109, says("dan", Approve), "authorised v2 until 139"),
    ];
    let case = check(held(first()), steps);
    assert_eq!(case.approvals().map(|review| review.by.as_str()).collect::<Vec<_>>(), ["ann", "dan"]);
    // Also where the author alone could meet the new demand.
    let alone = [(50, edits("ann", verdict(Tier::Escalate, 1, &[])), "pending v2 until 110, tell held")];
    check(held(verdict(Tier::Approve, 1, &[])), alone);
    // An author without the role may raise the demand; it waits for those who have it.
    let finance = || verdict(Tier::Escalate, 1, &["finance"]);
    check(
        held(verdict(Tier::Approve, 1, &[])),
        [
            (50, edits("dan", finance()), "pending v2 until 110, tell held"),
            (110, Ask::PassTime, "expired v2"),
        ],
    );
    let blocked = edits("ann", verdict(Tier::Block, 1, &[]));
    let steps = [(5, blocked, "modification_blocked"), (6, says("ann", Approve), "authorised v1 until 36")];
    check(held(verdict(Tier::Approve, 1, &[])), steps);
}

#[test]
fn words_are_demanded_where_they_are_needed() {
    let with = |decision, reason, message| Ask::Vote(Vote { reason, message, ..vote("ann", decision) });
    for (demand, ask, expected) in [
        (verdict(Tier::Approve, 1, &[]), with(Respond, None, None), "message_required"),
        (verdict(Tier::Approve, 1, &[]), with(Respond, Some("too much"), Some(" \n")), "message_required"),
        (verdict(Tier::Approve, 1, &[]), with(Respond, None, Some("refund 49 instead")), "denied v1"),
        (strict(verdict(Tier::Approve, 1, &[])), with(Approve, None, None), "reason_required"),
        (strict(verdict(Tier::Approve, 1, &[])), with(Approve, Some("  "), None), "reason_required"),
        (strict(verdict(Tier::Approve, 1, &[])), with(Deny, None, None), "reason_required"),
        (strict(verdict(Tier::Approve, 1, &[])), with(Respond, None, None), "reason_required"),
        (strict(verdict(Tier::Approve, 1, &[])), with(Respond, Some("too much"), None), "message_required"),
        (strict(verdict(Tier::Approve, 1, &[])), with(Respond, None, Some("refund 49 instead")), "denied v1"),
        (
            strict(verdict(Tier::Approve, 1, &[])),
            with(Approve, Some("checked"), None),
            "authorised v1 until 31",
        ),
        (
            strict(verdict(Tier::Approve, 1, &[])),
            edits("ann", verdict(Tier::Approve, 1, &[])),
            "reason_required",
        ),
    ] {
        check(held(demand), [(1, ask, expected)]);
    }
}

#[test]
fn an_approval_is_remembered_only_where_policy_allows_it() {
    let remember = || Ask::Vote(Vote { remember: true, ..vote("bob", Approve) });
    let allowed = |demand: Verdict| Verdict { allow_remember: true, ..demand };
    for (demand, expected) in [
        (allowed(verdict(Tier::Approve, 1, &[])), "authorised v1 until 31, remember"),
        (verdict(Tier::Approve, 1, &[]), "remember_not_allowed"),
        (allowed(verdict(Tier::Approve, 1, &["finance"])), "remember_not_allowed"),
        (allowed(verdict(Tier::Approve, 2, &[])), "remember_not_allowed"),
        (allowed(verdict(Tier::Escalate, 1, &[])), "remember_not_allowed"),
    ] {
        check(held(demand), [(1, remember(), expected)]);
    }
}

#[test]
fn preconditions_are_rechecked_at_the_claim() {
    let relied_on = r#"{"order.version":4,"stock":{"red":3}}"#;
    for (relied_on, seen, expected) in [
        (None, None, "executing v1 until 11"),
        (None, Some("{}"), "executing v1 until 11"),
        // What nobody declared nobody checks, and the executor would think otherwise.
        (None, Some(r#"{"anything":1}"#), "precondition_failed"),
        (Some(relied_on), Some(r#"{"stock":{"red":3.0},"order.version":4e0}"#), "executing v1 until 11"),
        (Some(relied_on), Some(r#"{"order.version":4,"stock":{"red":3},"more":1}"#), "precondition_failed"),
        (Some(relied_on), Some(r#"{"order.version":5,"stock":{"red":3}}"#), "precondition_failed"),
        (Some(relied_on), Some(r#"{"order.version":4,"stock":{"red":3,"blue":1}}"#), "precondition_failed"),
        (Some(relied_on), Some(r#"{"order.version":4}"#), "precondition_failed"),
        (Some(relied_on), Some("[]"), "precondition_failed"),
        (Some(relied_on), None, "precondition_failed"),
        (Some("{}"), None, "executing v1 until 11"),
        (Some("{}"), Some(r#"{"stock":1}"#), "precondition_failed"),
        // Never read from a request like this; if it is there all the same, nothing can be rechecked.
        (Some("[4]"), Some("[4]"), "precondition_failed"),
    ] {
        let case = opened(verdict(Tier::Auto, 1, &[]), relied_on, &Moment::at(second(0))).case;
        check(case, [(1, Ask::Claim(seen), expected)]);
    }
    let case = opened(verdict(Tier::Auto, 1, &[]), Some(relied_on), &Moment::at(second(0))).case;
    let request =
        ClaimRequest { digest: case.submission.digest, preconditions: Some(json(r#"{"stock":{"red":3}}"#)) };
    let refusal = step(&case, Command::Claim(request), &Moment::at(second(1))).unwrap_err();
    assert_eq!(refusal, Refusal::PreconditionFailed { names: vec!["order.version".into()] });
}

#[test]
fn one_claim_and_one_outcome() {
    let approved =
        || check(held(verdict(Tier::Approve, 1, &[])), [(0, says("ann", Approve), "authorised v1 until 30")]);
    let in_time = [
        (1, Ask::ClaimOther, "digest_mismatch"),
        (1, Ask::Report, "not_claimed"),
        (1, Ask::Claim(None), "executing v1 until 11"),
        (1, Ask::Claim(None), "already_claimed"),
        (2, Ask::Cancel, "already_claimed"),
        (10, Ask::PassTime, "not_due"),
        (10, Ask::Report, "succeeded v1"),
        (11, Ask::Report, "already_recorded"),
        (11, Ask::Claim(None), "already_claimed"),
    ];
    check(approved(), in_time);
    let after_the_lease =
        [(1, Ask::Claim(None), "executing v1 until 11"), (11, Ask::Report, "succeeded v1, late")];
    check(approved(), after_the_lease);
    let after_unknown = [
        (1, Ask::Claim(None), "executing v1 until 11"),
        (11, Ask::PassTime, "unknown v1, tell outcome_unknown"),
        (12, Ask::PassTime, "not_due"),
        (12, Ask::Claim(None), "already_claimed"),
        (13, Ask::Report, "succeeded v1, late"),
        (14, Ask::Report, "already_recorded"),
    ];
    check(approved(), after_unknown);
    check(
        approved(),
        [(30, Ask::Cancel, "lapsed"), (30, Ask::PassTime, "lapsed v1"), (31, Ask::Claim(None), "lapsed")],
    );
    check(
        approved(),
        [
            (1, Ask::Cancel, "revoked v1"),
            (2, Ask::Claim(None), "not_authorised"),
            (2, says("ann", Approve), "already_decided"),
        ],
    );
}

#[test]
fn a_freeze_stops_what_would_let_through_and_nothing_else() {
    let one = || verdict(Tier::Approve, 1, &[]);
    let authorised = || check(held(one()), [(0, says("ann", Approve), "authorised v1 until 30")]);
    let executing = || check(authorised(), [(1, Ask::Claim(None), "executing v1 until 11")]);
    let respond = || Ask::Vote(Vote { message: Some("later"), ..vote("ann", Respond) });
    for (case, at, ask, expected) in [
        (held(one()), 2, says("ann", Approve), "frozen"),
        (held(one()), 2, edits("ann", one()), "frozen"),
        (held(one()), 2, says("ann", Deny), "denied v1"),
        (held(one()), 2, respond(), "denied v1"),
        (held(one()), 2, Ask::Cancel, "cancelled v1"),
        (held(one()), 60, Ask::PassTime, "expired v1"),
        (authorised(), 2, Ask::Claim(None), "frozen"),
        (authorised(), 2, Ask::Cancel, "revoked v1"),
        (authorised(), 30, Ask::PassTime, "lapsed v1"),
        (executing(), 2, Ask::Report, "succeeded v1"),
        (executing(), 11, Ask::PassTime, "unknown v1, tell outcome_unknown"),
    ] {
        check(case, [(0, Ask::Freeze, ""), (at, ask, expected)]);
    }
}

#[test]
fn how_a_life_begins() {
    let freeze = freeze();
    let frozen = Moment { freeze: Some(&freeze), ..Moment::at(second(0)) };
    let free = Moment::at(second(0));
    for (tier, expected) in [
        (Tier::Auto, "authorised v1 until 30"),
        (Tier::Notify, "authorised v1 until 30, tell let_through"),
        (Tier::Approve, "pending v1 until 60, tell held"),
        (Tier::Escalate, "pending v1 until 60, tell held"),
        (Tier::Block, "blocked v1"),
    ] {
        let transition = opened(verdict(tier, 1, &[]), None, &free);
        assert_eq!(describe(&transition), expected, "{tier}");
        let transition = opened(verdict(tier, 1, &[]), None, &frozen);
        assert_eq!(transition.case.status(), Status::Blocked, "{tier} while frozen");
    }
    let granted = |tier| {
        let submission = submission(899, None, verdict(tier, 1, &[]));
        let grant = Some(GrantId::from_parts(0, 1));
        let opening = Opening {
            id: ActionId::from_parts(0, 1),
            agent: principal("riley"),
            batch: None,
            submission,
            grant,
        };
        describe(&open(opening, &free))
    };
    assert_eq!(granted(Tier::Approve), "authorised v1 until 30, tell let_through");
    assert_eq!(granted(Tier::Block), "blocked v1", "no grant lifts a block");
    let preset = |tier| {
        let demand = Verdict { approved_by_preset: Some("auto_approve".into()), ..verdict(tier, 1, &[]) };
        (describe(&opened(demand.clone(), None, &free)), opened(demand, None, &frozen).case.status())
    };
    let through = ("authorised v1 until 30, tell let_through".to_owned(), Status::Blocked);
    assert_eq!(preset(Tier::Approve), through);
    assert_eq!(preset(Tier::Escalate), through);
    assert_eq!(preset(Tier::Block).0, "blocked v1", "no preset lifts a block");
    let blocked = opened(verdict(Tier::Block, 1, &[]), None, &free).case;
    for ask in
        [says("ann", Approve), says("ann", Deny), edits("ann", verdict(Tier::Auto, 1, &[])), Ask::Cancel]
    {
        check(blocked.clone(), [(1, ask, "already_decided")]);
    }
    check(blocked, [(1, Ask::Claim(None), "not_authorised"), (99, Ask::PassTime, "not_due")]);
}
