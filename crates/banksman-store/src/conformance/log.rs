//! The audit log: its order, its bytes, and every way of reading it.

use std::sync::Arc;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, Decision, Risk, Tier};

use super::Harness;
use super::bench::Bench;
use super::fixture::{
    Proposal, advance, approve, cancel, claim, decide, deny, edit, hold, id, opening, pass_time, second,
    succeed,
};
use crate::{Commit, EventQuery, Order, Store, StoredEvent};

/// Numbers ascend without gaps in the order of commits, and each answer names the newest visible one.
pub async fn numbers_follow_the_order_of_commits<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    for number in 1..=20 {
        let committed = bench.store().commit(opening(Proposal::number(number).open())).await.unwrap();
        assert_eq!(committed.last_seq, number);
        assert_eq!(bench.store().last_seq().await.unwrap(), number);
    }
    let events = bench.store().events(EventQuery::following(0, 100)).await.unwrap();
    let actions: Vec<_> = events.iter().map(|stored| parsed(stored).action.unwrap().id).collect();
    assert_eq!(actions, (1..=20).map(id).collect::<Vec<_>>());
    bench.finish().await;
}

/// What nobody waits for is written all the same, also if nothing else comes; in its order, and it holds up nobody.
pub async fn what_can_wait_is_written_with_what_comes_next<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let patient = |number| Commit { patient: true, ..opening(Proposal::number(number).open()) };
    assert_eq!(bench.store().commit(patient(1)).await.unwrap().last_seq, 1);
    for number in [2, 4, 6] {
        let eager = bench.store().commit(opening(Proposal::number(number + 1).open()));
        let (first, then) = tokio::join!(bench.store().commit(patient(number)), eager);
        assert_eq!(then.unwrap().last_seq, number + 1);
        assert!(first.unwrap().last_seq >= number);
    }
    let events = bench.store().events(EventQuery::following(0, 100)).await.unwrap();
    let actions: Vec<_> = events.iter().map(|stored| parsed(stored).action.unwrap().id).collect();
    assert_eq!(actions, (1..=7).map(id).collect::<Vec<_>>());
    bench.finish().await;
}

/// A reader that follows the log while many write sees every number once, in order, and never one that comes late.
pub async fn a_reader_in_a_rush_never_misses_an_event<H: Harness>() {
    const WRITERS: u64 = 16;
    const EACH: u64 = 25;
    let bench = Bench::<H>::set_up().await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(bench.store());
        writers.spawn(async move {
            for turn in 0..EACH {
                let number = 1 + writer * EACH + turn;
                let committed = store.commit(opening(Proposal::number(number).open())).await.unwrap();
                // What a commit answers with is visible to whoever reads afterwards.
                let visible = store.last_seq().await.unwrap();
                assert!(visible >= committed.last_seq, "{visible} < {}", committed.last_seq);
            }
        });
    }
    let mut seen = 0;
    while seen < WRITERS * EACH {
        let newest = bench.store().last_seq().await.unwrap();
        for stored in bench.store().events(EventQuery::following(seen, 1_000)).await.unwrap() {
            assert_eq!(stored.seq, seen + 1, "a number was skipped, and would appear later");
            seen = stored.seq;
        }
        assert!(seen >= newest, "the log ends at {newest}, but only {seen} can be read");
    }
    writers.join_all().await;
    bench.finish().await;
}

/// The bytes of an event are kept as they were written: they will be hashed.
pub async fn events_keep_their_bytes<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let mut written = Vec::new();
    for number in 1..=3 {
        let transition = Proposal::number(number).open();
        written.push(*transition.event.clone());
        bench.store().commit(opening(transition)).await.unwrap();
    }
    let fact = Fact::PolicyLoaded { digest: banksman_core::Digest::of(b"p"), source: "«ß»".into() };
    let general = Event::general(second(9), Actor::Operator, fact);
    written.push(general.clone());
    bench.store().commit(Commit { events: vec![general], ..Commit::default() }).await.unwrap();
    bench.reopen().await;
    let stored = bench.store().events(EventQuery::following(0, 10)).await.unwrap();
    for (event, stored) in written.iter().zip(&stored) {
        assert_eq!(stored.body.as_bytes(), event.to_bytes().unwrap());
        assert_eq!(stored.kind, event.fact.type_name());
    }
    assert_eq!(stored.len(), written.len());
    bench.finish().await;
}

