//! Messages to people and jobs for the agent's side, and what came back from them.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::{DeliveryStatus, JobStatus, Purpose, Timestamp};

use super::Harness;
use super::bench::Bench;
use super::fixture::{Proposal, at_once, hold, id, second, tally};
use crate::{
    Attempt, Commit, CommitError, Conflict, Delivery, DeliveryQuery, Job, JobQuery, LogReading, NewDelivery,
    NewJob, Post, Run, SeenEvent, Store,
};

const LEASE: Duration = Duration::from_secs(60);

fn post(post: Post) -> Commit {
    Commit { post: Some(Box::new(post)), ..Commit::default() }
}

async fn write(store: &Arc<dyn Store>, written: Post) {
    store.commit(post(written)).await.unwrap();
}

fn ask(number: i64, recipient: &str, due: i64) -> NewDelivery {
    NewDelivery {
        id: number,
        action: id(1),
        version: 1,
        purpose: Purpose::Ask,
        round: 0,
        channel: "slack".into(),
        recipient: recipient.into(),
        next_at: second(due),
        at: second(0),
    }
}

async fn plan(store: &Arc<dyn Store>, deliveries: Vec<NewDelivery>) {
    write(store, Post { deliveries, ..Post::default() }).await;
}

fn attempt(of: i64, after: u32, status: DeliveryStatus, at: Timestamp) -> Attempt {
    let next_at = status.is_open().then(|| at.after(Duration::from_secs(30)));
    let message = status.has_left().then_some(of);
    Attempt {
        id: of,
        after,
        attempt: after + 1,
        status,
        next_at,
        message,
        provider_id: message.map(|message| format!("ts-{message}")),
        error: (!status.has_left()).then(|| "the line is dead".into()),
        bundle: message,
        strikes: after + 1,
        at,
    }
}

async fn conclude(store: &Arc<dyn Store>, attempt: Attempt) {
    write(store, Post { attempts: vec![attempt], ..Post::default() }).await;
}

async fn listed(store: &Arc<dyn Store>, query: DeliveryQuery) -> Vec<Delivery> {
    store.deliveries(DeliveryQuery { limit: 100, ..query }).await.unwrap()
}

async fn all(store: &Arc<dyn Store>) -> Vec<Delivery> {
    listed(store, DeliveryQuery::default()).await
}

async fn taken(store: &Arc<dyn Store>, channel: &str, by: Timestamp) -> Vec<i64> {
    let due = store.take_deliveries(channel, by, 100, Duration::ZERO).await.unwrap();
    due.iter().map(|delivery| delivery.id).collect()
}

/// Whoever plans the same twice, in whatever words, sends it once.
pub async fn a_delivery_is_planned_once<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let first = ask(7, "ann", 5);
    plan(bench.store(), vec![first.clone(), first.clone()]).await;
    let same_id = NewDelivery { recipient: "bob".into(), ..first.clone() };
    let same_thing = NewDelivery { id: 8, next_at: second(99), ..first.clone() };
    plan(bench.store(), vec![same_id, same_thing]).await;
    let others = [
        NewDelivery { id: 9, version: 2, ..first.clone() },
        NewDelivery { id: 10, round: 1, ..first.clone() },
        NewDelivery { id: 11, channel: "line".into(), ..first.clone() },
        NewDelivery { id: 12, purpose: Purpose::Again, ..first.clone() },
    ];
    plan(bench.store(), others.to_vec()).await;
    bench.reopen().await;
    let stored = all(bench.store()).await;
    assert_eq!(stored.iter().map(|delivery| delivery.id).collect::<Vec<_>>(), [12, 11, 10, 9, 7]);
    assert_eq!(
        stored[4],
        Delivery {
            id: 7,
            action: id(1),
            version: 1,
            purpose: Purpose::Ask,
            round: 0,
            channel: "slack".into(),
            recipient: "ann".into(),
            status: DeliveryStatus::Queued,
            attempt: 0,
            next_at: Some(second(5)),
            message: None,
            provider_id: None,
            error: None,
            created_at: second(0),
            updated_at: second(0),
            bundle: None,
            strikes: 0,
        }
    );
    bench.finish().await;
}

