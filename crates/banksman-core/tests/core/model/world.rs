//! What the house looks like at one moment, and what can happen next.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use banksman_core::audit::{ActionRef, Event};
use banksman_core::{
    Actor, Ballot, Case, ClaimRequest, Command, Decision, Digest, Edit, Freeze, Moment, Opening, Outcome,
    State, Status, Timestamp, Transition, open, step,
};
use stateright::{Model, Property};

use super::House;
use crate::fixture::{action_id, agent, freeze, second};

/// What a store makes a commit depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commit {
    /// Nothing: the last writer wins. Wrong, and here to show that the model notices.
    Blindly,
    /// The case is as it was read. What the core's own properties need.
    IfRevisionUnchanged,
    /// The same, and also nothing was frozen and no deadline passed in between.
    IfMomentUnchangedToo,
}

/// The house at one moment. Only `case` is what a store would hold; `book` is what an observer would remember.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct World {
    pub(super) tick: u8,
    pub(super) frozen: bool,
    freezes_left: u8,
    pub(super) case: Arc<Case>,
    flights: Vec<Flight>,
    executors: [Executor; 2],
    pub(super) book: Book,
}

/// A command that has been computed and not yet been committed.
#[derive(Debug, Clone, PartialEq)]
struct Flight {
    who: Who,
    verb: Verb,
    /// The revision that it was computed on.
    read: u64,
    case: Arc<Case>,
    event: Arc<Event>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Executor {
    Idle,
    /// It runs what has this digest.
    Running(Digest),
    /// It has said how it ended.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Who {
    Person(usize),
    Agent,
    Executor(usize),
    Worker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Verb {
    Decide { decision: Decision, seen: Seen },
    Edit { to: usize, seen: Seen },
    Cancel,
    Claim { submission: usize },
    Report,
    PassTime,
}

/// What someone had on the screen when they decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    pub(super) version: u32,
    pub(super) digest: Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Tick,
    Freeze,
    /// Someone's command is computed on the case as it is now.
    Begin(Who, Verb),
    Commit(usize),
    /// It came too late and is computed again.
    Recompute(usize),
    /// It came too late and is given up. A process that dies before its commit is a command never begun.
    Drop(usize),
    /// An executor dies and starts again without its memory.
    Crash(usize),
}

/// What an observer who sees every commit would have written down.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Book {
    pub(super) events: u64,
    pub(super) last: Option<(u64, u32, Digest, Status)>,
    /// Every status that the case has had, in order.
    pub(super) been: Vec<Status>,
    pub(super) votes: Vec<Vote>,
    pub(super) runs: Vec<Run>,
    pub(super) reports: u8,
    pub(super) deadline: Option<Timestamp>,
}

/// One decision that was committed, and the case that it met.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Vote {
    pub(super) by: usize,
    pub(super) decision: Decision,
    pub(super) seen: Seen,
    pub(super) met: Seen,
    pub(super) at: Timestamp,
    pub(super) deadline: Option<Timestamp>,
}

/// One execution that began, and the authorisation that it began with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) digest: Digest,
    pub(super) authorised: Option<Digest>,
    pub(super) lapses_at: Option<Timestamp>,
    pub(super) at: Timestamp,
    /// The moment of the commit, which is later than that of the claim if its process was slow.
    pub(super) committed_at: Timestamp,
    pub(super) while_frozen: bool,
}

/// The checker tells states apart by their hash alone, so everything that varies has to be in it.
impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.tick, self.frozen, self.freezes_left, &self.executors, &self.book).hash(hasher);
        hash_case(&self.case, hasher);
        self.flights.len().hash(hasher);
        for flight in &self.flights {
            (flight.who, flight.verb, flight.read, flight.event.at).hash(hasher);
            hash_case(&flight.case, hasher);
        }
    }
}

fn hash_case<H: Hasher>(case: &Case, hasher: &mut H) {
    (case.revision, case.version, case.submission.digest, case.status(), case.state.wakes_at()).hash(hasher);
    for review in &case.reviews {
        (&review.by, review.decision, review.version, review.at).hash(hasher);
    }
    match &case.state {
        State::Blocked { at, .. } | State::Expired { at } | State::Lapsed { at } => at.hash(hasher),
        State::Denied { at, by } | State::Cancelled { at, by, .. } | State::Revoked { at, by, .. } => {
            (at, by).hash(hasher);
        }
        State::Authorised { at, .. } => at.hash(hasher),
        State::Pending { chain, .. } => chain.hash(hasher),
        State::Executing { claim, .. } => (claim.at, claim.lease_expires_at).hash(hasher),
        State::Succeeded { claim, at, .. }
        | State::Failed { claim, at, .. }
        | State::Unknown { claim, at, .. } => {
            (claim.at, claim.lease_expires_at, at).hash(hasher);
        }
    }
}

