//! Where a group becomes a transaction: the session that writes, and what is done with it.
//!
//! Nodes take turns by the lock on `head`. Most groups are one statement, which writes, locks and commits if the database
//! finds that the group's terms hold. Other groups, and those whose terms do not hold, take two round trips however large they
//! are: lock and look, then write and commit. The database itself turns `COMMIT` into a roll-back where a write did not do all
//! that it should.
//!
//! The session is also the one that listens to what other nodes commit (see [`super::heard`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use banksman_core::Digest;

use super::address::Address;
use super::clock::{self, NodeClock};
use super::entry::Turn;
use super::guards::{Judgement, Known};
use super::heard::Heard;
use super::news::CHANNEL;
use super::own::Own;
use super::session::{Session, failed, is_unknown, is_victim, told, within};
use super::telling::{Telling, tell};
use super::terms::Terms;
use super::untold::Untold;
use super::wanted::{self, Looks, Wanted};
use super::writes::{self, Pens, Taken, WriteError};
use crate::encode::EncodedCommit;
use crate::{CommitError, Committed, StoreError};

/// How long a group may take before its connection counts as lost. Longer than the database's own limits, so that
/// usually the database says what is wrong; not much longer, because all that this node writes waits for it.
const PATIENCE: Duration = Duration::from_secs(12);

/// How long to wait before connecting again: from the first to at most the last, twice as long each time.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// How often a group is tried again that was ended because it and others waited for each other.
const VICTIM: usize = 2;

pub(super) type Answer = Result<Committed, CommitError>;

/// What the writer works with.
pub(super) struct Desk {
    address: Address,
    session: Option<Session>,
    /// Prepared for the session.
    tools: Option<(Looks, Pens)>,
    /// After a failure to connect: until when nobody tries, the next pause, and what is said meanwhile.
    closed: Option<(Instant, Duration, StoreError)>,
    /// Which events are our own.
    own: Arc<Own>,
    /// What its session is told by the way.
    heard: Arc<Heard>,
    /// What this machine takes for the time.
    clock: NodeClock,
    /// What others have not been told yet.
    untold: Untold,
    /// How long the last transaction took.
    took: Duration,
    /// Where the log ended when we last wrote, and whether others had written since the time before. Until we know, they have.
    last_seq: u64,
    others_write: bool,
}

/// What became of a commit.
pub(super) enum Outcome {
    Answered(Answer),
    PutOff,
}

/// Why a whole group did not happen.
enum GroupError {
    /// The database refused it, and nothing of it happened. It can be tried in smaller parts.
    Refused(StoreError),
    /// Nothing of it happened, and that is nobody's fault: the lock was not to be had, the database takes no writes, or
    /// the clocks disagree. Smaller parts would fare no better.
    Barred(StoreError),
    /// Nobody knows. What was sent may have happened, so it must not be sent again.
    Lost(StoreError),
}

impl Desk {
    pub(super) fn new(
        address: Address,
        session: Session,
        own: Arc<Own>,
        heard: Arc<Heard>,
        clock: NodeClock,
        every: Duration,
    ) -> Self {
        Self {
            address,
            session: Some(session),
            tools: None,
            closed: None,
            own,
            heard,
            clock,
            untold: Untold::new(every),
            took: Duration::ZERO,
            last_seq: 0,
            others_write: true,
        }
    }

    /// Whether others had written when we last did.
    pub(super) fn others_write(&self) -> bool {
        self.others_write
    }

    /// Commits a group; answers as many outcomes as there are commits.
    pub(super) async fn commit(&mut self, commits: &[&EncodedCommit]) -> Vec<Outcome> {
        let mut answer = self.transact(commits).await;
        for _ in 0..VICTIM {
            match &answer {
                Err(GroupError::Refused(error) | GroupError::Barred(error)) if is_victim(error) => {
                    tracing::debug!(%error, "a group was in the way of others; trying it again");
                    answer = self.transact(commits).await;
                }
                Ok(_) | Err(_) => break,
            }
        }
        match answer {
            Ok(outcomes) => outcomes,
            // One of them broke the transaction. Each gets one of its own, so that only the culprit fails.
            Err(GroupError::Refused(error)) if commits.len() > 1 => {
                tracing::warn!(%error, commits = commits.len(), "a grouped commit failed; trying them one by one");
                self.one_by_one(commits, error).await
            }
            Err(GroupError::Refused(error) | GroupError::Barred(error) | GroupError::Lost(error)) => {
                tracing::error!(%error, commits = commits.len(), "commits failed");
                commits.iter().map(|_| Outcome::Answered(Err(error.clone().into()))).collect()
            }
        }
    }

