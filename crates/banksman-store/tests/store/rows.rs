//! What the database itself refuses, whatever the code above believes.

use std::error::Error as _;

use banksman_core::Decision;
use banksman_store::Store as _;
use banksman_store::conformance::Database;

use crate::script::{deciding, log_is_whole, node, opening, proposed};

fn refusal(database: &Database, sql: &str) -> String {
    let error = database.execute(sql).expect_err(sql);
    error.source().map(ToString::to_string).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_action_that_does_not_fit_together_is_refused() {
    let database = Database::fresh();
    let store = node(&database).await;
    store.commit(opening(proposed(1))).await.expect("a proposal");
    // One column, or several together.
    let unfit = [
        "revision = version - 1",
        "wake_at = NULL",
        "status = 'denied'",
        "status = 'denied', join_key = NULL",
        "status = 'denied', wake_at = NULL",
        "claimed_at = 1",
        "status = 'executing', join_key = NULL",
        "status = 'succeeded', join_key = NULL, wake_at = NULL",
        "tier = 'auto'",
        "tier = 'block'",
        "version = 0",
        "priority = 101",
        "status = 'gone'",
        "digest = 'short'",
    ];
    for change in unfit {
        let said = refusal(&database, &format!("UPDATE actions SET {change}"));
        assert!(said.contains("violates check constraint"), "{change}: {said}");
    }
    // The same where a row is new.
    let copied = "INSERT INTO actions (id, agent, tool, tier, status, digest, version, revision, created_at, wake_at, priority,
                                       reviews, state)
                  SELECT decode(repeat('ab', 16), 'hex'), agent, tool, tier, STATUS, digest, version, revision, created_at,
                         wake_at, priority, reviews, state FROM actions";
    let said = refusal(&database, &copied.replace("STATUS", "'denied'"));
    assert!(said.contains("violates check constraint"), "{said}");
    database.execute(&copied.replace("STATUS", "status")).expect("one that fits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_claim_stays_and_an_action_too() {
    let database = Database::fresh();
    let store = node(&database).await;
    let opened = proposed(1);
    store.commit(opening(opened.clone())).await.expect("a proposal");
    store.commit(deciding(&opened.case, "ann", Decision::Approve)).await.expect("a decision");
    let claimed = "UPDATE actions SET status = 'executing', join_key = NULL, claimed_at = 1";
    database.execute(claimed).expect("a claim");
    for change in [
        "claimed_at = 2",
        "status = 'authorised', claimed_at = NULL",
        "status = 'denied', wake_at = NULL, claimed_at = NULL",
    ] {
        let said = refusal(&database, &format!("UPDATE actions SET {change}"));
        assert!(said.contains("a claim, once taken, is never changed"), "{change}: {said}");
    }
    for removal in ["DELETE FROM actions", "TRUNCATE actions"] {
        let said = refusal(&database, removal);
        assert!(said.contains("actions are never removed"), "{removal}: {said}");
    }
    database.execute("UPDATE actions SET status = 'succeeded', wake_at = NULL").expect("the claim's end");
    assert_eq!(log_is_whole(&*store).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_log_only_grows() {
    let database = Database::fresh();
    let store = node(&database).await;
    store.commit(opening(proposed(1))).await.expect("a proposal");
    for change in ["UPDATE audit SET body = '{}'", "DELETE FROM audit", "TRUNCATE audit"] {
        let said = refusal(&database, change);
        assert!(said.contains("the audit log is append-only"), "{change}: {said}");
    }
    assert_eq!(log_is_whole(&*store).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn there_is_one_head_and_it_has_a_mode() {
    let database = Database::fresh();
    node(&database).await;
    for change in [
        "UPDATE head SET mode = 'anything'",
        "UPDATE head SET last_seq = -1",
        "INSERT INTO head SELECT 2, last_seq, pending, epoch, mode FROM head",
    ] {
        let said = refusal(&database, change);
        assert!(said.contains("violates check constraint"), "{change}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_a_house_in_shadow_has_fallen_back() {
    let database = Database::fresh();
    node(&database).await;
    for change in ["fell_back_from = 'production', mode = 'lab'", "fell_back_from = 'lab', mode = 'shadow'"] {
        let said = refusal(&database, &format!("UPDATE head SET {change}"));
        assert!(said.contains("violates check constraint"), "{change}: {said}");
    }
    database
        .execute("UPDATE head SET fell_back_from = 'production', mode = 'shadow'")
        .expect("one that fell back");
    let said = refusal(&database, "UPDATE head SET mode = 'lab'");
    assert!(said.contains("violates check constraint"), "{said}");
}