impl World {
    pub(super) fn now(&self) -> Timestamp {
        second(i64::from(self.tick))
    }

    fn seen(&self) -> Seen {
        Seen { version: self.case.version, digest: self.case.submission.digest }
    }

    fn write_down(&mut self, transition: Case, told: &ActionRef) {
        self.case = Arc::new(transition);
        self.book.events += 1;
        self.book.last = Some((told.revision, told.version, told.digest, told.status));
        let status = self.case.status();
        if self.book.been.last() != Some(&status) {
            self.book.been.push(status);
        }
        if let State::Pending { deadline, .. } = self.case.state {
            self.book.deadline = Some(deadline);
        }
    }
}

impl House {
    fn moment<'a>(&self, world: &World, freeze: &'a Freeze) -> Moment<'a> {
        Moment { freeze: world.frozen.then_some(freeze), ..Moment::at(world.now()) }
    }

    fn command(&self, who: Who, verb: Verb) -> Command {
        let ballot = |decision, seen: Seen| Ballot {
            reviewer: match who {
                Who::Person(index) => self.people[index].clone(),
                Who::Agent | Who::Executor(_) | Who::Worker => agent(),
            },
            lent: Vec::new(),
            brought_by: None,
            decision,
            version: seen.version,
            digest: seen.digest,
            reason: None,
            message: None,
            remember: false,
            step_up: None,
        };
        match verb {
            Verb::Decide { decision, seen } => Command::Decide(ballot(decision, seen)),
            Verb::Edit { to, seen } => Command::Edit(Edit {
                ballot: ballot(Decision::Modify, seen),
                submission: Arc::clone(&self.submissions[to]),
            }),
            Verb::Cancel => {
                let by = match who {
                    Who::Person(_) => Actor::Reviewer { name: "ann".into() },
                    Who::Agent | Who::Executor(_) | Who::Worker => Actor::Agent { name: "riley".into() },
                };
                Command::Cancel { by, reason: None }
            }
            Verb::Claim { submission } => Command::Claim(ClaimRequest {
                digest: self.submissions[submission].digest,
                preconditions: None,
            }),
            Verb::Report => Command::Report(Outcome::Succeeded { result: None }),
            Verb::PassTime => Command::PassTime,
        }
    }

    fn compute(&self, world: &World, who: Who, verb: Verb) -> Option<Flight> {
        let freeze = freeze();
        let Transition { case, event, .. } =
            step(&world.case, self.command(who, verb), &self.moment(world, &freeze)).ok()?;
        Some(Flight { who, verb, read: world.case.revision, case: Arc::new(case), event: Arc::from(event) })
    }

    /// Whether the store would take it.
    fn may_commit(&self, world: &World, flight: &Flight) -> bool {
        let unchanged = flight.read == world.case.revision;
        match self.commit {
            Commit::Blindly => true,
            Commit::IfRevisionUnchanged => unchanged,
            Commit::IfMomentUnchangedToo => {
                let freeze = freeze();
                unchanged
                    && step(&world.case, self.command(flight.who, flight.verb), &self.moment(world, &freeze))
                        .is_ok()
            }
        }
    }

    fn commit(&self, world: &mut World, flight: Flight) {
        let before = Arc::clone(&world.case);
        let met = world.seen();
        let deadline = world.book.deadline;
        let at = flight.event.at;
        match (flight.who, flight.verb) {
            (Who::Person(by), Verb::Decide { decision, seen }) => {
                world.book.votes.push(Vote { by, decision, seen, met, at, deadline });
            }
            (Who::Person(by), Verb::Edit { seen, .. }) => {
                world.book.votes.push(Vote { by, decision: Decision::Modify, seen, met, at, deadline });
            }
            (Who::Executor(index), Verb::Claim { submission }) => {
                let digest = self.submissions[submission].digest;
                let lapses_at = match before.state {
                    State::Authorised { lapses_at, .. } => Some(lapses_at),
                    _ => None,
                };
                world.book.runs.push(Run {
                    digest,
                    authorised: lapses_at.map(|_| before.submission.digest),
                    lapses_at,
                    at,
                    committed_at: world.now(),
                    while_frozen: world.frozen,
                });
                world.executors[index] = Executor::Running(digest);
            }
            (Who::Executor(index), Verb::Report) => {
                world.book.reports += 1;
                world.executors[index] = Executor::Done;
            }
            _ => {}
        }
        world.write_down((*flight.case).clone(), flight.event.action.as_ref().unwrap());
    }

    /// What each could ask for now, whether or not it will be granted.
    fn wishes(&self, world: &World) -> Vec<(Who, Verb)> {
        let mut wishes = vec![(Who::Worker, Verb::PassTime)];
        // A reviewer may look at what is there now, or still have the first version on the screen, or be shown one
        // version's number with another's arguments by a page that was tampered with.
        let first = Seen { version: 1, digest: self.submissions[0].digest };
        let mixed = Seen { version: world.case.version, ..first };
        let mut screens = vec![world.seen(), first, mixed];
        screens.dedup();
        for person in 0..self.people.len() {
            for &seen in &screens {
                let who = Who::Person(person);
                wishes.push((who, Verb::Decide { decision: Decision::Approve, seen }));
                if self.tries.deny {
                    wishes.push((who, Verb::Decide { decision: Decision::Deny, seen }));
                }
                // Also into what it was: then only the version tells the two apart.
                if world.case.version == 1 && self.submissions.len() > 1 {
                    wishes.extend((0..self.submissions.len()).map(|to| (who, Verb::Edit { to, seen })));
                }
            }
        }
        if self.tries.cancel {
            wishes.push((Who::Agent, Verb::Cancel));
        }
        // To cancel what is authorised is to revoke it.
        if self.tries.revoke && world.case.status() == Status::Authorised {
            wishes.push((Who::Person(0), Verb::Cancel));
        }
        for (index, executor) in world.executors.iter().enumerate() {
            match executor {
                Executor::Idle => {
                    let claims = (0..self.submissions.len()).map(|submission| Verb::Claim { submission });
                    wishes.extend(claims.map(|claim| (Who::Executor(index), claim)));
                }
                Executor::Running(_) => wishes.push((Who::Executor(index), Verb::Report)),
                Executor::Done => {}
            }
        }
        wishes
    }
}

