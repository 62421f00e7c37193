//! Commits whose asker goes away. A client that hangs up takes its request with it, but not what is on its way to the
//! store: that happens all the same, and those who wait for it have to hear of it.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use banksman_core::{Case, Status};
use banksman_store::{Commit, CommitError, Committed, News, NewsOf};
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::Engine;

type Answer = Result<Committed, CommitError>;

/// Where commits are told of that nobody heard the answer to.
pub(crate) struct AbandonedCommits {
    tell: mpsc::UnboundedSender<News>,
    told: Mutex<Option<mpsc::UnboundedReceiver<News>>>,
}

impl Default for AbandonedCommits {
    fn default() -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        Self { tell, told: Mutex::new(Some(told)) }
    }
}

/// A commit on its way, which is seen through by itself if it is dropped before its answer came.
struct OnItsWay<'e> {
    commit: Option<BoxFuture<'static, Answer>>,
    about: About,
    abandoned: &'e AbandonedCommits,
}

/// What a commit is about, to be told of if need be.
#[derive(Default)]
struct About {
    /// Each with whether it was pending before.
    cases: Vec<(Arc<Case>, bool)>,
    house: bool,
}

impl About {
    fn of(commit: &Commit) -> Self {
        let opened = commit.opened.iter().map(|case| (Arc::clone(case), false));
        let advanced = commit.advanced.iter().map(|moved| (Arc::clone(&moved.case), moved.was_pending));
        Self { cases: opened.chain(advanced).collect(), house: !commit.control.is_empty() }
    }

    fn news(&self, last_seq: u64) -> News {
        let actions = self.cases.iter().map(|(case, was_pending)| NewsOf::Action {
            id: case.id,
            wakes_at: case.state.wakes_at(),
            makes_room_for: (*was_pending && case.status() != Status::Pending).then(|| case.agent.clone()),
        });
        News { last_seq, of: actions.chain(self.house.then_some(NewsOf::House)).collect() }
    }
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        // Without a runtime nobody is left who could wait for anything.
        let (Some(commit), Ok(runtime)) = (self.commit.take(), Handle::try_current()) else { return };
        let (about, tell) = (std::mem::take(&mut self.about), self.abandoned.tell.clone());
        runtime.spawn(async move {
            let news = match commit.await {
                Ok(committed) => about.news(committed.last_seq),
                Err(CommitError::Conflict(_)) => return,
                // It may have happened: whoever looks next has to look in the store.
                Err(CommitError::Unavailable(_)) => about.news(0),
            };
            // Whoever would take it ends with the engine.
            let _ = tell.send(news);
        });
    }
}

impl Engine {
    /// Commits. If the caller is dropped meanwhile, the commit goes on without it, and [`Engine::take_in_abandoned_commits`] takes its place.
    pub(crate) async fn commit(&self, commit: Commit) -> Answer {
        let about = About::of(&commit);
        let store = Arc::clone(&self.store);
        let commit: BoxFuture<'static, Answer> = Box::pin(async move { store.commit(commit).await });
        let mut on_its_way = OnItsWay { commit: Some(commit), about, abandoned: &self.abandoned_commits };
        let answer = poll_fn(|context| match on_its_way.commit.as_mut() {
            Some(commit) => commit.as_mut().poll(context),
            None => std::task::Poll::Pending,
        })
        .await;
        on_its_way.commit = None;
        answer
    }

    /// Takes in what was committed while nobody waited for the answer, as if another node had done it. Only the first call has anything to do.
    pub(crate) async fn take_in_abandoned_commits(&self) {
        let told = self.abandoned_commits.told.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut told) = told else { return };
        while let Some(news) = told.recv().await {
            self.take_in(&news).await;
            self.dispatcher.nudge();
        }
    }
}