/// Each channel has its own queue, in the order of time.
pub async fn deliveries_are_taken_when_they_are_due<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    let other = NewDelivery { channel: "line".into(), ..ask(4, "dan", 1) };
    plan(store, vec![ask(1, "ann", 30), ask(2, "bob", 10), ask(3, "cat", 20), other]).await;
    assert_eq!(taken(store, "slack", second(9)).await, Vec::<i64>::new());
    assert_eq!(store.next_delivery("slack").await.unwrap(), Some(second(10)));
    assert_eq!(store.next_delivery("line").await.unwrap(), Some(second(1)));
    assert_eq!(store.next_delivery("mail").await.unwrap(), None);
    assert_eq!(taken(store, "slack", second(20)).await, [2, 3]);
    assert_eq!(store.take_deliveries("slack", second(60), 1, Duration::ZERO).await.unwrap()[0].id, 2);
    conclude(store, attempt(2, 0, DeliveryStatus::Sent, second(20))).await;
    conclude(store, attempt(3, 0, DeliveryStatus::Retrying, second(20))).await;
    assert_eq!(taken(store, "slack", second(60)).await, [1, 3]);
    assert_eq!(store.next_delivery("slack").await.unwrap(), Some(second(30)));
    let by_status = DeliveryQuery { status: Some(DeliveryStatus::Sent), ..DeliveryQuery::default() };
    assert_eq!(listed(store, by_status).await[0].provider_id.as_deref(), Some("ts-2"));
    let by_channel = DeliveryQuery { channel: Some("line".into()), ..DeliveryQuery::default() };
    assert_eq!(listed(store, by_channel).await.len(), 1);
    let page = DeliveryQuery { action: Some(id(1)), before: Some(3), ..DeliveryQuery::default() };
    assert_eq!(listed(store, page).await.iter().map(|delivery| delivery.id).collect::<Vec<_>>(), [2, 1]);
    bench.finish().await;
}

/// A node that was stuck while another sent the same does not have the last word.
pub async fn an_overtaken_attempt_changes_nothing<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    plan(store, vec![ask(1, "ann", 0)]).await;
    conclude(store, attempt(1, 0, DeliveryStatus::Retrying, second(1))).await;
    conclude(store, attempt(1, 1, DeliveryStatus::Sent, second(40))).await;
    let sent = all(store).await;
    for late in [
        attempt(1, 0, DeliveryStatus::Failed, second(50)),
        attempt(1, 1, DeliveryStatus::Retrying, second(50)),
        attempt(1, 2, DeliveryStatus::Retrying, second(50)),
        attempt(99, 0, DeliveryStatus::Sent, second(50)),
    ] {
        conclude(store, late).await;
        assert_eq!(all(store).await, sent);
    }
    bench.finish().await;
}

/// What was given up can be sent again; what was sent cannot.
pub async fn a_failed_delivery_can_be_sent_again<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    plan(store, vec![ask(1, "ann", 0), ask(2, "bob", 0)]).await;
    conclude(store, Attempt { bundle: Some(1), ..attempt(1, 0, DeliveryStatus::Failed, second(1)) }).await;
    conclude(store, attempt(2, 0, DeliveryStatus::Sent, second(1))).await;
    let redeliveries = vec![(1, second(9)), (2, second(9)), (3, second(9))];
    write(store, Post { redeliveries, ..Post::default() }).await;
    let [sent, again] = all(store).await.try_into().unwrap();
    assert_eq!((sent.status, sent.attempt), (DeliveryStatus::Sent, 1));
    assert_eq!((again.status, again.attempt, again.next_at), (DeliveryStatus::Queued, 0, Some(second(9))));
    assert_eq!((again.bundle, again.strikes), (None, 0), "as a message of its own");
    bench.finish().await;
}