impl Model for House {
    type State = World;
    type Action = Step;

    /// The proposal comes to a house that is at work, or to one that is frozen.
    fn init_states(&self) -> Vec<World> {
        [false, true]
            .map(|frozen| {
                let freeze = freeze();
                let moment = Moment { freeze: frozen.then_some(&freeze), ..Moment::at(second(0)) };
                let submission = Arc::clone(&self.submissions[0]);
                let opening =
                    Opening { id: action_id(), agent: agent(), batch: None, submission, grant: None };
                let Transition { case, event, .. } = open(opening, &moment);
                let mut world = World {
                    tick: 0,
                    frozen,
                    freezes_left: self.freezes,
                    case: Arc::new(case.clone()),
                    flights: Vec::new(),
                    executors: [Executor::Idle; 2],
                    book: Book::default(),
                };
                world.write_down(case, event.action.as_ref().unwrap());
                world
            })
            .into()
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if world.tick < self.ends {
            steps.push(Step::Tick);
        }
        if world.freezes_left > 0 {
            steps.push(Step::Freeze);
        }
        for (index, executor) in world.executors.iter().enumerate() {
            if matches!(executor, Executor::Running(_)) {
                steps.push(Step::Crash(index));
            }
        }
        for (index, flight) in world.flights.iter().enumerate() {
            if self.may_commit(world, flight) {
                steps.push(Step::Commit(index));
            } else {
                steps.extend([Step::Recompute(index), Step::Drop(index)]);
            }
        }
        if world.flights.len() < self.at_once {
            let busy = |who| world.flights.iter().any(|flight| flight.who == who);
            let free = self.wishes(world).into_iter().filter(|(who, _)| !busy(*who));
            steps.extend(free.map(|(who, verb)| Step::Begin(who, verb)));
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        match step {
            Step::Tick => next.tick += 1,
            Step::Freeze => {
                next.frozen = !next.frozen;
                next.freezes_left -= 1;
            }
            Step::Begin(who, verb) => next.flights.push(self.compute(world, who, verb)?),
            Step::Commit(index) => {
                let flight = next.flights.remove(index);
                self.commit(&mut next, flight);
            }
            Step::Recompute(index) => {
                let flight = next.flights.remove(index);
                // Refused on the fresh case: that is the answer, and nothing is left to commit.
                if let Some(again) = self.compute(world, flight.who, flight.verb) {
                    next.flights.push(again);
                }
            }
            Step::Drop(index) => drop(next.flights.remove(index)),
            Step::Crash(index) => next.executors[index] = Executor::Idle,
        }
        // Which of two commands was begun first does not matter.
        next.flights.sort_by_key(|flight| flight.who);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        super::properties::all(self)
    }
}
