//! What time does: holds expire, authorisations lapse, leases end, each at its moment.

use std::time::Duration;

use banksman_core::{Outcome, Refusal, State, Status};

use crate::world::{HOUR, INSTANT, LEASE, QUARTER, World, error, refusal};

#[tokio::test]
async fn a_hold_can_be_decided_until_its_last_instant() {
    let world = World::new().await;
    let (early, late) = (world.held().await, world.held_other().await);
    let deadline = late.state.wakes_at().unwrap();
    world.clock.pass(HOUR - INSTANT);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 0);
    world.approve(&world.ann, &early).await.unwrap();
    world.clock.pass(INSTANT);
    // Too late, whether the timekeeper has come by or not.
    assert_eq!(refusal(world.approve(&world.ann, &late).await), Refusal::Expired { at: deadline });
    assert_eq!(refusal(world.engine.cancel(&world.riley, late.id, None).await).code(), "expired");
    assert_eq!(world.engine.move_overdue().await.unwrap(), 1);
    assert_eq!(world.stored(late.id).await.status(), Status::Expired);
    assert_eq!(refusal(world.approve(&world.ann, &late).await).code(), "expired");
    assert_eq!(world.story(late.id).await, ["proposed", "expired"]);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 0);
    world.close().await;
}

#[tokio::test]
async fn nobody_is_told_for_good_that_it_is_too_late_by_a_clock_that_is_off() {
    let world = World::new().await;
    let (held, approved) = (world.held_other().await, world.approved().await);
    world.clock.pass(HOUR);
    world.store.take_the_clock_for_wrong();
    for said in [
        error(world.approve(&world.ann, &held).await).to_string(),
        error(world.claim(&world.riley, &approved).await).to_string(),
    ] {
        assert!(said.contains("clock is off"), "{said}");
    }
    world.close().await;
}

#[tokio::test]
async fn an_authorisation_can_be_claimed_until_its_last_instant() {
    let world = World::new().await;
    let by_people = world.approved().await;
    let by_policy = world.propose(&world.riley, "read", "{}").await;
    let in_time = world.propose(&world.riley, "read", "{}").await;
    world.clock.pass(QUARTER - INSTANT);
    world.claim(&world.riley, &in_time).await.unwrap();
    world.clock.pass(INSTANT);
    for case in [&by_people, &by_policy] {
        let lapsed = Refusal::Lapsed { at: case.state.wakes_at().unwrap() };
        assert_eq!(refusal(world.claim(&world.riley, case).await), lapsed);
        assert_eq!(refusal(world.engine.cancel(&world.ann, case.id, None).await), lapsed);
    }
    assert_eq!(world.engine.move_overdue().await.unwrap(), 2);
    for case in [&by_people, &by_policy] {
        assert_eq!(world.stored(case.id).await.status(), Status::Lapsed);
        assert_eq!(refusal(world.claim(&world.riley, case).await).code(), "lapsed");
    }
    world.close().await;
}

#[tokio::test]
async fn a_lease_that_ends_without_an_outcome_leaves_an_unknown_one() {
    let world = World::new().await;
    let case = world.approved().await;
    world.claim(&world.riley, &case).await.unwrap();
    world.clock.pass(LEASE - INSTANT);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 0);
    world.clock.pass(INSTANT);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 1);
    assert_eq!(world.stored(case.id).await.status(), Status::Unknown);
    assert_eq!(world.notices().await, ["held", "outcome_unknown"]);
    // Nothing retries it, and nobody can claim it again.
    assert_eq!(refusal(world.claim(&world.riley, &case).await).code(), "already_claimed");
    world.close().await;
}

#[tokio::test]
async fn a_late_outcome_is_still_the_truth() {
    let world = World::new().await;
    let forgotten = world.approved().await;
    world.claim(&world.riley, &forgotten).await.unwrap();
    let overdue = world.held_other().await;
    let overdue = world.approve(&world.ann, &overdue).await.unwrap();
    world.clock.pass(Duration::from_secs(60));
    world.claim(&world.riley, &overdue).await.unwrap();
    world.clock.pass(LEASE - Duration::from_secs(60));
    assert_eq!(world.engine.move_overdue().await.unwrap(), 1);
    world.clock.pass(Duration::from_secs(60));
    // One is unknown already; of the other the lease has ended and nobody has noticed yet.
    for case in [&forgotten, &overdue] {
        let failed = Outcome::Failed { error: Some("late".into()), result: None };
        let done = world.engine.record_outcome(&world.riley, case.id, failed).await.unwrap();
        assert!(matches!(&done.state, State::Failed { .. }));
    }
    assert_eq!(world.story(forgotten.id).await.len(), 5);
    assert_eq!(world.story(overdue.id).await.len(), 4);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 0);
    world.close().await;
}

#[tokio::test]
async fn more_than_can_be_moved_at_a_time_is_moved_all_the_same() {
    let world = World::new().await;
    let proposals = (0..600).map(|amount| {
        let args = format!(r#"{{"amount":{amount}}}"#);
        let world = &world;
        async move { world.propose(&world.bo, "refund", &args).await }
    });
    futures_util::future::join_all(proposals).await;
    world.clock.pass(HOUR);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 600);
    assert_eq!(world.engine.pending_count().await.unwrap(), 0);
    world.close().await;
}

#[tokio::test]
async fn after_a_restart_time_goes_on() {
    let world = World::new().await;
    let case = world.held().await;
    world.clock.pass(HOUR);
    let restarted = world.restarted().await;
    assert_eq!(restarted.move_overdue().await.unwrap(), 1);
    // The first engine remembers it as pending, and asks before it says so to someone who decides.
    assert_eq!(refusal(world.approve(&world.ann, &case).await).code(), "expired");
    world.close().await;
}

#[tokio::test]
async fn a_clock_that_is_set_back_reopens_nothing() {
    let world = World::new().await;
    let expired = world.held().await;
    let approved = world.held_other().await;
    let claimed = world.propose(&world.riley, "read", "{}").await;
    let approved = world.approve(&world.ann, &approved).await.unwrap();
    world.claim(&world.riley, &claimed).await.unwrap();
    world.clock.pass(HOUR);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 3);
    world.clock.set_back(HOUR);
    // By the clock all of them would still have time. What was recorded counts.
    assert_eq!(refusal(world.approve(&world.ann, &expired).await).code(), "expired");
    assert_eq!(refusal(world.claim(&world.riley, &approved).await).code(), "lapsed");
    assert_eq!(refusal(world.claim(&world.riley, &claimed).await).code(), "already_claimed");
    assert_eq!(world.stored(claimed.id).await.status(), Status::Unknown);
    assert_eq!(world.engine.move_overdue().await.unwrap(), 0);
    world.close().await;
}

#[tokio::test]
async fn a_clock_that_jumps_ahead_ends_what_it_must_and_lets_nothing_through() {
    let world = World::new().await;
    let held = world.held_other().await;
    let approved = world.approved().await;
    world.clock.pass(HOUR * 24 * 365);
    // Before anyone has kept time.
    assert_eq!(refusal(world.approve(&world.ann, &held).await).code(), "expired");
    assert_eq!(refusal(world.claim(&world.riley, &approved).await).code(), "lapsed");
    world.engine.move_overdue().await.unwrap();
    world.clock.set_back(HOUR * 24 * 365);
    assert_eq!(refusal(world.claim(&world.riley, &approved).await).code(), "lapsed");
    // What is proposed now has the time that it should.
    let fresh = world.propose(&world.riley, "refund", r#"{"amount":77}"#).await;
    world.approve(&world.ann, &fresh).await.unwrap();
    world.close().await;
}