/// Deliveries that go together do so from before the message is tried, and however often it is.
pub async fn what_goes_together_stays_together<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let asks = (1..=4).map(|number| NewDelivery { round: number, ..ask(number, "ann", 0) }).collect();
    plan(bench.store(), asks).await;
    conclude(bench.store(), attempt(4, 0, DeliveryStatus::Sent, second(1))).await;
    write(bench.store(), Post { bundles: vec![(1, 1), (3, 1), (4, 1), (99, 1)], ..Post::default() }).await;
    let unanswered = Attempt { bundle: Some(1), ..attempt(3, 0, DeliveryStatus::Retrying, second(2)) };
    conclude(bench.store(), unanswered).await;
    bench.reopen().await;
    let store = bench.store();
    let together = listed(store, DeliveryQuery { bundle: Some(1), ..DeliveryQuery::default() }).await;
    let seen: Vec<_> = together.iter().map(|delivery| (delivery.id, delivery.strikes)).collect();
    assert_eq!(seen, [(3, 1), (1, 0)], "what was sent before stays what it was");
    assert_eq!(taken(store, "slack", second(60)).await, [1, 2, 3], "nothing else of them has changed");
    conclude(store, attempt(1, 0, DeliveryStatus::Retrying, second(3))).await;
    let together = listed(store, DeliveryQuery { bundle: Some(1), ..DeliveryQuery::default() }).await;
    assert_eq!(together.len(), 1, "what was not taken goes with whatever comes next");
    bench.finish().await;
}

/// Several deliveries that went in one message count once; updates and what failed do not count.
pub async fn messages_are_counted_by_recipient_and_time<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    let round = |number, round| NewDelivery { round, ..ask(number, "ann", 0) };
    let update = NewDelivery { purpose: Purpose::Settled, ..round(4, 1) };
    plan(store, vec![round(1, 1), round(2, 2), round(3, 3), update, ask(5, "bob", 0), round(6, 6)]).await;
    conclude(store, attempt(1, 0, DeliveryStatus::Sent, second(10))).await;
    conclude(store, Attempt { message: Some(1), ..attempt(2, 0, DeliveryStatus::Delivered, second(10)) })
        .await;
    conclude(store, attempt(3, 0, DeliveryStatus::Sent, second(20))).await;
    conclude(store, attempt(4, 0, DeliveryStatus::Sent, second(20))).await;
    conclude(store, attempt(5, 0, DeliveryStatus::Sent, second(20))).await;
    conclude(store, attempt(6, 0, DeliveryStatus::Failed, second(20))).await;
    assert_eq!(store.told("slack", "ann", second(0)).await.unwrap(), 2);
    assert_eq!(store.told("slack", "ann", second(10)).await.unwrap(), 1);
    assert_eq!(store.told("slack", "ann", second(20)).await.unwrap(), 0);
    assert_eq!(store.told("line", "ann", second(0)).await.unwrap(), 0);
    let together = DeliveryQuery { message: Some(1), ..DeliveryQuery::default() };
    assert_eq!(listed(store, together).await.iter().map(|delivery| delivery.id).collect::<Vec<_>>(), [2, 1]);
    bench.finish().await;
}

