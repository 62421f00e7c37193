//! What is known of one server's tools.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::ListError;
use crate::definition::Tool;

/// What we know is looked up again after this long, when a tool is called.
const FRESH: Duration = Duration::from_secs(300);

/// A tool that we do not know makes us ask again, but not more often than this.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// So many tools of one server are known at a time, and so much of them.
pub(super) const MOST_KNOWN: usize = 10_000;
pub(super) const MOST_KNOWN_BYTES: usize = 16 * 1024 * 1024;

/// What a client was shown lately is known, also if the server lists it to nobody else.
pub(super) const LATELY: Duration = Duration::from_secs(3600);

pub(super) struct Listed {
    pub(super) tool: Arc<Tool>,
    pub(super) at: Instant,
    pub(super) bytes: usize,
}

#[derive(Default)]
pub(super) struct Known {
    pub(super) tools: HashMap<String, Listed>,
    /// How much is known, in bytes.
    pub(super) bytes: usize,
    /// When it last listed a tool for which there was no room. Of a tool that is not known it may have said anything then.
    pub(super) overflowed_at: Option<Instant>,
    pub(super) complete_at: Option<Instant>,
    pub(super) asked_at: Option<Instant>,
    /// Whether it is being asked: open for so long.
    pub(super) under_way: Option<watch::Receiver<()>>,
    /// Why it could not be asked, the last time.
    pub(super) failure: Option<ListError>,
}

/// What looking for a tool comes to.
pub(super) enum LookedUp {
    Known(Arc<Tool>),
    /// Its server is being asked, until this closes.
    Asked(watch::Receiver<()>),
    Unknown,
}

impl Known {
    /// A tool as it is known; `None` if its server has to be asked.
    pub(super) fn look_up(&self, name: &str) -> Option<LookedUp> {
        let is_old = |at: Option<Instant>, after: Duration| at.is_none_or(|at| at.elapsed() > after);
        let may_ask = is_old(self.asked_at, ASK_AGAIN);
        match self.tool(name) {
            Some(_) if may_ask && is_old(self.complete_at, FRESH) => None,
            Some(tool) => Some(LookedUp::Known(tool)),
            None if may_ask => None,
            None => {
                let under_way = self.under_way.clone().filter(|asked| asked.has_changed().is_ok());
                Some(under_way.map_or(LookedUp::Unknown, LookedUp::Asked))
            }
        }
    }

    pub(super) fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        self.tools.get(name).map(|listed| Arc::clone(&listed.tool))
    }

    pub(super) fn forget(&mut self, name: &str) {
        if let Some(forgotten) = self.tools.remove(name) {
            self.bytes = self.bytes.saturating_sub(forgotten.bytes);
        }
    }

    /// There is no room for a tool that has not changed, as far as anybody can tell.
    pub(super) fn overflow(&mut self, name: &str) {
        self.overflowed_at = Some(Instant::now());
        // What has changed stays known as that, whatever becomes of the rest.
        if self.tool(name).is_none_or(|tool| tool.changes.is_empty()) {
            self.forget(name);
        }
    }

    /// Takes in what a server says of a tool, if there is room for it. For that it has changed there always is: a server
    /// could fill up the room first, and then its changed tool would be let through like one that nobody has listed.
    pub(super) fn take(&mut self, name: String, tool: Tool) {
        self.forget(&name);
        let at = Instant::now();
        let bytes = name.len() + tool.bytes();
        if self.tools.len() < MOST_KNOWN && self.bytes + bytes <= MOST_KNOWN_BYTES {
            self.bytes += bytes;
            self.tools.insert(name, Listed { tool: Arc::new(tool), at, bytes });
        } else if tool.changes.is_empty() {
            self.overflow(&name);
        } else {
            self.overflowed_at = Some(at);
            // So few bytes that the pins, which have a bound of their own, are bound enough.
            self.tools.insert(name, Listed { tool: Arc::new(tool.in_brief()), at, bytes: 0 });
        }
    }

    /// A whole list was begun at this time, and what was not in it is no more; but for what has changed, because it would be
    /// let through again, and for what a client was shown lately.
    pub(super) fn listed_whole(&mut self, since: Instant) {
        self.tools.retain(|_, listed| {
            let stays = listed.at >= since || !listed.tool.changes.is_empty() || listed.at.elapsed() < LATELY;
            if !stays {
                self.bytes = self.bytes.saturating_sub(listed.bytes);
            }
            stays
        });
        self.overflowed_at = self.overflowed_at.filter(|at| *at >= since);
        self.complete_at = Some(Instant::now());
    }
}
