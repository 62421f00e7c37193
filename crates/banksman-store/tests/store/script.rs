//! What happens to actions in these tests, as commits.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, ActionId, Assessment, Ballot, Case, Command, Decision, Kind, Moment, Notice, Opening, Principal,
    PrincipalKind, Risk, Submission, Tier, Timestamp, TokenId, Transition, Verdict, open, step,
};
use banksman_store::conformance::Database;
use banksman_store::postgres::PostgresStore;
use banksman_store::{AdvancedCase, Commit, EventQuery, NoticeRow, Store, StoreError};

/// Nothing here takes longer, unless something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn node(database: &Database) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(&database.url()).await.expect("a store"))
}

pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_micros(0).after(since_1970)
}

fn person(kind: PrincipalKind, name: &str) -> Principal {
    Principal { token: TokenId::from_parts(0, 7), kind, name: name.into(), owner: None, roles: Vec::new() }
}

pub(crate) fn id(number: u64) -> ActionId {
    ActionId::from_parts(1_700_000_000_000 + number, u128::from(number))
}

/// The so-manieth proposal, unlike any other, held.
pub(crate) fn proposed(number: u64) -> Transition {
    proposed_with(number, &format!(r#"{{"n":{number}}}"#))
}

/// The same with arguments of some 200 kB, which no database can make smaller.
pub(crate) fn large(number: u64) -> Transition {
    let mut noise = number;
    let mut body = String::new();
    while body.len() < 200_000 {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        body.push_str(&noise.to_string());
    }
    proposed_with(number, &format!(r#"{{"n":{number},"body":"{body}"}}"#))
}

fn proposed_with(number: u64, args: &str) -> Transition {
    let args = CanonicalJson::parse(args.as_bytes()).expect("JSON");
    let action = Action::bare("refund", Kind::Tool, args);
    let verdict = Verdict::new(Tier::Approve, Risk::High, "refunds");
    let submission = Arc::new(Submission::new(action, Assessment::of(Vec::new()), verdict));
    let agent = person(PrincipalKind::Agent, "riley");
    open(Opening { id: id(number), agent, batch: None, submission, grant: None }, &Moment::at(now()))
}

pub(crate) fn opening(transition: Transition) -> Commit {
    let notice = NoticeRow { action: transition.case.id, notice: Notice::Held, at: transition.event.at };
    Commit {
        opened: vec![Arc::new(transition.case)],
        events: vec![*transition.event],
        notices: vec![notice],
        ..Commit::default()
    }
}

pub(crate) fn deciding(case: &Case, by: &str, decision: Decision) -> Commit {
    let ballot = Ballot {
        reviewer: person(PrincipalKind::Reviewer, by),
        lent: Vec::new(),
        brought_by: None,
        decision,
        version: case.version,
        digest: case.submission.digest,
        reason: None,
        message: None,
        remember: false,
        step_up: None,
    };
    let transition = step(case, Command::Decide(ballot), &Moment::at(now())).expect("a decision in time");
    let advanced = AdvancedCase {
        case: Arc::new(transition.case),
        was_pending: true,
        before: case.state.wakes_at(),
        new_submission: false,
    };
    Commit { advanced: vec![advanced], events: vec![*transition.event], ..Commit::default() }
}

/// Tries until it works, as clients do.
pub(crate) async fn until_ok<T, F: Future<Output = Result<T, StoreError>>>(
    mut attempt: impl FnMut() -> F,
) -> T {
    let begin = Instant::now();
    loop {
        match attempt().await {
            Ok(answer) => return answer,
            Err(error) => assert!(begin.elapsed() < PATIENCE, "it never recovered: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// As many audit events as revisions, without gaps.
pub(crate) async fn log_is_whole(store: &dyn Store) -> u64 {
    let events = store.events(EventQuery::following(0, 100_000)).await.expect("the log");
    let places: Vec<u64> = events.iter().map(|event| event.seq).collect();
    let last = store.last_seq().await.expect("its end");
    assert_eq!(places, (1..=last).collect::<Vec<_>>());
    last
}
