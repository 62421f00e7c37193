//! Which mode the house was in at which moment, from its log.

use banksman_client::{AuditQuery, Client};
use banksman_core::audit::{Event, Fact};
use banksman_core::{Mode, Timestamp};

use crate::exit::{Exit, stop};

/// How many events are asked for at a time.
const PAGE: u32 = 500;

/// The mode at every moment.
pub(super) struct Modes {
    /// If nothing says otherwise.
    usual: Mode,
    /// In the order of the log.
    changes: Vec<Change>,
}

struct Change {
    at: Timestamp,
    from: Mode,
    to: Mode,
    fallback: bool,
}

/// How strict the house was at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Then {
    pub(super) mode: Mode,
    /// After a fallback the demands of the mode before it held on.
    pub(super) fell_back_from: Option<Mode>,
}

impl Modes {
    /// The same at every moment.
    pub(super) fn always(mode: Mode) -> Self {
        Self { usual: mode, changes: Vec::new() }
    }

    /// As the server's log has it.
    pub(super) fn of_log(client: &Client) -> anyhow::Result<Self> {
        let mut modes = Self::always(client.mode()?.mode);
        let mut query = AuditQuery {
            event_type: Some("mode_changed".to_owned()),
            oldest_first: true,
            limit: Some(PAGE),
            ..AuditQuery::default()
        };
        loop {
            let page = client.audit(&query)?;
            for view in &page.items {
                let event = Event::from_bytes(view.event.get().as_bytes()).map_err(|error| {
                    let words = "the mode of the past cannot be read; say which with --mode";
                    stop(Exit::Failure, format!("event {}: {error}: {words}", view.seq))
                })?;
                if let Fact::ModeChanged { from, to, fallback, .. } = event.fact {
                    modes.changes.push(Change { at: event.at, from, to, fallback });
                }
            }
            // A server that hands out the same cursor again would keep us here for ever.
            if page.next_cursor.is_none() || page.next_cursor == query.cursor {
                return Ok(modes);
            }
            query.cursor = page.next_cursor;
        }
    }

    pub(super) fn at(&self, moment: Timestamp) -> Then {
        let plain = |mode| Then { mode, fell_back_from: None };
        match self.changes.iter().rev().find(|change| change.at <= moment) {
            Some(Change { from, to, fallback, .. }) => {
                Then { mode: *to, fell_back_from: fallback.then_some(*from) }
            }
            None => plain(self.changes.first().map_or(self.usual, |first| first.from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_moment_has_the_mode_of_the_change_before_it() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let change = |seconds, from, to, fallback| Change { at: at(seconds), from, to, fallback };
        let modes = Modes {
            usual: Mode::Production,
            changes: vec![
                change(10, Mode::Lab, Mode::Shadow, false),
                change(20, Mode::Shadow, Mode::Production, false),
                change(30, Mode::Production, Mode::Shadow, true),
            ],
        };
        let then = |mode, fell_back_from| Then { mode, fell_back_from };
        for (moment, expected) in [
            (5, then(Mode::Lab, None)),
            (10, then(Mode::Shadow, None)),
            (25, then(Mode::Production, None)),
            (31, then(Mode::Shadow, Some(Mode::Production))),
        ] {
            assert_eq!(modes.at(at(moment)), expected, "{moment}");
        }
        assert_eq!(Modes::always(Mode::Shadow).at(at(5)), then(Mode::Shadow, None));
    }
}