/// A notice and what is sent because of it change hands in one commit.
pub async fn deliveries_settle_with_their_notice<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    hold(store, Proposal::number(1)).await;
    let notice = store.take_notices(10, LEASE).await.unwrap().remove(0);
    let settle = || Commit { settled_notices: vec![notice.id], ..Commit::default() };
    let reading = Some(LogReading { reader: "test", from: 77, to: 78 });
    let refused = Post { deliveries: vec![ask(1, "ann", 0)], reading, ..Post::default() };
    let answer = store.commit(Commit { post: Some(Box::new(refused)), ..settle() }).await;
    assert!(matches!(answer, Err(CommitError::Conflict(Conflict::ReadOn))), "{answer:?}");
    assert_eq!((store.notices(10).await.unwrap().len(), all(store).await.len()), (1, 0));
    let accepted = Post { deliveries: vec![ask(1, "ann", 0)], ..Post::default() };
    store.commit(Commit { post: Some(Box::new(accepted)), ..settle() }).await.unwrap();
    assert_eq!((store.notices(10).await.unwrap().len(), all(store).await.len()), (0, 1));
    bench.finish().await;
}

/// An action is resolved once, so its agent is called for one reason, however often that is planned or tried.
pub async fn an_action_has_one_job<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    let new = |number, action| NewJob { id: number, action: id(action), at: second(1) };
    let jobs = vec![new(3, 1), new(3, 1), new(5, 1), new(6, 2)];
    write(bench.store(), Post { jobs, ..Post::default() }).await;
    bench.reopen().await;
    let store = bench.store();
    let due = store.take_jobs(second(1), 10, Duration::ZERO).await.unwrap();
    assert_eq!(due.iter().map(|job| (job.id, job.action)).collect::<Vec<_>>(), [(3, id(1)), (6, id(2))]);
    assert_eq!(store.next_job().await.unwrap(), Some(second(1)));
    let run = |of, after, status: JobStatus| {
        let next_at = (status == JobStatus::Waiting).then(|| second(60));
        let error = (status != JobStatus::Done).then(|| "refused".to_owned());
        let run = Run { id: of, after, attempt: after + 1, status, next_at, error, at: second(2) };
        Post { runs: vec![run], ..Post::default() }
    };
    write(store, run(3, 0, JobStatus::Waiting)).await;
    write(store, run(3, 0, JobStatus::Dead)).await;
    assert_eq!(store.next_job().await.unwrap(), Some(second(1)));
    write(store, run(6, 0, JobStatus::Dead)).await;
    assert_eq!(store.next_job().await.unwrap(), Some(second(60)));
    write(store, run(3, 1, JobStatus::Done)).await;
    let reruns = vec![(3, second(9)), (6, second(9))];
    write(store, Post { reruns, ..Post::default() }).await;
    let query = |status| JobQuery { status: Some(status), limit: 10, ..JobQuery::default() };
    let done: Vec<Job> = store.jobs(query(JobStatus::Done)).await.unwrap();
    assert_eq!(done.iter().map(|job| (job.id, job.attempt)).collect::<Vec<_>>(), [(3, 2)]);
    let waiting = store.jobs(query(JobStatus::Waiting)).await.unwrap();
    assert_eq!(
        waiting.iter().map(|job| (job.id, job.attempt, job.next_at)).collect::<Vec<_>>(),
        [(6, 0, Some(second(9)))]
    );
    let of_first = JobQuery { action: Some(id(1)), limit: 10, ..JobQuery::default() };
    assert_eq!(store.jobs(of_first).await.unwrap(), done);
    bench.finish().await;
}

