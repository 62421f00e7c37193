//! With a million actions pending, everything takes about as long as with a thousand.
//!
//! Plans of SQLite are looked at elsewhere (`src/sqlite/tests/plans.rs`); here it is what everything costs that a node
//! asks of its store, as a ratio within one run, so that a slow machine is slow on both sides. With SQLite that is the
//! processor's time of this process, which others on the machine do not lengthen; with PostgreSQL, which works elsewhere,
//! the pages that it reads. What reads every row costs hundreds of times as much; what finds its way through an index
//! hardly any more.
//!
//! Building a million takes a minute and a half without optimisation, and 1.6 GB of disk: too much for every run of
//! the suite. So by default there are 200,000, which is still two hundred times as many and takes fifteen seconds.
//! `BANKSMAN_MILLION=1 cargo xtask postgres cargo test -p banksman-store --test store million -- --nocapture` makes it
//! a million, and shows the costs.

mod postgres;
mod sqlite;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, ActionId, Assessment, Ballot, Command, Decision, Digest, Kind, Moment, Notice, Opening,
    Principal, PrincipalKind, Risk, Submission, Tier, Timestamp, TokenId, Transition, Verdict, open, step,
};
use banksman_store::{
    AdvancedCase, CaseQuery, Commit, EventQuery, IdempotencyKey, NoticeRow, Order, PendingLimits, Store,
};

const FEW: u64 = 1_000;
const MANY: u64 = 200_000;
const A_MILLION: u64 = 1_000_000;

/// How often each is done.
const TIMES: u32 = 50;

/// How many actions are built in one commit.
const TOGETHER: u64 = 5_000;

/// A page: small enough that every list below fills it with a thousand rows as well as with a million.
const PAGE: usize = 10;

/// Names are dealt out so that every combination of them occurs.
const AGENTS: u64 = 5;
const TOOLS: u64 = 4;

/// The oldest are unlike all others: whoever asks for them alone must not have to pass everything else.
const RARE: u64 = 3 * PAGE as u64;

/// A store and what is in it.
struct Queue {
    store: Arc<dyn Store>,
    began: Timestamp,
    /// Actions by number: all below this are there.
    size: u64,
    /// Those that are no longer pending.
    decided: HashSet<u64>,
}

fn agent(number: u64) -> String {
    if number < RARE { "a-rare-agent".into() } else { format!("agent-{}", number % AGENTS) }
}

fn tool(number: u64) -> String {
    if number < RARE { "a-rare-tool".into() } else { format!("tool-{}", number / AGENTS % TOOLS) }
}

fn tier(number: u64) -> Tier {
    if number < RARE { Tier::Escalate } else { Tier::Approve }
}

fn person(kind: PrincipalKind, name: &str) -> Principal {
    Principal { token: TokenId::from_parts(0, 7), kind, name: name.into(), owner: None, roles: Vec::new() }
}