    /// Each in a transaction of its own. Once that is of no use any more, the rest are told so and not tried.
    async fn one_by_one(&mut self, commits: &[&EncodedCommit], why: StoreError) -> Vec<Outcome> {
        let until = Instant::now() + PATIENCE;
        let mut outcomes = Vec::with_capacity(commits.len());
        let mut over = None;
        for commit in commits {
            if Instant::now() > until {
                over.get_or_insert_with(|| why.clone());
            }
            if let Some(error) = &over {
                outcomes.push(Outcome::Answered(Err(StoreError::clone(error).into())));
                continue;
            }
            outcomes.push(match self.transact(std::slice::from_ref(commit)).await {
                Ok(mut outcomes) => outcomes.pop().unwrap_or(Outcome::PutOff),
                Err(GroupError::Refused(error)) => Outcome::Answered(Err(error.into())),
                Err(GroupError::Barred(error) | GroupError::Lost(error)) => {
                    over = Some(error.clone());
                    Outcome::Answered(Err(error.into()))
                }
            });
        }
        outcomes
    }

    /// One transaction. Its session is used again only if it is known to have ended the transaction.
    async fn transact(&mut self, commits: &[&EncodedCommit]) -> Result<Vec<Outcome>, GroupError> {
        let done = self.try_transact(commits).await;
        if matches!(done, Err(GroupError::Lost(_))) {
            self.untold.lost();
        }
        done
    }

    async fn try_transact(&mut self, commits: &[&EncodedCommit]) -> Result<Vec<Outcome>, GroupError> {
        self.open().await.map_err(GroupError::Lost)?;
        let (Some(session), Some((looks, pens))) = (self.session.take(), self.tools.take()) else {
            return Err(GroupError::Lost(StoreError::Closed));
        };
        let turn = if self.others_write { Turn::Asked } else { Turn::Taken };
        let begin = Instant::now();
        let tells = pens.notify.is_some() && !self.own.is_alone();
        // Who is there for a moment only, tells at once; and so do all where several write, so that what they tell is in order.
        let at_once = !self.heard.is_followed() || self.others_write;
        let is_time = at_once || self.untold.is_time(begin, self.took);
        let telling = tells.then(|| Telling { earlier: self.untold.earlier(), is_time });
        let way = Way { turn, telling };
        let work =
            async { Ok(transact(&session, &looks, &pens, &self.own, commits, &self.clock, way).await) };
        let done = within(PATIENCE, work).await.unwrap_or_else(|error| Err(GroupError::Lost(error)));
        let done = done.map(|done| {
            self.took = begin.elapsed();
            self.note(done, commits, tells)
        });
        match done {
            Err(GroupError::Lost(error)) => Err(GroupError::Lost(error)),
            Ok(_) | Err(GroupError::Refused(_)) if !session.client.is_closed() => {
                (self.session, self.tools) = (Some(session), Some((looks, pens)));
                done
            }
            Ok(outcomes) => Ok(outcomes),
            Err(GroupError::Refused(error)) => Err(GroupError::Lost(error)),
            // What bars this session, such as being read-only, may not bar the next.
            Err(GroupError::Barred(error)) => Err(GroupError::Barred(error)),
        }
    }

    /// Notes what a transaction did.
    fn note(&mut self, done: Done, commits: &[&EncodedCommit], tells: bool) -> Vec<Outcome> {
        if done.told {
            self.untold.told();
        } else if tells && done.after > done.before {
            self.untold.add(done.before, &tell(commits));
        }
        self.others_write = done.before != self.last_seq;
        self.last_seq = done.after;
        if let Some(event) = done.newest {
            self.address.presence.note_written(done.after, event);
        }
        done.outcomes
    }

    /// When to [`tell`](Self::tell), if nothing is written until then.
    pub(super) fn tells_at(&self) -> Option<Instant> {
        self.untold.due()
    }

    /// Tells others what they have not been told. What they cannot be told, they find by looking.
    pub(super) async fn tell(&mut self) {
        match self.try_tell().await {
            Ok(()) => self.untold.told(),
            Err(error) => {
                tracing::debug!(%error, "other nodes cannot be told what was committed, and have to look");
                self.untold.given_up();
            }
        }
    }

