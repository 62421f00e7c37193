//! The follower: hears what other nodes commit, so that what waits here wakes up and what is remembered here is not old.

use std::time::Duration;

use banksman_store::{News, NewsOf};
use tokio::sync::mpsc;

use crate::Engine;

/// How much later than the node that held an action the others move it on. Whoever comes second is refused, which is
/// harmless but work for nothing; this way it comes second only if the first is gone.
const LATER: Duration = Duration::from_secs(1);

impl Engine {
    pub(crate) async fn follow(&self, mut news: mpsc::Receiver<News>) {
        while let Some(news) = news.recv().await {
            self.take_in(&news).await;
        }
    }

    pub(crate) async fn take_in(&self, news: &News) {
        // Forget before the sequence rises: whoever reads between the two does not keep what it read (see fetch).
        for of in &news.of {
            if let NewsOf::Action { id, .. } = of {
                self.memory.forget(*id);
            }
        }
        self.live.advance(news.last_seq);
        for of in &news.of {
            if let NewsOf::Action { id, wakes_at, makes_room_for } = of {
                // Again: someone may have begun to read before the other node committed, and kept it since.
                self.memory.forget(*id);
                self.live.wake(*id);
                if let Some(due) = wakes_at {
                    self.timekeeper.expect(due.after(LATER));
                }
                if let Some(agent) = makes_room_for {
                    self.admission.freed(agent);
                }
            }
        }
        if news.of.contains(&NewsOf::House) {
            self.notice_new_rules().await;
        }
    }
}
