//! What is committed right after others were told something is told a little later: with the next group that is, or alone; and
//! whoever is told nothing at all finds it by looking.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use banksman_core::ActionId;
use banksman_faults::{Moment, Proxy, Trap};
use banksman_store::conformance::Database;
use banksman_store::postgres::PostgresStore;
use banksman_store::{CommitError, Conflict, News, NewsOf, Store as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_postgres::{AsyncMessage, NoTls};

use crate::script::{PATIENCE, id, log_is_whole, node, opening, proposed};

/// Long enough for two commits, also on a machine that has other things to do, and much shorter than others wait in silence.
const EVERY: Duration = Duration::from_millis(400);

/// Nobody lives that long here: whoever tells this seldom might as well be gone.
const NEVER: Duration = Duration::from_secs(1000);

/// Whoever hears that soon was told; nobody looks by themselves before a second is over.
const SOON: Duration = Duration::from_millis(900);

/// A node that follows the log, and what it hears.
struct Follower {
    news: mpsc::Receiver<News>,
    last_seq: u64,
    of: Vec<ActionId>,
}

impl Follower {
    fn of(store: &PostgresStore, after: u64) -> Self {
        Self { news: store.follow(after).expect("news"), last_seq: after, of: Vec::new() }
    }

    /// Hears until it has followed up to there. Says how long that took.
    async fn hear(&mut self, last_seq: u64) -> Duration {
        let begin = Instant::now();
        while self.last_seq < last_seq {
            let news = tokio::time::timeout(PATIENCE, self.news.recv()).await.expect("news in time");
            let News { last_seq, of } = news.expect("news");
            assert!(last_seq >= self.last_seq, "in order");
            self.last_seq = last_seq;
            self.of.extend(of.into_iter().filter_map(|of| match of {
                NewsOf::Action { id, .. } => Some(id),
                NewsOf::House => None,
            }));
        }
        begin.elapsed()
    }
}

/// One node that tells others this often, another that follows, and all that is told.
struct Scene {
    database: Database,
    first: Arc<PostgresStore>,
    /// As long as it is there, its node is one that tells others a little later.
    _news: mpsc::Receiver<News>,
    _second: Arc<PostgresStore>,
    follower: Follower,
    told: Arc<Mutex<Vec<String>>>,
    _listening: tokio_postgres::Client,
    /// How many proposals there are, and so events.
    proposals: u64,
}

impl Scene {
    async fn new(every: Duration) -> Self {
        let database = Database::fresh();
        let url = database.url();
        Self::of(database, &url, every).await
    }

    /// The same, with the first node at another address of the database.
    async fn of(database: Database, url: &str, every: Duration) -> Self {
        let first = PostgresStore::open_telling_every(url, every).await.expect("a store");
        let second = node(&database).await;
        first.commit(opening(proposed(1))).await.expect("a proposal");
        let mut follower = Follower::of(&second, 0);
        follower.hear(1).await;
        let (listening, told) = eavesdrop(&database).await;
        let news = first.follow(1).expect("news");
        // Until it follows, it tells at once. Whoever does holds this lock (`postgres/news.rs`).
        let listeners = "SELECT count(*) FROM pg_locks
                         WHERE locktype = 'advisory' AND granted AND (classid, objid) = (6447470, 1802726753)
                               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        let begin = Instant::now();
        while database.ask(listeners) != "2" {
            assert!(begin.elapsed() < PATIENCE, "it does not follow");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let first = Arc::new(first);
        Self {
            database,
            first,
            _news: news,
            _second: second,
            follower,
            told,
            _listening: listening,
            proposals: 1,
        }
    }

    /// Another proposal of the first node.
    async fn propose(&mut self) -> u64 {
        self.proposals += 1;
        self.first.commit(opening(proposed(self.proposals))).await.expect("a proposal");
        self.proposals
    }

    /// Proposes until a proposal is not told of at once, right after the one before it was heard of.
    async fn keep_one_to_itself(&mut self) -> u64 {
        let begin = Instant::now();
        loop {
            let before = self.propose().await;
            self.follower.hear(before).await;
            let last = self.propose().await;
            if tokio::time::timeout(Duration::from_millis(50), self.follower.hear(last)).await.is_err() {
                return last;
            }
            assert!(begin.elapsed() < PATIENCE, "it tells everything at once");
        }
    }

    /// The places of the events that were told of, in the order in which they were, once the last of all proposals was.
    async fn told(&self) -> Vec<u64> {
        let begin = Instant::now();
        loop {
            let places: Vec<u64> =
                self.said().iter().flat_map(|said| said.lines()).flat_map(places).collect();
            if places.last() == Some(&self.proposals) {
                return places;
            }
            assert!(begin.elapsed() < PATIENCE, "{places:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn said(&self) -> Vec<String> {
        self.told.lock().expect("what was told").clone()
    }
}

/// Which events a line of a notification tells of: `before [item,...]`.
fn places(line: &str) -> std::ops::RangeInclusive<u64> {
    let (before, items) = line.split_once(' ').expect("a place and items");
    let before: u64 = before.parse().expect("a place");
    before + 1..=before + items.matches("\"act_").count() as u64
}

/// Hears what is told, without being a node.
async fn eavesdrop(database: &Database) -> (tokio_postgres::Client, Arc<Mutex<Vec<String>>>) {
    let config: tokio_postgres::Config = database.url().parse().expect("an address");
    let (client, mut connection) = config.connect(NoTls).await.expect("a connection");
    let told = Arc::<Mutex<Vec<String>>>::default();
    let all = Arc::clone(&told);
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(said) = message {
                all.lock().expect("what was told").push(said.payload().to_owned());
            }
        }
    });
    client.batch_execute("LISTEN banksman").await.expect("to listen");
    (client, told)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_not_told_is_told_alone_when_nothing_else_is_committed() {
    let mut scene = Scene::new(EVERY).await;
    for _ in 0..3 {
        let last = scene.keep_one_to_itself().await;
        let took = scene.follower.hear(last).await;
        assert!(took < SOON - Duration::from_millis(50), "{took:?}");
    }
    assert_eq!(scene.told().await, (2..=scene.proposals).collect::<Vec<_>>(), "each is told of once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_not_told_is_told_with_what_is_committed_when_it_is_time() {
    let mut scene = Scene::new(EVERY).await;
    let begin = Instant::now();
    loop {
        let kept = scene.keep_one_to_itself().await;
        // Before it is told alone.
        tokio::time::sleep(EVERY * 3 / 4 - Duration::from_millis(50)).await;
        let last = scene.propose().await;
        let took = scene.follower.hear(last).await;
        assert!(took < SOON, "{took:?}");
        assert!(scene.follower.of.ends_with(&[id(kept), id(last)]));
        assert_eq!(scene.told().await, (2..=last).collect::<Vec<_>>(), "each is told of once");
        if scene.said().last().is_some_and(|said| said.lines().count() == 2) {
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "they are never told together");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_constant_load_others_are_told_from_time_to_time_and_of_everything() {
    const MANY: u64 = 300;
    let mut scene = Scene::new(Duration::from_millis(50)).await;
    let heard = scene.follower.last_seq;
    for _ in 0..MANY {
        scene.propose().await;
    }
    let took = scene.follower.hear(heard + MANY).await;
    assert!(took < SOON, "{took:?}");
    let all: Vec<ActionId> = (1..=scene.proposals).map(id).collect();
    assert_eq!(scene.follower.of, all);
    assert_eq!(scene.told().await, (2..=scene.proposals).collect::<Vec<_>>(), "each is told of once");
    let notifications = scene.said().len() as u64;
    assert!(notifications < MANY / 2, "{notifications} for {MANY} commits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_node_did_not_live_to_tell_is_found_by_looking() {
    let mut scene = Scene::new(NEVER).await;
    let kept = scene.keep_one_to_itself().await;
    let took = scene.follower.hear(kept).await;
    assert!(took < 3 * SOON, "{took:?}");
    assert!(scene.follower.of.ends_with(&[id(kept)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_missing_before_what_is_told_is_not_waited_for_long() {
    let mut scene = Scene::new(NEVER).await;
    let kept = scene.keep_one_to_itself().await;
    // Of a node that tells at once.
    let third = node(&scene.database).await;
    third.commit(opening(proposed(1000))).await.expect("a proposal");
    let took = scene.follower.hear(kept + 1).await;
    assert!(took < SOON / 2, "{took:?}");
    assert!(scene.follower.of.ends_with(&[id(kept), id(1000)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_that_ends_tells_what_it_has_not_told() {
    let mut scene = Scene::new(NEVER).await;
    let kept = scene.keep_one_to_itself().await;
    scene.first = node(&scene.database).await;
    let took = scene.follower.hear(kept).await;
    assert!(took < SOON / 2, "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_whose_connections_were_lost_tells_what_it_has_not_told() {
    let database = Database::fresh();
    // Only its own are lost: those who follow have no reason to look.
    let line = Proxy::to(&database.url()).expect("a line");
    let url = line.over(&database.url()).expect("its address");
    let mut scene = Scene::of(database, &url, EVERY).await;
    for _ in 0..3 {
        let kept = scene.keep_one_to_itself().await;
        line.cut();
        scene.proposals += 1;
        let last = scene.proposals;
        // A cut may come between any two steps, and then nobody knows; asking again says that it is there.
        loop {
            match scene.first.commit(opening(proposed(last))).await {
                Ok(_) | Err(CommitError::Conflict(Conflict::Joinable(_))) => break,
                Err(CommitError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => panic!("{error}"),
            }
        }
        let took = scene.follower.hear(last).await;
        assert!(took < SOON - Duration::from_millis(50), "{took:?}");
        assert!(scene.follower.of.ends_with(&[id(kept), id(last)]));
    }
    let all: Vec<ActionId> = (1..=scene.proposals).map(id).collect();
    assert_eq!(scene.follower.of, all, "each of them once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_does_not_follow_tells_at_once() {
    let mut scene = Scene::new(NEVER).await;
    let command = PostgresStore::open_telling_every(&scene.database.url(), NEVER).await.expect("a store");
    for number in 1000..1005 {
        command.commit(opening(proposed(number))).await.expect("a proposal");
        scene.proposals += 1;
        let took = scene.follower.hear(scene.proposals).await;
        assert!(took < SOON / 2, "{took:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn where_another_node_writes_each_is_told_at_once() {
    let mut scene = Scene::new(NEVER).await;
    let kept = scene.keep_one_to_itself().await;
    let other = node(&scene.database).await;
    for number in 1000..1005 {
        other.commit(opening(proposed(number))).await.expect("a proposal of another");
        scene.first.commit(opening(proposed(number + 1000))).await.expect("a proposal");
        scene.proposals += 2;
    }
    let took = scene.follower.hear(kept + 10).await;
    assert!(took < SOON / 2, "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_that_does_not_know_what_it_committed_tells_others_to_look() {
    let database = Database::fresh();
    let line = Proxy::to(&database.url()).expect("a line");
    let url = line.over(&database.url()).expect("its address");
    let mut scene = Scene::of(database, &url, NEVER).await;
    let kept = scene.keep_one_to_itself().await;
    line.lay(Trap { at: Moment::AfterCommit, silent: false });
    let answer = scene.first.commit(opening(proposed(1000))).await;
    assert!(matches!(answer, Err(CommitError::Unavailable(_))), "{answer:?}");
    let took = scene.follower.hear(kept + 1).await;
    assert!(took < SOON - Duration::from_millis(200), "{took:?}");
    assert!(scene.follower.of.ends_with(&[id(kept), id(1000)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_tell_a_little_later_hear_all_of_each_other_in_order() {
    const EACH: u64 = 150;
    let database = Database::fresh();
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let every = Duration::from_millis(5);
        let store = PostgresStore::open_telling_every(&database.url(), every).await.expect("a store");
        let store = Arc::new(store);
        let follower = Follower::of(&store, 0);
        nodes.push((store, follower));
    }
    let mut rush = JoinSet::new();
    for (number, (store, _)) in (0..).zip(&nodes) {
        for lane in 0..3 {
            let store = Arc::clone(store);
            rush.spawn(async move {
                for place in 0..EACH / 3 {
                    let proposal = 1 + number * EACH + lane * (EACH / 3) + place;
                    store.commit(opening(proposed(proposal))).await.expect("a proposal");
                }
            });
        }
    }
    rush.join_all().await;
    for (number, (store, follower)) in (0..).zip(&mut nodes) {
        assert_eq!(log_is_whole(&**store).await, 3 * EACH);
        let own = (1 + number * EACH)..=((number + 1) * EACH);
        let is_others = |of: &ActionId| !own.clone().any(|own| id(own) == *of);
        while follower.of.iter().filter(|of| is_others(of)).count() < 2 * EACH as usize {
            let next = follower.last_seq + 1;
            follower.hear(next).await;
        }
        let mut others: Vec<ActionId> = follower.of.iter().copied().filter(|of| is_others(of)).collect();
        others.sort();
        others.dedup();
        assert_eq!(others.len() as u64, 2 * EACH, "each of them once");
    }
}