/// Whoever drops a job while it is being done has the last word, unless it is done.
pub async fn a_dropped_job_stays_dropped<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    let new = |number, action| NewJob { id: number, action: id(action), at: second(1) };
    write(store, Post { jobs: vec![new(1, 1), new(2, 2), new(3, 3)], ..Post::default() }).await;
    let run = |of, after, status: JobStatus| {
        let next_at = (status == JobStatus::Waiting).then(|| second(60));
        let attempt = after + u32::from(status != JobStatus::Dropped);
        let run = Run { id: of, after, attempt, status, next_at, error: None, at: second(2) };
        Post { runs: vec![run], ..Post::default() }
    };
    for (of, outcome) in [(1, JobStatus::Waiting), (2, JobStatus::Dead), (3, JobStatus::Done)] {
        write(store, run(of, 0, JobStatus::Dropped)).await;
        write(store, run(of, 0, outcome)).await;
    }
    let jobs = store.jobs(JobQuery { limit: 10, ..JobQuery::default() }).await.unwrap();
    let stand: Vec<_> = jobs.iter().map(|job| (job.id, job.status)).collect();
    assert_eq!(stand, [(3, JobStatus::Done), (2, JobStatus::Dropped), (1, JobStatus::Dropped)]);
    assert_eq!(store.next_job().await.unwrap(), None);
    write(store, Post { reruns: vec![(1, second(9))], ..Post::default() }).await;
    assert_eq!(store.next_job().await.unwrap(), Some(second(9)), "until a person says otherwise");
    write(store, run(1, 0, JobStatus::Dead)).await;
    write(store, run(1, 1, JobStatus::Dropped)).await;
    let dropped = JobQuery { status: Some(JobStatus::Dropped), limit: 10, ..JobQuery::default() };
    assert_eq!(store.jobs(dropped).await.unwrap().len(), 2, "what is dead can be dropped too");
    bench.finish().await;
}

/// A provider that tells the same again, even at the same instant, is heard once, until that is long ago.
pub async fn what_a_provider_tells_is_seen_once<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    let seen = |channel: &str, event: &str, at: i64| {
        post(Post {
            seen: Some(SeenEvent {
                channel: channel.into(),
                event: event.into(),
                at: second(at),
                forget_before: second(at - 100),
            }),
            ..Post::default()
        })
    };
    let answers = at_once(store, (0..16).map(|_| seen("line", "ev1", 200)).collect()).await;
    assert_eq!(tally(answers), (1, vec![Conflict::EventSeen; 15]));
    store.commit(seen("slack", "ev1", 200)).await.unwrap();
    store.commit(seen("line", "ev2", 290)).await.unwrap();
    assert!(store.commit(seen("line", "ev1", 299)).await.is_err());
    store.commit(seen("line", "ev3", 301)).await.unwrap();
    store.commit(seen("line", "ev1", 302)).await.unwrap();
    bench.finish().await;
}

/// Whoever acts on the log acts on each stretch of it once.
pub async fn one_of_many_readers_reads_on<H: Harness>() {
    let mut bench = Bench::<H>::set_up().await;
    assert_eq!(bench.store().log_place("post").await.unwrap(), 0);
    let on = |from, to| {
        let reading = Some(LogReading { reader: "post", from, to });
        post(Post { reading, ..Post::default() })
    };
    for (from, to) in [(0, 10), (10, 25)] {
        let answers = at_once(bench.store(), (0..8).map(|_| on(from, to)).collect()).await;
        assert_eq!(tally(answers), (1, vec![Conflict::ReadOn; 7]));
    }
    bench.reopen().await;
    assert_eq!(bench.store().log_place("post").await.unwrap(), 25);
    assert_eq!(bench.store().log_place("others").await.unwrap(), 0);
    bench.finish().await;
}

/// Names are values, whatever they look like.
pub async fn hostile_names_reach_nobody_else<H: Harness>() {
    let bench = Bench::<H>::set_up().await;
    let store = bench.store();
    let names = ["ann", "Ann", "ann ", "a%", "' OR 1=1 --", "\u{202e}nna", "🚧", &"x".repeat(3_000)];
    let deliveries = (1..).zip(names).map(|(number, name)| ask(number, name, 0)).collect();
    plan(store, deliveries).await;
    for (number, name) in (1..).zip(names) {
        let sent =
            Attempt { error: Some(name.into()), ..attempt(number, 0, DeliveryStatus::Sent, second(1)) };
        conclude(store, sent).await;
        assert_eq!(store.told("slack", name, second(0)).await.unwrap(), 1, "{name}");
    }
    assert_eq!(store.told("' OR 1=1 --", "ann", second(0)).await.unwrap(), 0);
    bench.finish().await;
}