    async fn try_tell(&mut self) -> Result<(), StoreError> {
        self.open().await?;
        let (Some(session), Some((looks, pens))) = (self.session.take(), self.tools.take()) else {
            return Err(StoreError::Closed);
        };
        let said = self.untold.alone();
        let telling = async {
            match &pens.notify {
                Some(notify) => Ok(session.client.execute(notify, &[&said]).await),
                None => Ok(Ok(0)),
            }
        };
        // Without an answer in time the session is not used again.
        let told = within(PATIENCE, telling).await?;
        if !session.client.is_closed() {
            (self.session, self.tools) = (Some(session), Some((looks, pens)));
        }
        told.map(drop).map_err(failed)
    }

    /// Makes sure that a session listens, also where nothing is written.
    pub(super) async fn listen(&mut self) {
        if let Err(error) = self.open().await {
            tracing::warn!(%error, "what other nodes commit cannot be heard; trying again");
        }
    }

    /// Makes sure that there is a session with prepared statements.
    async fn open(&mut self) -> Result<(), StoreError> {
        // A connection to what was there before may be left over.
        self.address.presence.check_over()?;
        if let Some((until, _, error)) = self.closed.as_ref().filter(|(until, ..)| Instant::now() < *until) {
            tracing::debug!(?until, "the database was just found unreachable");
            return Err(error.clone());
        }
        match self.try_open().await {
            Ok(()) => {
                if self.closed.take().is_some() {
                    tracing::info!("the database is reachable again");
                }
                Ok(())
            }
            Err(error) => {
                let pause = self.closed.as_ref().map_or(PAUSES.0, |(_, pause, _)| (*pause * 2).min(PAUSES.1));
                self.closed = Some((Instant::now() + pause, pause, error.clone()));
                self.session = None;
                Err(error)
            }
        }
    }

