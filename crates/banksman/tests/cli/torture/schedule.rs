//! What breaks, where and when: a function of the seed and nothing else, so that a run can be had again.

use std::collections::BTreeMap;
use std::time::Duration;

use banksman_faults::{Moment, Trap, Weather};

use crate::chance::Chance;

/// The ways in which something breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// `kill -9` of a node.
    KillNode,
    /// `SIGSTOP` of a node, perhaps for longer than the database suffers it to hold the lock.
    FreezeNode,
    /// The line of a node is cut before, or after, its next commit, or falls silent there.
    CutBeforeCommit,
    CutAfterCommit,
    SilentBeforeCommit,
    SilentAfterCommit,
    /// The line of a node is cut at any moment.
    CutLine,
    SlowLine,
    /// Connections are taken and nobody answers.
    SilentLine,
    /// No connection can be had.
    NoLine,
    /// `kill -9` of the whole database server, which recovers when it is started again.
    CrashDatabase,
    /// `kill -9` of one of its processes, from which it recovers by itself.
    CrashConnection,
    /// `kill -9` of the whole database server, whose standby takes over.
    FailOver,
}

impl Fault {
    pub(super) const ALL: [Self; 13] = [
        Self::KillNode,
        Self::FreezeNode,
        Self::CutBeforeCommit,
        Self::CutAfterCommit,
        Self::SilentBeforeCommit,
        Self::SilentAfterCommit,
        Self::CutLine,
        Self::SlowLine,
        Self::SilentLine,
        Self::NoLine,
        Self::CrashDatabase,
        Self::CrashConnection,
        Self::FailOver,
    ];
}

/// Something to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Kill(usize),
    Start(usize),
    Freeze(usize),
    Thaw(usize),
    Lay(usize, Trap),
    Cut(usize),
    Change(usize, Weather),
    CrashDatabase,
    /// Chosen by a number among those that there are.
    CrashConnection(u64),
    FailOver,
}

/// A step, when it is due, and the fault that begins with it, if one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) at: Duration,
    pub(super) step: Step,
    pub(super) begins: Option<Fault>,
}

/// An endless series of steps, in order of time. Faults on different nodes overlap; each kind comes once before any
/// comes again.
pub(super) struct Schedule {
    chance: Chance,
    /// How many milliseconds to wait for the next fault, at the most.
    gap: u64,
    /// When the next fault comes, at the earliest.
    next: Duration,
    /// Until when each node has enough to bear.
    busy: Vec<Duration>,
    /// What is planned already, by time and then in the order of planning.
    planned: BTreeMap<(Duration, u64), Due>,
    count: u64,
    round: Vec<Fault>,
}

impl Schedule {
    pub(super) fn new(seed: u64, nodes: usize, gap: u64) -> Self {
        Self {
            chance: Chance::new(seed),
            gap,
            next: Duration::ZERO,
            busy: vec![Duration::ZERO; nodes],
            planned: BTreeMap::new(),
            count: 0,
            round: Vec::new(),
        }
    }

    fn plan(&mut self, at: Duration, step: Step, begins: Option<Fault>) {
        self.planned.insert((at, self.count), Due { at, step, begins });
        self.count += 1;
    }

    fn fault(&mut self) -> Fault {
        if self.round.is_empty() {
            self.round = Fault::ALL.to_vec();
        }
        let count = u64::try_from(self.round.len()).unwrap();
        self.round.swap_remove(usize::try_from(self.chance.below(count)).unwrap())
    }

    /// A node that has nothing to bear, at the time that this is so.
    fn node(&mut self) -> usize {
        let soonest = self.busy.iter().min().copied().unwrap();
        self.next = self.next.max(soonest);
        let free: Vec<usize> = (0..self.busy.len()).filter(|node| self.busy[*node] <= self.next).collect();
        self.chance.one_of(&free).unwrap()
    }

    /// A fault that ends by itself with another step.
    fn lasting(&mut self, node: usize, least: u64, most: u64, end: Step) {
        let until = self.next + Duration::from_millis(least) + self.chance.up_to_millis(most - least);
        self.busy[node] = until;
        self.plan(until, end, None);
    }

