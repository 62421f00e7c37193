//! Windows: what was let through before counts, however many ask at once.

use std::sync::Arc;

use banksman_core::{Decision, Outcome, Status, Tier};
use banksman_engine::Engine;
use banksman_policy::Policy;

use crate::world::{HOUR, World, ballot, edit, request};

/// Refunds run at once until a customer has had 100 in an hour, and not at all beyond 600; five customers a day are enough; an agent that failed
/// twice is watched; and nobody spends more than a dollar.
const POLICY: &str = "
version: 1
windows:
  refunded: {match: {tool: refund}, sum: args.amount, per: args.customer, over: 1h}
  customers: {match: {tool: refund}, distinct: args.customer, over: 1d}
  failures: {count: failures, per: agent, over: 10m}
budgets:
  dollar: {match: {tool: search}, cost_usd: 1, over: 1d, per: agent, at_limit: block}
tools:
  refund: {tier: auto}
  read: {tier: auto}
  search: {tier: auto}
rules:
  - {id: enough, match: {tool: refund, window: {refunded: {gt: 100}}}, tier: approve}
  - {id: never, match: {tool: refund, window: {refunded: {gt: 600}}}, tier: block}
  - {id: everyone, match: {tool: refund, window: {customers: {gt: 5}}}, tier: escalate}
  - {id: clumsy, match: {tool: read}, when: 'facts.windows.failures >= 2.0', tier: approve}
";

fn policy() -> Policy {
    Policy::parse("policy.yaml", POLICY).unwrap()
}

async fn world() -> World {
    World::with_judge(policy()).await
}

