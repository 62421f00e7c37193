//! A group that the database takes on terms waits for its turn with an old view of everything. Whatever changes meanwhile,
//! it is refused for the right reason, or taken as if it had come just then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use banksman_core::{Decision, Digest, Mode};
use banksman_store::conformance::Database;
use banksman_store::postgres::PostgresStore;
use banksman_store::{
    Commit, CommitError, Committed, Conflict, ControlChange, IdempotencyKey, PendingLimits, Store as _,
};
use tokio_postgres::Client;

use crate::script::{PATIENCE, deciding, id, log_is_whole, node, now, opening, proposed};

/// How the statement begins that the database takes on terms.
const ON_TERMS: &str = "WITH%";

struct Scene {
    database: Database,
    store: Arc<PostgresStore>,
    /// Who has the lock, and who looks on: within a transaction one always sees the same sessions.
    holder: Client,
    onlooker: Client,
}

async fn client(database: &Database) -> Client {
    let config: tokio_postgres::Config = database.url().parse().expect("an address");
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

impl Scene {
    /// With action 1 pending: of a node that is alone and takes its turn, and of one that does not know and asks for it.
    async fn each() -> [Self; 2] {
        let alone = Self::of(Database::fresh(), true).await;
        [alone, Self::of(Database::fresh(), false).await]
    }

    async fn of(database: Database, alone: bool) -> Self {
        let store = node(&database).await;
        let first = if alone { Arc::clone(&store) } else { node(&database).await };
        first.commit(opening(proposed(1))).await.expect("a proposal");
        let (holder, onlooker) = (client(&database).await, client(&database).await);
        Self { database, store, holder, onlooker }
    }

    /// Commits while somebody else has the lock, who does `meanwhile` before giving it back.
    async fn overtaken(&self, commit: Commit, meanwhile: &str) -> Result<Committed, CommitError> {
        self.holder.batch_execute("BEGIN; SELECT * FROM head FOR UPDATE").await.expect("the lock");
        let store = Arc::clone(&self.store);
        let waiting = tokio::spawn(async move { store.commit(commit).await });
        let begin = Instant::now();
        // Only then has it its view of things; and it is on terms that it waits.
        while !self.one_waits_on_terms().await {
            assert!(begin.elapsed() < PATIENCE && !waiting.is_finished(), "nobody waits on terms");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.holder.batch_execute(meanwhile).await.expect(meanwhile);
        self.holder.batch_execute("COMMIT").await.expect("the lock is free");
        waiting.await.expect("an answer")
    }

    async fn one_waits_on_terms(&self) -> bool {
        self.one_waits(ON_TERMS).await
    }

    /// Whether somebody waits for somebody else, in a statement like this.
    async fn one_waits(&self, statement: &str) -> bool {
        let sql = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
                   AND wait_event_type = 'Lock' AND query LIKE $1";
        !self.onlooker.query(sql, &[&statement]).await.expect("a look").is_empty()
    }

    /// Commits while somebody else has moved the action and not had its turn yet. That one must get it, or both would wait
    /// for each other.
    async fn behind_another_move(
        &self,
        commit: Commit,
        statement: &str,
        moved: &str,
    ) -> Result<Committed, CommitError> {
        self.holder.batch_execute(&format!("BEGIN; {moved}")).await.expect(moved);
        let store = Arc::clone(&self.store);
        let waiting = tokio::spawn(async move { store.commit(commit).await });
        let begin = Instant::now();
        while !self.one_waits(statement).await {
            assert!(begin.elapsed() < PATIENCE && !waiting.is_finished(), "nobody waits: {statement}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let turn = "SET LOCAL lock_timeout = '500ms'; SELECT * FROM head FOR UPDATE; COMMIT";
        self.holder.batch_execute(turn).await.expect("its turn");
        waiting.await.expect("an answer")
    }

    /// From now on actions are counted that are entered, also those that are taken back: sequences are not.
    fn count_entered(&self) {
        let counted =
            "CREATE SEQUENCE entered; CREATE FUNCTION count_entered() RETURNS trigger LANGUAGE plpgsql AS
                       'BEGIN PERFORM nextval(''entered''); RETURN NEW; END';
                       CREATE TRIGGER count_entered BEFORE INSERT ON actions
                       FOR EACH ROW EXECUTE FUNCTION count_entered()";
        self.database.execute(counted).expect("a trigger");
    }

    async fn entered(&self) -> i64 {
        let sql = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM entered";
        self.onlooker.query_one(sql, &[]).await.expect("a look").get(0)
    }

    async fn is_refused_behind(&self, commit: Commit, meanwhile: &str, reason: &Conflict) {
        let before = log_is_whole(&*self.store).await;
        let answer = self.overtaken(commit, meanwhile).await;
        assert_refused(self, &answer, reason, before).await;
    }
}

/// That a commit was refused for this reason, and how many events the log has: none of them its.
async fn assert_refused(
    scene: &Scene,
    answer: &Result<Committed, CommitError>,
    reason: &Conflict,
    events: u64,
) {
    let refused = matches!(answer, Err(CommitError::Conflict(conflict)) if conflict == reason);
    assert!(refused, "{answer:?}");
    assert_eq!(log_is_whole(&*scene.store).await, events);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_nobody_came_between_is_taken_when_its_turn_comes() {
    for scene in Scene::each().await {
        let case = proposed(1).case;
        let others = "UPDATE head SET last_seq = last_seq";
        scene.overtaken(deciding(&case, "ann", Decision::Approve), others).await.expect("a decision");
        scene.overtaken(opening(proposed(2)), others).await.expect("a proposal");
        assert_eq!(log_is_whole(&*scene.store).await, 3);
        assert_eq!(scene.store.pending_count().await.expect("a count"), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_who_waits_for_an_action_has_the_turn_meanwhile() {
    // What has to be looked at first: it changes the house rules too.
    let scene = Scene::of(Database::fresh(), true).await;
    let change = ControlChange::SetMode(Mode::Shadow);
    let approve = || deciding(&proposed(1).case, "ann", Decision::Approve);
    let looked_at = Commit { control: vec![change], ..approve() };
    let locked = "SELECT * FROM actions FOR UPDATE";
    scene.behind_another_move(looked_at, "SELECT 1 FROM actions%", locked).await.expect("a decision");
    assert_eq!(log_is_whole(&*scene.store).await, 2);
    for scene in Scene::each().await {
        scene.behind_another_move(approve(), ON_TERMS, locked).await.expect("a decision");
        assert_eq!(log_is_whole(&*scene.store).await, 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_is_ended_because_all_wait_for_each_other_tries_again() {
    let approve = || deciding(&proposed(1).case, "ann", Decision::Approve);
    let change = || vec![ControlChange::SetMode(Mode::Shadow)];
    let looked_at = Commit { control: change(), ..approve() };
    let ways = [
        (approve(), ON_TERMS, true),
        (approve(), ON_TERMS, false),
        (looked_at, "SELECT%head FOR UPDATE%", true),
    ];
    for (commit, statement, alone) in ways {
        // Whoever has waited for so long looks whether all wait for each other. The other one does later.
        let database = Database::fresh();
        let patient = "DO $$ BEGIN EXECUTE
                       format('ALTER DATABASE %I SET deadlock_timeout = ''3s''', current_database()); END $$";
        database.execute(patient).expect("patience");
        let scene = Scene::of(database, alone).await;
        scene.holder.batch_execute("SET deadlock_timeout = '1min'").await.expect("more patience");
        scene.holder.batch_execute("BEGIN; SELECT * FROM head FOR UPDATE").await.expect("the lock");
        let store = Arc::clone(&scene.store);
        let waiting = tokio::spawn(async move { store.commit(commit).await });
        let begin = Instant::now();
        while !scene.one_waits(statement).await {
            assert!(begin.elapsed() < PATIENCE && !waiting.is_finished(), "nobody waits: {statement}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // In the wrong order.
        scene
            .holder
            .batch_execute("UPDATE actions SET tool = tool; COMMIT")
            .await
            .expect("the others are ended");
        waiting.await.expect("an answer").expect("a decision");
        assert_eq!(log_is_whole(&*scene.store).await, 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_house_writes_nothing_to_find_out() {
    for scene in Scene::each().await {
        scene.count_entered();
        let limits = Some(PendingLimits { per_agent: 100, total: 0 });
        let answer = scene.store.commit(Commit { limits, ..opening(proposed(2)) }).await;
        assert!(matches!(answer, Err(CommitError::Conflict(Conflict::TooManyPending))), "{answer:?}");
        assert_eq!(scene.entered().await, 0, "a row was written and taken back");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fewer_than_before_may_still_be_too_many() {
    for scene in Scene::each().await {
        for number in [2, 3] {
            scene.store.commit(opening(proposed(number))).await.expect("a proposal");
        }
        // Of three, two are denied; a new one makes two.
        let limited = |per_agent| {
            let mut commit = opening(proposed(4));
            for number in [1, 2] {
                let denial = deciding(&proposed(number).case, "ann", Decision::Deny);
                commit.advanced.extend(denial.advanced);
                commit.events.extend(denial.events);
            }
            Commit { limits: Some(PendingLimits { per_agent, total: 100 }), ..commit }
        };
        let nobody = "SELECT";
        scene.is_refused_behind(limited(1), nobody, &Conflict::TooManyPendingForAgent).await;
        // Room for two is enough, and that is found out without looking.
        let more = "UPDATE pending_by_agents SET count = count + 1";
        scene.is_refused_behind(limited(2), more, &Conflict::TooManyPendingForAgent).await;
        scene.database.execute("UPDATE pending_by_agents SET count = count - 1").expect("room");
        scene.count_entered();
        scene.overtaken(limited(2), nobody).await.expect("room for two");
        assert_eq!(scene.entered().await, 1, "it was entered, taken back, and entered again");
        assert_eq!(log_is_whole(&*scene.store).await, 6);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_move_meets_whoever_moved_the_action_meanwhile() {
    for scene in Scene::each().await {
        let approve = deciding(&proposed(1).case, "ann", Decision::Approve);
        let moved = "UPDATE actions SET revision = revision + 1";
        let answer = scene.behind_another_move(approve, ON_TERMS, moved).await;
        assert_refused(&scene, &answer, &Conflict::CaseMoved(id(1)), 1).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_proposal_meets_its_twin_that_came_meanwhile() {
    for scene in Scene::each().await {
        // As if action 1 were not there yet: nobody can join it.
        let hide =
            "CREATE TABLE hidden AS SELECT id, join_key FROM actions; UPDATE actions SET join_key = NULL";
        scene.database.execute(hide).expect("hidden");
        let mut twin = proposed(1);
        twin.case.id = id(2);
        let show = "UPDATE actions a SET join_key = h.join_key FROM hidden h WHERE h.id = a.id";
        let answer = scene.behind_another_move(opening(twin), ON_TERMS, show).await;
        assert_refused(&scene, &answer, &Conflict::Joinable(id(1)), 1).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_key_that_was_used_meanwhile_is_used() {
    for scene in Scene::each().await {
        let request = Digest::of(b"a request");
        let keyed = |number: u64| {
            let key = IdempotencyKey {
                agent: "riley".into(),
                key: "once".into(),
                request,
                action: id(number),
                at: now(),
            };
            Commit { idempotency: Some(key), ..opening(proposed(number)) }
        };
        scene.store.commit(keyed(2)).await.expect("a proposal");
        let hide = "CREATE TABLE hidden AS SELECT * FROM idempotency_keys; DELETE FROM idempotency_keys";
        scene.database.execute(hide).expect("hidden");
        let show = "INSERT INTO idempotency_keys SELECT * FROM hidden";
        let used = Conflict::IdempotencyKeyUsed { request, action: id(2) };
        let answer = scene.behind_another_move(keyed(3), ON_TERMS, show).await;
        assert_refused(&scene, &answer, &used, 2).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rules_and_people_that_changed_meanwhile_are_met() {
    for scene in Scene::each().await {
        let approve = || deciding(&proposed(1).case, "ann", Decision::Approve);
        let by_rules = Commit { control_epoch: Some(1), ..approve() };
        scene.is_refused_behind(by_rules, "UPDATE head SET epoch = 2", &Conflict::ControlMoved).await;
        let by_people = Commit { people_epoch: Some(1), ..approve() };
        scene.is_refused_behind(by_people, "UPDATE head SET people_epoch = 2", &Conflict::PeopleMoved).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn room_that_was_taken_meanwhile_is_taken() {
    for scene in Scene::each().await {
        let limited = |per_agent, total| Commit {
            limits: Some(PendingLimits { per_agent, total }),
            ..opening(proposed(2))
        };
        let agent = "UPDATE pending_by_agents SET count = 3";
        scene.is_refused_behind(limited(3, 100), agent, &Conflict::TooManyPendingForAgent).await;
        let all = "UPDATE head SET pending = 5; UPDATE pending_by_agents SET count = 1";
        scene.is_refused_behind(limited(100, 5), all, &Conflict::TooManyPending).await;
        // The last place is a place.
        scene.database.execute("UPDATE head SET pending = 1").expect("room");
        let last = "UPDATE head SET pending = 4; UPDATE pending_by_agents SET count = 2";
        scene.overtaken(limited(3, 5), last).await.expect("a proposal");
    }
}