    fn begin(&mut self, fault: Fault) -> Step {
        if let Fault::CrashDatabase = fault {
            return Step::CrashDatabase;
        }
        if let Fault::CrashConnection = fault {
            return Step::CrashConnection(self.chance.next());
        }
        if let Fault::FailOver = fault {
            return Step::FailOver;
        }
        let node = self.node();
        let lay = |at, silent| Step::Lay(node, Trap { at, silent });
        let fair = Step::Change(node, Weather::Fair);
        match fault {
            Fault::KillNode => {
                self.lasting(node, 20, 1_500, Step::Start(node));
                Step::Kill(node)
            }
            Fault::FreezeNode => {
                self.lasting(node, 200, 7_000, Step::Thaw(node));
                Step::Freeze(node)
            }
            Fault::SlowLine => {
                self.lasting(node, 500, 3_000, fair);
                Step::Change(node, Weather::Slow(self.chance.up_to_millis(60)))
            }
            Fault::SilentLine => {
                self.lasting(node, 300, 7_000, fair);
                Step::Change(node, Weather::Silent)
            }
            Fault::NoLine => {
                self.lasting(node, 100, 2_500, fair);
                Step::Change(node, Weather::Away)
            }
            Fault::CutLine => Step::Cut(node),
            Fault::CutBeforeCommit => lay(Moment::BeforeCommit, false),
            Fault::CutAfterCommit => lay(Moment::AfterCommit, false),
            Fault::SilentBeforeCommit => lay(Moment::BeforeCommit, true),
            Fault::SilentAfterCommit => lay(Moment::AfterCommit, true),
            Fault::CrashDatabase | Fault::CrashConnection | Fault::FailOver => {
                unreachable!("these have no node")
            }
        }
    }
}

impl Iterator for Schedule {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        // No fault that is still to be planned comes before `next`.
        while self.planned.first_key_value().is_none_or(|((at, _), _)| *at >= self.next) {
            let fault = self.fault();
            let step = self.begin(fault);
            self.plan(self.next, step, Some(fault));
            self.next += self.chance.up_to_millis(self.gap);
        }
        self.planned.pop_first().map(|(_, due)| due)
    }
}

#[test]
fn a_seed_plans_the_same_again_in_order_of_time_and_of_every_kind() {
    for seed in 0..50 {
        let plan: Vec<Due> = Schedule::new(seed, 3, 1_000).take(300).collect();
        assert_eq!(plan, Schedule::new(seed, 3, 1_000).take(300).collect::<Vec<_>>());
        assert!(plan.is_sorted_by_key(|due| due.at), "{seed}");
        let first: Vec<Fault> = plan.iter().filter_map(|due| due.begins).take(Fault::ALL.len()).collect();
        assert!(Fault::ALL.iter().all(|fault| first.contains(fault)), "{seed}: {first:?}");
    }
    assert!(!Schedule::new(1, 3, 1_000).take(20).eq(Schedule::new(2, 3, 1_000).take(20)));
}

#[test]
fn nobody_is_killed_twice_or_thawed_unfrozen() {
    for seed in 0..50 {
        let (mut up, mut frozen) = ([true; 3], [false; 3]);
        for due in Schedule::new(seed, 3, 1_000).take(500) {
            match due.step {
                Step::Kill(node) => assert!(std::mem::replace(&mut up[node], false) && !frozen[node]),
                Step::Start(node) => assert!(!std::mem::replace(&mut up[node], true)),
                Step::Freeze(node) => assert!(!std::mem::replace(&mut frozen[node], true) && up[node]),
                Step::Thaw(node) => assert!(std::mem::replace(&mut frozen[node], false)),
                Step::Lay(..)
                | Step::Cut(_)
                | Step::Change(..)
                | Step::CrashDatabase
                | Step::CrashConnection(_)
                | Step::FailOver => {}
            }
        }
    }
}
