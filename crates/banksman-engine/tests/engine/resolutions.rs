//! What an agent learns on its next turn: what was answered since, and nothing twice.

use banksman_core::{Decision, Outcome, Status};

use crate::world::{HOUR, QUARTER, World, ballot};

#[tokio::test]
async fn an_agent_learns_what_was_answered_since_it_last_asked() {
    let world = World::new().await;
    let none = world.engine.resolutions(&world.riley, 0, 100).await.unwrap();
    assert_eq!((none.cases.len(), none.next_since), (0, 0));

    let (one, two) = (world.held().await, world.held_other().await);
    world.approve(&world.ann, &two).await.unwrap();
    world.decide(&world.ann, &one, Decision::Deny).await.unwrap();
    // Another agent's answers are none of its business.
    let others = world.propose(&world.bo, "refund", "{}").await;
    world.approve(&world.ann, &others).await.unwrap();

    let news = world.engine.resolutions(&world.riley, 0, 100).await.unwrap();
    let shown: Vec<_> = news.cases.iter().map(|case| (case.id, case.status())).collect();
    assert_eq!(shown, [(two.id, Status::Authorised), (one.id, Status::Denied)]);
    let later = world.engine.resolutions(&world.riley, news.next_since, 100).await.unwrap();
    assert_eq!((later.cases.len(), later.next_since), (0, news.next_since));
    world.close().await;
}

#[tokio::test]
async fn what_the_agent_did_itself_is_no_news() {
    let world = World::new().await;
    let withdrawn = world.held().await;
    world.engine.cancel(&world.riley, withdrawn.id, None).await.unwrap();
    let by_policy = world.propose(&world.riley, "read", "{}").await;
    world.claim(&world.riley, &by_policy).await.unwrap();
    let done = Outcome::Succeeded { result: None };
    world.engine.record_outcome(&world.riley, by_policy.id, done).await.unwrap();
    world.propose(&world.riley, "wipe", "{}").await;
    // One vote of two is not an answer yet.
    let half = world.propose(&world.riley, "drop", "{}").await;
    world.approve(&world.ann, &half).await.unwrap();
    assert!(world.engine.resolutions(&world.riley, 0, 100).await.unwrap().cases.is_empty());

    let taken = world.held_other().await;
    world.engine.cancel(&world.cem, taken.id, None).await.unwrap();
    let news = world.engine.resolutions(&world.riley, 0, 100).await.unwrap();
    assert_eq!(news.cases.iter().map(|case| case.id).collect::<Vec<_>>(), [taken.id]);
    world.close().await;
}

#[tokio::test]
async fn each_action_comes_once_as_it_stands_now_also_page_by_page() {
    let world = World::new().await;
    let lapses = world.approved().await;
    let expires = world.held_other().await;
    world.clock.pass(QUARTER);
    world.engine.move_overdue().await.unwrap();
    world.clock.pass(HOUR);
    world.engine.move_overdue().await.unwrap();
    let news = world.engine.resolutions(&world.riley, 0, 100).await.unwrap();
    let shown: Vec<_> = news.cases.iter().map(|case| (case.id, case.status())).collect();
    assert_eq!(shown, [(lapses.id, Status::Lapsed), (expires.id, Status::Expired)]);

    let mut since = 0;
    let mut seen = Vec::new();
    loop {
        let page = world.engine.resolutions(&world.riley, since, 1).await.unwrap();
        if page.next_since == since {
            break;
        }
        since = page.next_since;
        seen.extend(page.cases.iter().map(|case| case.id));
    }
    // Approved, lapsed, expired: three answers, page by page.
    assert_eq!(seen, [lapses.id, lapses.id, expires.id]);
    assert_eq!(since, news.next_since);
    world.close().await;
}

/// What is handed out is not handed out again, so it must not be what this node remembers from before.
#[tokio::test]
async fn an_answer_that_another_node_gave_is_told_as_it_is() {
    let world = World::new().await;
    let held = world.held().await;
    let other = world.restarted().await;
    other.decide(&world.ann, held.id, ballot(&held, Decision::Deny)).await.unwrap();
    let news = world.engine.resolutions(&world.riley, 0, 100).await.unwrap();
    let shown: Vec<_> = news.cases.iter().map(|case| (case.id, case.status())).collect();
    assert_eq!(shown, [(held.id, Status::Denied)]);
    world.close().await;
}