impl Queue {
    fn new(store: Arc<dyn Store>) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
        let began = Timestamp::from_micros(0).after(since_1970);
        Self { store, began, size: 0, decided: HashSet::new() }
    }

    /// Ids ascend with their numbers, like those of actions that come one after the other.
    fn id(&self, number: u64) -> ActionId {
        ActionId::from_parts(self.began.as_millis() + number, u128::from(number))
    }

    /// What an agent asks for, unlike anything else, as the engine would open it.
    fn proposal(&self, number: u64) -> Transition {
        let args = CanonicalJson::parse(format!(r#"{{"amount":{number}}}"#).as_bytes()).expect("JSON");
        let action = Action::bare(tool(number), Kind::Tool, args);
        let verdict = Verdict {
            matched: vec!["refunds".into()],
            // Deadlines are all different, and none comes while this runs.
            timeout_seconds: 36_000 + number % 1000,
            ..Verdict::new(tier(number), Risk::High, "refunds")
        };
        let assessment = Assessment::of(Vec::new());
        let submission = Arc::new(Submission::new(action, assessment, verdict));
        let opening = Opening {
            id: self.id(number),
            agent: person(PrincipalKind::Agent, &agent(number)),
            batch: None,
            submission,
            grant: None,
        };
        open(opening, &Moment::at(self.began.after(Duration::from_millis(number))))
    }

    async fn grow(&mut self, size: u64) {
        while self.size < size {
            let mut commit = Commit::default();
            for number in self.size..size.min(self.size + TOGETHER) {
                let transition = self.proposal(number);
                commit.opened.push(Arc::new(transition.case));
                commit.events.push(*transition.event);
                self.size += 1;
            }
            self.store.commit(commit).await.expect("room on the disk");
        }
    }

    /// One more, guarded and recorded as the engine does it.
    async fn propose(&mut self) {
        let number = self.size;
        self.size += 1;
        let transition = self.proposal(number);
        let (id, at) = (transition.case.id, transition.event.at);
        let key = IdempotencyKey {
            agent: agent(number),
            key: format!("key-{number}"),
            request: Digest::of(&number.to_be_bytes()),
            action: id,
            at,
        };
        let commit = Commit {
            limits: Some(PendingLimits { per_agent: 2 * A_MILLION, total: 2 * A_MILLION }),
            opened: vec![Arc::new(transition.case)],
            idempotency: Some(key),
            events: vec![*transition.event],
            notices: vec![NoticeRow { action: id, notice: Notice::Held, at }],
            ..Commit::default()
        };
        self.store.commit(commit).await.expect("a proposal that is new");
    }

    /// Approves one from anywhere in the queue.
    async fn decide(&mut self) {
        let anywhere = (0..).map(|step| (self.size / 2 + 7919 * step) % self.size);
        let number = anywhere.filter(|number| *number >= RARE).find(|number| self.decided.insert(*number));
        let number = number.expect("there is always one more");
        let case = self.store.case(self.id(number)).await.expect("a store").expect("an action");
        let ballot = Ballot {
            reviewer: person(PrincipalKind::Reviewer, "ann"),
            lent: Vec::new(),
            brought_by: None,
            decision: Decision::Approve,
            version: case.version,
            digest: case.submission.digest,
            reason: None,
            message: None,
            remember: false,
            step_up: None,
        };
        let moment = Moment::at(self.began.after(Duration::from_secs(1)));
        let transition = step(&case, Command::Decide(ballot), &moment).expect("a decision in time");
        let advanced = AdvancedCase {
            case: Arc::new(transition.case),
            was_pending: true,
            before: case.state.wakes_at(),
            new_submission: false,
        };
        let commit =
            Commit { advanced: vec![advanced], events: vec![*transition.event], ..Commit::default() };
        self.store.commit(commit).await.expect("a decision on what is pending");
    }
}

/// What each thing costs, in the unit of its meter.
type Costs = BTreeMap<String, f64>;

/// Tells what something costs.
trait Meter {
    /// How many times as much something may cost with many actions as with few.
    const AT_MOST: f64;

    /// What this costs, done [`TIMES`] times.
    async fn cost(&self, work: impl AsyncFnMut()) -> f64;
}

/// Every list that people can ask for: of what is common, at its beginning and in its middle; and of what is rare.
fn lists(queue: &Queue) -> Vec<(String, CaseQuery)> {
    let both_ways = [("oldest first", Order::Ascending), ("newest first", Order::Descending)];
    let middle = Some(queue.id(queue.size / 2));
    let mut lists = Vec::new();
    for (way, order) in both_ways {
        for (place, after) in [("first page", None), ("page in the middle", middle)] {
            let everything = CaseQuery { after, order, ..CaseQuery::newest(PAGE) };
            lists.push((format!("everything, {place}, {way}"), everything));
            for (filters, query) in filtered(RARE) {
                let query = CaseQuery { after, order, ..query };
                lists.push((format!("pending by [{filters}], {place}, {way}"), query));
            }
        }
        for (filters, query) in filtered(0) {
            lists.push((format!("pending by rare [{filters}], {way}"), CaseQuery { order, ..query }));
        }
    }
    lists
}

/// Pending actions like this one, by each combination of filters.
fn filtered(number: u64) -> Vec<(String, CaseQuery)> {
    (0..8)
        .map(|chosen| {
            let query = CaseQuery {
                agent: (chosen & 1 != 0).then(|| agent(number)),
                tool: (chosen & 2 != 0).then(|| tool(number)),
                tier: (chosen & 4 != 0).then(|| tier(number)),
                ..CaseQuery::pending(PAGE)
            };
            let names = [
                query.agent.as_ref().map(|_| "agent"),
                query.tool.as_ref().map(|_| "tool"),
                query.tier.map(|_| "tier"),
            ];
            (names.into_iter().flatten().collect::<Vec<_>>().join("+"), query)
        })
        .collect()
}

/// What everything costs that must not depend on how much there is.
async fn costs(queue: &mut Queue, meter: &impl Meter) -> Costs {
    let mut costs = Costs::new();
    let store = Arc::clone(&queue.store);
    for (name, query) in lists(queue) {
        let list = async || {
            let page = store.cases(query.clone()).await.expect("a page");
            assert_eq!(page.len(), PAGE, "{name}");
        };
        let cost = meter.cost(list).await;
        costs.insert(name, cost);
    }
    let mut note = |name: &str, cost| costs.insert(name.to_owned(), cost);

    let one = queue.id(queue.size / 3);
    let look = async || assert!(store.case(one).await.expect("a store").is_some());
    note("one action", meter.cost(look).await);

    let (now, later) = (queue.began, queue.began.after(Duration::from_secs(100_000)));
    let nothing = async || assert!(store.due(now, PAGE).await.expect("a list").is_empty());
    note("what is due, when nothing is", meter.cost(nothing).await);
    let all = async || assert_eq!(store.due(later, PAGE).await.expect("a list").len(), PAGE);
    note("what is due, when all is", meter.cost(all).await);
    let soon = async || assert!(store.next_due().await.expect("a store").is_some());
    note("what is due next", meter.cost(soon).await);

    let recent = EventQuery::following(queue.size - FEW / 2, PAGE);
    let follow = async || assert_eq!(store.events(recent.clone()).await.expect("a page").len(), PAGE);
    note("following the log", meter.cost(follow).await);
    let history = EventQuery { action: Some(one), ..EventQuery::following(0, PAGE) };
    let read = async || assert!(!store.events(history.clone()).await.expect("a page").is_empty());
    note("the history of an action", meter.cost(read).await);

    note("proposing", meter.cost(async || queue.propose().await).await);
    note("deciding", meter.cost(async || queue.decide().await).await);
    costs
}

/// What costs too many times as much with many as with few.
fn dearer(few: &Costs, many: &Costs, at_most: f64) -> Vec<String> {
    let mut dearer = Vec::new();
    for (name, with_many) in many {
        let times = with_many / few[name];
        eprintln!("{times:6.2}  {:>10.1} {with_many:>10.1}  {name}", few[name]);
        if times > at_most {
            dearer.push(format!("{name} costs {times:.1} times as much: {with_many}"));
        }
    }
    dearer
}

async fn many_slow_nothing_down<M: Meter>(store: Arc<dyn Store>, meter: M) {
    let size = if std::env::var_os("BANKSMAN_MILLION").is_some() { A_MILLION } else { MANY };
    let mut queue = Queue::new(store);
    queue.grow(FEW).await;
    let few = costs(&mut queue, &meter).await;
    queue.grow(size).await;
    let mut many = costs(&mut queue, &meter).await;
    if !dearer(&few, &many, M::AT_MOST).is_empty() {
        // What reads too much does so again; what the machine did besides is over.
        for (name, cost) in costs(&mut queue, &meter).await {
            many.entry(name).and_modify(|first| *first = first.min(cost));
        }
    }
    let found = dearer(&few, &many, M::AT_MOST);
    assert!(found.is_empty(), "with {size} actions instead of {FEW}\n{}", found.join("\n"));
}