fn parsed(stored: &StoredEvent) -> Event {
    Event::from_bytes(stored.body.as_bytes()).unwrap()
}

/// A log in which every filter has something to find and something to leave out.
async fn varied_log(store: &Arc<dyn Store>) {
    let mut number = 0;
    for (agent, tool, risk, tier) in [
        ("riley", "refund", Risk::High, Tier::Approve),
        ("riley", "mail", Risk::Critical, Tier::Escalate),
        ("bo", "refund", Risk::Medium, Tier::Approve),
        ("bo", "mail", Risk::Low, Tier::Approve),
    ] {
        let mut next = || {
            number += 1;
            let at = second(i64::try_from(number).unwrap());
            Proposal { tool: tool.into(), risk, tier, at, ..Proposal::number(number) }.by(agent)
        };
        let case = hold(store, next()).await;
        let case = advance(store, approve(&case, second(20))).await;
        let case = advance(store, claim(&case, second(21))).await;
        advance(store, succeed(&case, second(22))).await;
        let case = hold(store, next()).await;
        advance(store, deny(&case, second(23))).await;
        let case = hold(store, next()).await;
        advance(store, decide(&case, "bea", Decision::Respond, second(24))).await;
        let case = hold(store, next()).await;
        let amount = 5_000 + case.created_at.as_millis() % 1_000_000;
        advance(store, edit(&case, amount, second(25))).await;
        let case = hold(store, next()).await;
        advance(store, cancel(&case, second(26))).await;
        let case = hold(store, next()).await;
        let case = advance(store, approve(&case, second(27))).await;
        advance(store, pass_time(&case, second(1_000_000))).await;
    }
    for (number, agent) in [(90, "riley"), (91, "bo")] {
        let proposal = Proposal::number(number).by(agent).observed();
        store.commit(opening(proposal.open())).await.unwrap();
    }
    let fact = Fact::PolicyLoaded { digest: banksman_core::Digest::of(b"p"), source: "here".into() };
    let general = Event::general(second(30), Actor::Admin { name: "ada".into() }, fact);
    store.commit(Commit { events: vec![general], ..Commit::default() }).await.unwrap();
}

/// What a query asks for, in plain words.
fn wanted(query: &EventQuery, stored: &StoredEvent) -> bool {
    let event = parsed(stored);
    let about = event.action.as_ref();
    query.kind.as_deref().is_none_or(|kind| kind == stored.kind)
        && query.action.is_none_or(|id| about.is_some_and(|about| about.id == id))
        && query.agent.as_deref().is_none_or(|agent| about.is_some_and(|about| about.agent == agent))
        && query.tool.as_deref().is_none_or(|tool| about.is_some_and(|about| about.tool == tool))
        && query.risk.is_none_or(|risk| about.is_some_and(|about| about.risk == risk))
        && query.decision.is_none_or(|decision| event.fact.decision() == Some(decision))
        && query.actor.as_deref().is_none_or(|actor| event.actor.name() == Some(actor))
        && query.since.is_none_or(|since| event.at >= since)
        && query.until.is_none_or(|until| event.at < until)
        && (!query.resolutions_only || event.is_resolution())
        && (!query.observed_only || event.is_observation())
}