    async fn try_open(&mut self) -> Result<(), StoreError> {
        if self.session.as_ref().is_none_or(|session| session.client.is_closed()) {
            (self.tools, self.session) = (None, None);
            self.session = Some(Session::connect_and_hear(&self.address, &self.heard).await?);
        }
        if let (Some(session), None) = (&self.session, &self.tools) {
            let preparing = async {
                self.own.write_by(session.process().await);
                session.plan_once().await;
                Ok((Looks::prepare(session).await?, Pens::prepare(session).await?))
            };
            self.tools = Some(within(PATIENCE, preparing).await?);
        }
        match &self.session {
            Some(session) if self.heard.is_to_begin(session.number) => {
                within(PATIENCE, begin_to_listen(session, &self.heard)).await
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// From here on a session is told what is committed. What was committed before is found by looking.
async fn begin_to_listen(session: &Session, heard: &Heard) -> Result<(), StoreError> {
    match session.client.batch_execute(&format!("LISTEN {CHANNEL}")).await {
        Ok(()) => {}
        Err(error) if is_unknown(&error) => {
            tracing::warn!(
                error = told(&error),
                "the database knows no LISTEN; looking every second instead"
            );
        }
        Err(error) => return Err(failed(error)),
    }
    heard.begin(session.number);
    // If it ended meanwhile, nobody else says so any more.
    if session.client.is_closed() {
        heard.end(session.number);
        return Err(StoreError::Failed("the connection ended as it began to listen".into()));
    }
    Ok(())
}

/// What a transaction did, where the log ended before and after it, and the last event that it added.
struct Done {
    outcomes: Vec<Outcome>,
    before: u64,
    after: u64,
    newest: Option<Digest>,
    /// Whether others were told of it, and of what was committed earlier.
    told: bool,
}

/// How a group is written: how it takes its turn, and what it tells others, if there are any.
#[derive(Clone, Copy)]
struct Way<'a> {
    turn: Turn,
    telling: Option<Telling<'a>>,
}

impl Done {
    /// A group that was taken as it is.
    fn whole(commits: &[&EncodedCommit], own: &Own, before: u64, told: bool) -> Self {
        let after = before + events(commits);
        own.note_behind(before, after);
        let committed = Committed { last_seq: after };
        let outcomes = commits.iter().map(|_| Outcome::Answered(Ok(committed))).collect();
        Self { outcomes, before, after, newest: newest(commits), told }
    }
}

/// The last event that commits add to the log.
fn newest(commits: &[&EncodedCommit]) -> Option<Digest> {
    commits.iter().rev().find_map(|commit| commit.events.last()).map(|row| row.leaf)
}

/// How many events commits add to the log.
fn events(commits: &[&EncodedCommit]) -> u64 {
    let events: usize = commits.iter().map(|commit| commit.events.len()).sum();
    u64::try_from(events).unwrap_or(0)
}

async fn transact(
    session: &Session,
    looks: &Looks,
    pens: &Pens,
    own: &Own,
    commits: &[&EncodedCommit],
    clock: &NodeClock,
    way: Way<'_>,
) -> Result<Done, GroupError> {
    if let Some(terms) = Terms::of(commits) {
        let terms = Terms { here: Some(clock()), ..terms };
        let telling = way.telling.filter(|_| events(commits) > 0);
        match writes::write_on_terms(session, commits, &terms, way.turn, telling).await {
            Taken::Whole { before } => {
                let told = telling.is_some_and(|telling| telling.is_time);
                return Ok(Done::whole(commits, own, before, told));
            }
            Taken::Not => {}
            Taken::Barred(error) => return Err(GroupError::Barred(error)),
            Taken::Lost(error) => return Err(GroupError::Lost(error)),
        }
    }
    let (known, judgements) = match look(session, looks, commits, clock).await {
        Ok(looked) => looked,
        // It asks for ids, hashes and names that were checked when they came in: no commit can make it fail for others.
        Err(error) => return Err(roll_back(session, error, GroupError::Barred).await),
    };
    let accepted: Vec<&EncodedCommit> = commits
        .iter()
        .zip(&judgements)
        .filter(|(_, judgement)| **judgement == Judgement::Accepted)
        .map(|(commit, _)| *commit)
        .collect();
    let before = known.last_seq - events(&accepted);
    // Others hear at once of what has to be looked at, such as changes of the house rules; that adds little to what it takes.
    let telling = way.telling.filter(|_| known.last_seq > before);
    let telling = telling.map(|telling| Telling { is_time: true, ..telling });
    if accepted.is_empty() {
        session.client.batch_execute("ROLLBACK").await.map_err(|error| GroupError::Lost(failed(error)))?;
    } else {
        match writes::write(session, pens, &accepted, telling).await {
            Ok(()) => {}
            Err(WriteError::Open(error)) => {
                return Err(roll_back(session, error, GroupError::Refused).await);
            }
            Err(WriteError::RolledBack(error)) => return Err(GroupError::Refused(error)),
            Err(WriteError::Lost(error)) => return Err(GroupError::Lost(error)),
        }
        own.note_behind(before, known.last_seq);
    }
    let committed = Committed { last_seq: known.last_seq };
    let outcome = |judgement| match judgement {
        Judgement::Accepted => Outcome::Answered(Ok(committed)),
        Judgement::Refused(conflict) => Outcome::Answered(Err(CommitError::Conflict(conflict))),
        Judgement::PutOff => Outcome::PutOff,
    };
    let outcomes = judgements.into_iter().map(outcome).collect();
    let told = telling.is_some();
    Ok(Done { outcomes, before, after: known.last_seq, newest: newest(&accepted), told })
}

/// Takes the lock, looks at what the guards are about, and judges.
async fn look(
    session: &Session,
    looks: &Looks,
    commits: &[&EncodedCommit],
    clock: &NodeClock,
) -> Result<(Known, Vec<Judgement>), StoreError> {
    let wanted = Wanted::of(commits);
    let seen = wanted::read(session, looks, &wanted).await?;
    clock::check(clock(), seen.known.now)?;
    let mut known = seen.known;
    let judge = |(commit, readings): (&&EncodedCommit, &Vec<i64>)| known.judge(commit, readings);
    let judgements = commits.iter().zip(&seen.readings).map(judge).collect();
    Ok((known, judgements))
}

/// Ends the transaction after an error. Only if that works is it certain that nothing happened.
async fn roll_back(
    session: &Session,
    error: StoreError,
    nothing_happened: fn(StoreError) -> GroupError,
) -> GroupError {
    match session.client.batch_execute("ROLLBACK").await {
        Ok(()) => nothing_happened(error),
        Err(_) => GroupError::Lost(error),
    }
}
