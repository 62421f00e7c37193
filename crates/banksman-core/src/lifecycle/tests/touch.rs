//! Decisions that need the touch of a passkey.

use super::script::{Ask, check, command, edits, held, principal, says, second, submission, verdict, vote};
use super::*;
use crate::{Assertion, Signed, Status, StepUp, Tier, Verdict};
use Decision::{Approve, Deny, Modify};

fn demanding() -> Verdict {
    Verdict { require_passkey: true, ..verdict(Tier::Approve, 1, &[]) }
}

/// What a passkey signed that was asked about this.
fn signed(about: Signed<'_>) -> StepUp {
    let assertion = Assertion {
        passkey: "key".into(),
        nonce: "nonce".into(),
        authenticator_data: String::new(),
        client_data: String::new(),
        signature: String::new(),
    };
    StepUp { challenge: about.challenge("nonce"), assertion }
}

fn about<'a>(case: &Case, by: &'a str) -> Signed<'a> {
    Signed { action: case.id, digest: case.submission.digest, version: case.version, decision: Approve, by }
}

fn approves(case: &Case, by: &str, step_up: StepUp) -> Result<Transition, &'static str> {
    let Command::Decide(ballot) = command(Ask::Vote(vote("dan", Approve)), case) else {
        unreachable!("a vote is a decision")
    };
    let ballot = Ballot { reviewer: principal(by), step_up: Some(step_up), ..ballot };
    step(case, Command::Decide(ballot), &Moment::at(second(1))).map_err(|refusal| refusal.code())
}

#[test]
fn without_a_touch_nobody_approves_and_anybody_denies() {
    check(
        held(demanding()),
        [(1, says("ann", Approve), "step_up_required"), (1, says("ann", Deny), "denied v1")],
    );
    // Who may not decide at all is told that first.
    let roles = Verdict { require_passkey: true, ..verdict(Tier::Approve, 1, &["finance"]) };
    check(
        held(roles),
        [(1, says("ann", Approve), "missing_role"), (1, says("bob", Approve), "step_up_required")],
    );
}

#[test]
fn a_touch_counts_for_exactly_what_it_signed() {
    let case = held(demanding());
    let right = about(&case, "ann");
    for wrong in [
        Signed { action: ActionId::from_parts(9, 9), ..right },
        Signed { digest: Digest::of(b"something else"), ..right },
        Signed { version: right.version + 1, ..right },
        Signed { decision: Modify, ..right },
        Signed { decision: Deny, ..right },
        Signed { by: "bob", ..right },
    ] {
        assert_eq!(approves(&case, "ann", signed(wrong)).unwrap_err(), "step_up_mismatch", "{wrong:?}");
    }
    assert_eq!(approves(&case, "bob", signed(right)).unwrap_err(), "step_up_mismatch", "another's touch");
    let done = approves(&case, "ann", signed(right)).unwrap();
    assert_eq!(done.case.status(), Status::Authorised);
    let Fact::Decided { step_up: Some(assertion), .. } = done.event.fact else { panic!("not on record") };
    assert_eq!(assertion, signed(right).assertion);
    // The same again is no second decision.
    assert_eq!(approves(&done.case, "ann", signed(right)).unwrap_err(), "already_decided");
}

#[test]
fn where_no_touch_is_asked_none_is_recorded() {
    let case = held(verdict(Tier::Approve, 1, &[]));
    let done = approves(&case, "ann", signed(about(&case, "ann"))).unwrap();
    assert!(matches!(done.event.fact, Fact::Decided { step_up: None, .. }));
}

#[test]
fn an_edit_is_signed_as_what_it_makes() {
    let case = held(demanding());
    let edited = submission(49, None, demanding());
    let edit = |about: Signed<'_>| {
        let Command::Edit(Edit { ballot, .. }) = command(edits("ann", demanding()), &case) else {
            unreachable!("an edit is an edit")
        };
        let ballot = Ballot { step_up: Some(signed(about)), ..ballot };
        let edit = Edit { ballot, submission: Arc::clone(&edited) };
        step(&case, Command::Edit(edit), &Moment::at(second(1))).map_err(|refusal| refusal.code())
    };
    let before = Signed { decision: Modify, ..about(&case, "ann") };
    assert_eq!(edit(before).unwrap_err(), "step_up_mismatch", "what was there before the edit");
    let after = Signed { digest: edited.digest, version: 2, ..before };
    let done = edit(after).unwrap();
    assert_eq!((done.case.status(), done.case.version), (Status::Authorised, 2));
    assert!(matches!(done.event.fact, Fact::Modified { step_up: Some(_), .. }));
}

#[test]
fn an_edit_into_what_needs_a_touch_waits_for_it() {
    check(
        held(verdict(Tier::Approve, 1, &[])),
        [
            (1, edits("ann", demanding()), "pending v2 until 61, tell held"),
            (2, says("ann", Approve), "step_up_required"),
        ],
    );
    check(held(demanding()), [(1, edits("ann", demanding()), "step_up_required")]);
}

#[test]
fn a_touch_is_never_remembered() {
    let allowed = Verdict { allow_remember: true, ..demanding() };
    assert!(!crate::grant::can_be_remembered(&allowed));
}
