//! The one task of a node that writes, and groups what comes in at the same time into one transaction.
//!
//! How large groups are is decided here; how one becomes a transaction, at the [desk](super::desk).

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::address::Address;
use super::clock::NodeClock;
use super::desk::{Answer, Desk, Outcome};
use super::heard::Heard;
use super::own::Own;
use super::session::Session;
use crate::StoreError;
use crate::encode::{EncodedCommit, MOMENT};
use crate::health::Health;

/// How many commits share a transaction at the most; beyond that the first ones would wait for nothing.
const GROUP: usize = 256;

/// How long the first of a group waits for others at the most, however long the group before took.
const LINGER: Duration = Duration::from_millis(2);

struct Job {
    commit: EncodedCommit,
    answer: oneshot::Sender<Answer>,
}

/// The way to the writer. Dropping it lets the task finish what it was given and end.
pub(super) struct Writer {
    jobs: mpsc::UnboundedSender<Job>,
    pub(super) health: Arc<Health>,
}

impl Writer {
    pub(super) fn start(
        address: Address,
        session: Session,
        own: Arc<Own>,
        heard: Arc<Heard>,
        clock: NodeClock,
        every: Duration,
    ) -> Self {
        let (jobs, inbox) = mpsc::unbounded_channel();
        let health = Arc::<Health>::default();
        let desk = Desk::new(address, session, own, Arc::clone(&heard), clock, every);
        tokio::spawn(run(desk, inbox, heard, Arc::clone(&health)));
        Self { jobs, health }
    }

    /// Hands a commit over and waits until it is durable or refused.
    pub(super) async fn commit(&self, commit: EncodedCommit) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.jobs.send(Job { commit, answer }).map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }
}

async fn run(
    mut desk: Desk,
    mut inbox: mpsc::UnboundedReceiver<Job>,
    heard: Arc<Heard>,
    health: Arc<Health>,
) {
    // What is put off comes first in the next group.
    let mut group: Vec<Job> = Vec::with_capacity(GROUP);
    let mut last = Last::default();
    loop {
        let enough = last.enough(group.len() + inbox.len(), desk.others_write());
        if group.is_empty() {
            tokio::select! {
                first = inbox.recv() => match first {
                    Some(first) => group.push(first),
                    None => break,
                },
                () = heard.wanted() => {
                    desk.listen().await;
                    continue;
                }
                () = at(desk.tells_at()) => {
                    desk.tell().await;
                    continue;
                }
            }
        }
        gather(&mut group, &mut inbox, enough, (last.took / 2).min(LINGER)).await;
        let begin = Instant::now();
        let commits: Vec<&EncodedCommit> = group.iter().map(|job| &job.commit).collect();
        let outcomes = desk.commit(&commits).await;
        last = Last { commits: group.len(), took: begin.elapsed() };
        health.note(outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Answered(answer) => Some(answer),
            Outcome::PutOff => None,
        }));
        let mut put_off = Vec::new();
        for (job, outcome) in group.drain(..).zip(outcomes) {
            match outcome {
                // Whoever asked may have gone away; what was committed stays committed.
                Outcome::Answered(answer) => drop(job.answer.send(answer)),
                Outcome::PutOff => put_off.push(job),
            }
        }
        group = put_off;
    }
    if desk.tells_at().is_some() {
        desk.tell().await;
    }
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

/// The group before.
#[derive(Default)]
struct Last {
    commits: usize,
    took: Duration,
}

impl Last {
    /// How many commits a group should have before it is written.
    ///
    /// Those who were just answered come back one by one. If the first of them had a transaction of its own, all others would
    /// wait for that, so it waits for half of all that there are, which are written while the others are served. Where other
    /// nodes write too, theirs are written meanwhile, and a turn is worth waiting for nearly all of ours.
    fn enough(&self, waiting: usize, others_write: bool) -> usize {
        let around = self.commits + waiting;
        if others_write { around - around / 20 } else { around / 2 }
    }
}

/// Fills a group that has begun with what comes in.
async fn gather(
    group: &mut Vec<Job>,
    inbox: &mut mpsc::UnboundedReceiver<Job>,
    enough: usize,
    patience: Duration,
) {
    let moment = tokio::time::Instant::now() + MOMENT;
    while inbox.is_empty()
        && group.iter().all(|job| job.commit.patient)
        && let Ok(Some(more)) = tokio::time::timeout_at(moment, inbox.recv()).await
    {
        group.push(more);
    }
    let until = tokio::time::Instant::now() + patience;
    while group.len() + inbox.len() < enough
        && let Ok(Some(more)) = tokio::time::timeout_at(until, inbox.recv()).await
    {
        group.push(more);
    }
    while group.len() < GROUP
        && let Ok(more) = inbox.try_recv()
    {
        group.push(more);
    }
}
