//! Faults in pairs: a commit that failed and was not stored, and one that failed and was stored all the same.
//!
//! Whoever is told that it failed asks again. After either, there is one effect, and nothing is authorised that was
//! not recorded.

use banksman_core::{Decision, FreezeScope, Mode, Outcome, PrincipalKind, Status};
use banksman_engine::EngineError;
use banksman_store::Store;

use crate::faulty::Fault;
use crate::world::{HOUR, World, body, edit, error, refusal, request};

fn is_lost<T>(result: Result<T, EngineError>) -> bool {
    matches!(error(result), EngineError::Store(_))
}

#[tokio::test]
async fn a_proposal_that_was_sent_again_is_one_question() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        world.store.next([Some(fault)]);
        assert!(is_lost(world.engine.propose(&world.riley, request("refund", "{}")).await));
        let proposed = world.engine.propose(&world.riley, request("refund", "{}")).await.unwrap();
        assert_eq!(proposed.joined, fault == Fault::Stored);
        assert_eq!((world.all_cases().await.len(), world.notices().await.len()), (1, 1), "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn a_call_that_was_sent_again_with_its_key_is_one_call() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let call = || body(r#"{"tool":"read","args":{}}"#, Some("k"));
        world.store.next([Some(fault)]);
        assert!(is_lost(world.engine.propose(&world.riley, call()).await));
        let proposed = world.engine.propose(&world.riley, call()).await.unwrap();
        assert_eq!((proposed.joined, proposed.case.status()), (fault == Fault::Stored, Status::Authorised));
        assert_eq!(world.all_cases().await.len(), 1, "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn a_joining_whose_key_was_not_recorded_can_be_sent_again() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.held().await;
        let call = || body(r#"{"tool":"refund","args":{"amount":5}}"#, Some("k"));
        // The first commit meets the one that waits; the second records the key.
        world.store.next([None, Some(fault)]);
        assert!(is_lost(world.engine.propose(&world.riley, call()).await));
        let proposed = world.engine.propose(&world.riley, call()).await.unwrap();
        assert_eq!((proposed.joined, proposed.case.id), (true, case.id));
        world.decide(&world.ann, &case, Decision::Deny).await.unwrap();
        assert_eq!(world.engine.propose(&world.riley, call()).await.unwrap().case.id, case.id, "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn an_approval_that_failed_authorises_only_what_is_recorded() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.held().await;
        world.store.next([Some(fault)]);
        assert!(is_lost(world.approve(&world.ann, &case).await));
        let stored = fault == Fault::Stored;
        // What is shown is what is stored, not what was hoped for nor what was remembered.
        let seen = world.engine.action(&world.riley, case.id).await.unwrap();
        assert_eq!(seen.status(), if stored { Status::Authorised } else { Status::Pending }, "{fault:?}");
        assert_eq!(world.engine.authorization(&seen).unwrap().is_some(), stored);
        let again = world.approve(&world.ann, &case).await;
        if stored {
            assert_eq!(refusal(again).code(), "already_decided");
        } else {
            assert_eq!(again.unwrap().status(), Status::Authorised);
        }
        assert_eq!(world.story(case.id).await, ["proposed", "decided"]);
        world.claim(&world.riley, &case).await.unwrap();
        world.close().await;
    }
}

#[tokio::test]
async fn a_vote_that_was_cast_again_counts_once() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.propose(&world.riley, "drop", "{}").await;
        world.store.next([Some(fault)]);
        assert!(is_lost(world.approve(&world.ann, &case).await));
        let again = world.approve(&world.ann, &case).await;
        if fault == Fault::Stored {
            assert_eq!(refusal(again).code(), "already_voted");
        } else {
            again.unwrap();
        }
        let stored = world.stored(case.id).await;
        assert_eq!((stored.status(), stored.reviews.len()), (Status::Pending, 1), "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn an_edit_that_was_sent_again_makes_one_version() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.held().await;
        let request = edit(&case, r#"{"amount":4}"#);
        world.store.next([Some(fault)]);
        assert!(is_lost(world.engine.decide(&world.ann, case.id, request.clone()).await));
        let again = world.engine.decide(&world.ann, case.id, request).await;
        if fault == Fault::Stored {
            assert_eq!(refusal(again).code(), "stale_version");
        } else {
            again.unwrap();
        }
        assert_eq!(world.stored(case.id).await.version, 2, "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn a_remembered_approval_and_its_grant_come_together_or_not_at_all() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let call = || body(r#"{"tool":"deploy","args":{},"session":"monday"}"#, None);
        let case = world.engine.propose(&world.riley, call()).await.unwrap().case;
        let mut request = crate::world::ballot(&case, Decision::Approve);
        request.remember = Some(serde_json::from_str("{}").unwrap());
        world.store.next([Some(fault)]);
        assert!(is_lost(world.engine.decide(&world.ann, case.id, request.clone()).await));
        let grants = world.store.control().await.unwrap().grants.len();
        let authorised = world.stored(case.id).await.status() == Status::Authorised;
        assert_eq!((grants, authorised), if fault == Fault::Stored { (1, true) } else { (0, false) });
        drop(world.engine.decide(&world.ann, case.id, request).await);
        assert_eq!(world.store.control().await.unwrap().grants.len(), 1, "{fault:?}");
        world.claim(&world.riley, &case).await.unwrap();
        assert_eq!(
            world.engine.propose(&world.riley, call()).await.unwrap().case.status(),
            Status::Authorised
        );
        world.close().await;
    }
}

#[tokio::test]
async fn a_claim_that_failed_lets_nothing_run_twice() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.approved().await;
        world.store.next([Some(fault)]);
        assert!(is_lost(world.claim(&world.riley, &case).await), "no token may come of it");
        let again = world.claim(&world.riley, &case).await;
        match fault {
            Fault::NotStored => assert_eq!(again.unwrap().case.status(), Status::Executing),
            // Whether it ran is for people to find out: the lease ends without an outcome.
            Fault::Stored => {
                assert_eq!(refusal(again).code(), "already_claimed");
                world.clock.pass(HOUR);
                world.engine.move_overdue().await.unwrap();
                assert_eq!(world.stored(case.id).await.status(), Status::Unknown);
            }
        }
        let claims = world.story(case.id).await.iter().filter(|kind| *kind == "claimed").count();
        assert_eq!(claims, 1, "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn an_outcome_that_was_sent_again_is_recorded_once() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.approved().await;
        world.claim(&world.riley, &case).await.unwrap();
        let done = || Outcome::Succeeded { result: Some(crate::world::json("[1]")) };
        world.store.next([Some(fault)]);
        assert!(is_lost(world.engine.record_outcome(&world.riley, case.id, done()).await));
        let recorded = world.engine.record_outcome(&world.riley, case.id, done()).await.unwrap();
        assert_eq!(recorded.status(), Status::Succeeded, "{fault:?}");
        assert_eq!(world.story(case.id).await.len(), 4);
        world.close().await;
    }
}

#[tokio::test]
async fn a_cancellation_that_was_sent_again_happens_once() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.approved().await;
        world.store.next([Some(fault)]);
        assert!(is_lost(world.engine.cancel(&world.ann, case.id, None).await));
        drop(world.engine.cancel(&world.ann, case.id, None).await);
        assert_eq!(world.stored(case.id).await.status(), Status::Revoked);
        assert_eq!(refusal(world.claim(&world.riley, &case).await).code(), "not_authorised");
        assert_eq!(world.story(case.id).await, ["proposed", "decided", "revoked"], "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn what_time_could_not_move_is_moved_next_time() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.held().await;
        world.clock.pass(HOUR);
        world.store.next([Some(fault)]);
        assert!(is_lost(world.engine.move_overdue().await));
        world.engine.move_overdue().await.unwrap();
        assert_eq!(world.story(case.id).await, ["proposed", "expired"], "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn a_batch_that_failed_is_there_whole_or_not_at_all() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let actions =
            || ["1", "2", "3"].map(|n| request("refund", &format!(r#"{{"n":{n}}}"#)).action).to_vec();
        world.store.next([Some(fault)]);
        assert!(is_lost(
            world.engine.propose_batch(&world.riley, banksman_engine::BatchRequest::of(actions())).await
        ));
        let again =
            world.engine.propose_batch(&world.riley, banksman_engine::BatchRequest::of(actions())).await;
        assert_eq!(again.unwrap().joined, fault == Fault::Stored);
        assert_eq!(world.all_cases().await.len(), 3, "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn one_item_of_a_batch_that_cannot_be_recorded_is_not_decided() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let actions = ["1", "2", "3"].map(|n| request("refund", &format!(r#"{{"n":{n}}}"#)).action);
        let batch = world
            .engine
            .propose_batch(&world.riley, banksman_engine::BatchRequest::of(actions.to_vec()))
            .await
            .unwrap();
        let digest =
            banksman_core::batch_digest(batch.cases.iter().map(|case| (&case.id, &case.submission.digest)));
        let decisions = batch.cases.iter().map(|case| banksman_core::wire::ItemDecision {
            id: case.id,
            decision: Decision::Approve,
            reason: None,
            message: None,
        });
        let request = banksman_core::wire::BatchDecisionRequest { digest, decisions: decisions.collect() };
        world.store.next([None, Some(fault), None]);
        let answers = world.engine.decide_batch(&world.ann, batch.record.id, request).await.unwrap();
        assert_eq!(answers.iter().filter(|item| item.answer.is_ok()).count(), 2);
        for item in &answers {
            let authorised = world.stored(item.id).await.status() == Status::Authorised;
            assert_eq!(authorised, item.answer.is_ok() || fault == Fault::Stored, "{fault:?}");
        }
        world.close().await;
    }
}

#[tokio::test]
async fn house_rules_that_failed_hold_only_if_they_were_stored() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let stored = fault == Fault::Stored;
        world.store.next([Some(fault)]);
        assert!(is_lost(world.engine.change_mode(&world.ada, Mode::Shadow, None).await));
        let expected = if stored { Mode::Shadow } else { Mode::Production };
        assert_eq!(world.engine.house_rules().await.unwrap().mode, expected);

        world.store.next([Some(fault)]);
        assert!(is_lost(world.engine.freeze(&world.ada, FreezeScope::Everything, "drill".into()).await));
        let opened = world.propose(&world.riley, "read", "{}").await.status();
        assert_eq!(opened, if stored { Status::Blocked } else { Status::Authorised }, "{fault:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn a_revocation_that_failed_can_be_sent_again_and_holds_then() {
    for fault in Fault::PAIR {
        let world = World::new().await;
        let case = world.held().await;
        let issued = world.issue(PrincipalKind::Reviewer, "dora").await;
        let dora = world.engine.authenticate(&issued.secret).await.unwrap();
        world.store.next([Some(fault)]);
        let by = banksman_core::Actor::Operator;
        assert!(is_lost(world.engine.revoke_token(issued.id, by.clone()).await));
        world.engine.revoke_token(issued.id, by).await.unwrap();
        let refused = error(world.approve(&dora, &case).await);
        assert!(matches!(refused, EngineError::Unauthenticated), "{fault:?}: {refused:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn after_two_faults_in_a_row_there_is_still_one_effect() {
    for first in Fault::PAIR {
        for second in Fault::PAIR {
            let world = World::new().await;
            let case = world.held().await;
            world.store.next([Some(first), Some(second)]);
            assert!(is_lost(world.approve(&world.ann, &case).await));
            drop(world.approve(&world.ann, &case).await);
            drop(world.approve(&world.ann, &case).await);
            // A conflict takes the second fault's place in one of the four; use it up.
            drop(world.engine.cancel(&world.ann, case.id, None).await);
            drop(world.engine.cancel(&world.ann, case.id, None).await);
            assert_eq!(
                world.story(case.id).await,
                ["proposed", "decided", "revoked"],
                "{first:?} {second:?}"
            );
            world.close().await;
        }
    }
}