/// Every filter, alone and with others, finds what it says, in both directions, page by page.
pub async fn every_filter_of_the_log_finds_what_it_says<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    varied_log(bench.store()).await;
    let all = bench.store().events(EventQuery::following(0, 10_000)).await.unwrap();
    let none = EventQuery { after: None, ..EventQuery::following(0, 10_000) };
    let riley = || EventQuery { agent: Some("riley".into()), ..none.clone() };
    let queries = [
        EventQuery { kind: Some("decided".into()), ..none.clone() },
        EventQuery { kind: Some("policy_loaded".into()), ..none.clone() },
        EventQuery { action: Some(id(1)), ..none.clone() },
        riley(),
        EventQuery { tool: Some("mail".into()), ..none.clone() },
        EventQuery { risk: Some(Risk::Medium), ..none.clone() },
        EventQuery { decision: Some(Decision::Approve), ..none.clone() },
        EventQuery { decision: Some(Decision::Modify), ..none.clone() },
        EventQuery { decision: Some(Decision::Respond), ..none.clone() },
        EventQuery { actor: Some("bea".into()), ..none.clone() },
        EventQuery { actor: Some("ada".into()), ..none.clone() },
        EventQuery { since: Some(second(22)), ..none.clone() },
        EventQuery { until: Some(second(22)), ..none.clone() },
        EventQuery { since: Some(second(20)), until: Some(second(21)), ..none.clone() },
        EventQuery { resolutions_only: true, ..none.clone() },
        EventQuery { resolutions_only: true, ..riley() },
        EventQuery { resolutions_only: true, action: Some(id(1)), ..riley() },
        EventQuery { observed_only: true, ..none.clone() },
        EventQuery { observed_only: true, ..riley() },
        EventQuery { tool: Some("mail".into()), decision: Some(Decision::Deny), ..riley() },
        EventQuery { kind: Some("lapsed".into()), since: Some(second(100)), ..riley() },
    ];
    for query in queries {
        let expected: Vec<_> = all.iter().filter(|stored| wanted(&query, stored)).cloned().collect();
        assert!(!expected.is_empty() && expected.len() < all.len(), "{query:?} proves nothing");
        for order in [Order::Ascending, Order::Descending] {
            let mut expected = expected.clone();
            if order == Order::Descending {
                expected.reverse();
            }
            let query = EventQuery { order, ..query.clone() };
            assert_eq!(bench.store().events(query.clone()).await.unwrap(), expected, "{query:?}");
            for limit in [1, 2, 7] {
                let query = EventQuery { limit, ..query.clone() };
                assert_eq!(paged(bench.store(), query.clone()).await, expected, "{query:?}");
            }
        }
    }
    let nothing = EventQuery { agent: Some("nobody".into()), ..none };
    assert_eq!(bench.store().events(nothing).await.unwrap(), Vec::new());
    bench.finish().await;
}

/// Page after page, each behind the last.
async fn paged(store: &Arc<dyn Store>, mut query: EventQuery) -> Vec<StoredEvent> {
    let mut all = Vec::new();
    loop {
        let page = store.events(query.clone()).await.unwrap();
        assert!(page.len() <= query.limit);
        let Some(last) = page.last() else { return all };
        query.after = Some(last.seq);
        all.extend(page);
    }
}

/// A place that is not in the log yet, or will never be, is a place all the same.
pub async fn any_place_in_the_log_can_be_followed<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    for number in 1..=3 {
        hold(bench.store(), Proposal::number(number)).await;
    }
    let places = |query| async {
        let events = bench.store().events(query).await.unwrap();
        events.iter().map(|event| event.seq).collect::<Vec<_>>()
    };
    let backwards = |after| EventQuery { order: Order::Descending, after, ..EventQuery::following(0, 10) };
    assert_eq!(places(EventQuery::following(2, 10)).await, [3]);
    assert_eq!(places(EventQuery::following(3, 10)).await, Vec::<u64>::new());
    assert_eq!(places(EventQuery::following(u64::MAX, 10)).await, Vec::<u64>::new());
    assert_eq!(places(EventQuery::following(0, usize::MAX)).await, [1, 2, 3]);
    assert_eq!(places(EventQuery::following(0, 0)).await, Vec::<u64>::new());
    assert_eq!(places(backwards(None)).await, [3, 2, 1]);
    assert_eq!(places(backwards(Some(3))).await, [2, 1]);
    assert_eq!(places(backwards(Some(0))).await, Vec::<u64>::new());
    bench.finish().await;
}