fn refund(customer: u32, amount: f64, note: u32) -> String {
    format!(r#"{{"amount":{amount},"customer":{customer},"note":{note}}}"#)
}

async fn tier(world: &World, tool: &str, args: &str) -> Tier {
    world.propose(&world.bo, tool, args).await.submission.verdict.tier
}

#[tokio::test]
async fn the_third_refund_of_49_is_held() {
    let world = world().await;
    for (note, tier_of_it) in [(1, Tier::Auto), (2, Tier::Auto), (3, Tier::Approve)] {
        assert_eq!(tier(&world, "refund", &refund(1, 49.0, note)).await, tier_of_it, "refund {note}");
    }
    assert_eq!(tier(&world, "refund", &refund(2, 49.0, 4)).await, Tier::Auto, "another customer");
    // With the held one it would be too much, but for two cents there is no room either.
    assert_eq!(tier(&world, "refund", &refund(1, 0.02, 5)).await, Tier::Approve);
    world.clock.pass(HOUR + HOUR);
    assert_eq!(tier(&world, "refund", &refund(1, 49.0, 6)).await, Tier::Auto, "an hour later");
    world.close().await;
}

/// Two engines over one store, as two processes would be, and each asked by many at once.
async fn let_through(world: &World, engines: &[Arc<Engine>], count: u32) -> (usize, usize, usize) {
    let mut asking = tokio::task::JoinSet::new();
    for note in 0..count {
        let engine = Arc::clone(&engines[note as usize % engines.len()]);
        let agent = Arc::clone(if note % 2 == 0 { &world.bo } else { &world.riley });
        asking.spawn(async move {
            let proposed = engine.propose(&agent, request("refund", &refund(1, 49.0, note))).await.unwrap();
            proposed.case.status()
        });
    }
    let statuses = asking.join_all().await;
    let of = |wanted| statuses.iter().filter(|status| **status == wanted).count();
    (of(Status::Authorised), of(Status::Pending), of(Status::Blocked))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_three_hundred_refunds_at_once_exactly_two_are_let_through() {
    let world = world().await;
    let engines = [Arc::clone(&world.engine), world.neighbour_with(policy()).await];
    // Twice 49 are no more than 100, and twelve times 49 no more than 600.
    assert_eq!(let_through(&world, &engines, 300).await, (2, 10, 288));
    drop(engines);
    world.close().await;
}

#[tokio::test]
async fn items_of_a_batch_count_against_each_other() {
    let world = world().await;
    let actions = (0..4).map(|note| request("refund", &refund(1, 30.0, note)).action).collect();
    let batch =
        world.engine.propose_batch(&world.bo, banksman_engine::BatchRequest::of(actions)).await.unwrap();
    let tiers: Vec<_> = batch.cases.iter().map(|case| case.submission.verdict.tier).collect();
    assert_eq!(tiers, [Tier::Auto, Tier::Auto, Tier::Auto, Tier::Approve]);
    let actions = (0..7).map(|customer| request("refund", &refund(10 + customer % 6, 1.0, customer)).action);
    let batch = world
        .engine
        .propose_batch(&world.bo, banksman_engine::BatchRequest::of(actions.collect()))
        .await
        .unwrap();
    let tiers: Vec<_> = batch.cases.iter().map(|case| case.submission.verdict.tier).collect();
    // Customer 1 was the first of the day, so the fifth of these six is the sixth.
    assert_eq!(tiers[..4], [Tier::Auto; 4]);
    assert_eq!(tiers[4..], [Tier::Escalate; 3]);
    world.close().await;
}

#[tokio::test]
async fn what_was_denied_makes_room_again() {
    let world = world().await;
    let large = world.propose(&world.bo, "refund", &refund(1, 101.0, 1)).await;
    assert_eq!(large.status(), Status::Pending);
    assert_eq!(tier(&world, "refund", &refund(1, 49.0, 2)).await, Tier::Approve);
    world.engine.decide(&world.ann, large.id, ballot(&large, Decision::Deny)).await.unwrap();
    assert_eq!(tier(&world, "refund", &refund(1, 49.0, 3)).await, Tier::Auto);
    world.close().await;
}

#[tokio::test]
async fn asking_again_for_what_waits_counts_once() {
    let world = world().await;
    let first = world.propose(&world.bo, "refund", &refund(1, 350.0, 1)).await;
    let again = world.propose(&world.bo, "refund", &refund(1, 350.0, 1)).await;
    assert_eq!((again.id, again.status()), (first.id, Status::Pending));
    let another = world.propose(&world.bo, "refund", &refund(1, 350.0, 2)).await;
    assert_eq!(another.status(), Status::Blocked);
    world.close().await;
}

#[tokio::test]
async fn an_edit_counts_instead_of_what_it_replaces() {
    let world = world().await;
    let large = world.propose(&world.bo, "refund", &refund(1, 500.0, 1)).await;
    let smaller = edit(&large, &refund(1, 60.0, 1));
    let edited = world.engine.decide(&world.ann, large.id, smaller).await.unwrap();
    assert_eq!(edited.status(), Status::Authorised);
    assert_eq!(tier(&world, "refund", &refund(1, 40.0, 2)).await, Tier::Auto);
    assert_eq!(tier(&world, "refund", &refund(1, 0.01, 3)).await, Tier::Approve);
    world.close().await;
}

#[tokio::test]
async fn nobody_makes_room_with_less_than_nothing_or_with_words() {
    let world = world().await;
    assert_eq!(tier(&world, "refund", &refund(1, -1000.0, 1)).await, Tier::Block);
    assert_eq!(tier(&world, "refund", r#"{"amount":"much","customer":1}"#).await, Tier::Block);
    assert_eq!(tier(&world, "refund", r#"{"customer":1}"#).await, Tier::Block);
    assert_eq!(tier(&world, "refund", r#"{"amount":"99","customer":1}"#).await, Tier::Auto);
    assert_eq!(tier(&world, "refund", r#"{"amount":"2","customer":1.0}"#).await, Tier::Approve);
    world.close().await;
}

#[tokio::test]
async fn an_agent_that_fails_is_watched() {
    let world = world().await;
    for number in 0..2 {
        let args = format!(r#"{{"n":{number}}}"#);
        let case = world.propose(&world.bo, "read", &args).await;
        assert_eq!(case.status(), Status::Authorised, "{number}");
        world.claim(&world.bo, &case).await.unwrap();
        let failed = Outcome::Failed { error: Some("no".into()), result: None };
        world.engine.record_outcome(&world.bo, case.id, failed).await.unwrap();
    }
    assert_eq!(tier(&world, "read", r#"{"n":2}"#).await, Tier::Approve);
    let other = world.propose(&world.riley, "read", r#"{"n":2}"#).await;
    assert_eq!(other.status(), Status::Authorised, "another agent");
    world.clock.pass(HOUR);
    assert_eq!(tier(&world, "read", r#"{"n":3}"#).await, Tier::Auto);
    world.close().await;
}

#[tokio::test]
async fn a_budget_warns_and_then_stops() {
    let world = world().await;
    let spend = async |number: u32, cost: f64| {
        let mut request = request("search", &format!(r#"{{"n":{number}}}"#));
        request.action.estimate.cost_usd = Some(cost);
        let case = world.engine.propose(&world.bo, request).await.unwrap().case;
        let verdict = &case.submission.verdict;
        (verdict.tier, verdict.matched.iter().any(|name| name == "budgets.dollar"))
    };
    assert_eq!(spend(1, 0.5).await, (Tier::Auto, false));
    assert_eq!(spend(2, 0.4).await, (Tier::Notify, true));
    assert_eq!(spend(3, 0.2).await, (Tier::Block, true));
    // What was blocked costs nothing.
    assert_eq!(spend(4, 0.1).await, (Tier::Notify, true));
    assert_eq!(spend(5, 0.01).await, (Tier::Block, true));
    world.close().await;
}
