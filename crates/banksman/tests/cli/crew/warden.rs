//! The warden: freezes an agent, a tool or everything for a moment, and lets go again.

use banksman_core::wire::FreezeBody;

use super::book::{Reply, Wish};
use super::site::{Answer, Line};
use crate::chance::Chance;

/// How long there is no freeze, and how long one lasts, at the most.
const PAUSE_MILLIS: u64 = 700;
const FREEZE_MILLIS: u64 = 120;

pub(super) struct Warden {
    line: Line,
    name: &'static str,
    chance: Chance,
    count: u64,
}

impl Warden {
    pub(super) fn new(line: Line, name: &'static str, chance: Chance) -> Self {
        Self { line, name, chance, count: 0 }
    }

    pub(super) fn work(mut self) {
        while !self.line.site.is_closing() {
            std::thread::sleep(self.chance.up_to_millis(PAUSE_MILLIS));
            self.freeze();
            std::thread::sleep(self.chance.up_to_millis(FREEZE_MILLIS));
            self.lift_all();
        }
    }

    /// Sent once: a second one would be another freeze. If there was no answer, it is found among those in force, now
    /// or when it comes about.
    fn freeze(&mut self) {
        self.count += 1;
        let reason = format!("freeze {}", self.count);
        let mut body = FreezeBody { reason: Some(reason.clone()), ..FreezeBody::default() };
        match self.chance.below(10) {
            0 => body.everything = true,
            1..=4 => body.tool = self.chance.one_of(&["hasty", "steady", "free"]).map(Into::into),
            _ => body.agent = self.chance.one_of(&super::AGENTS).map(Into::into),
        }
        let asked = self.line.wish(self.name, Wish::Freeze { reason });
        match self.line.ask(|client| client.freeze(&body)) {
            Answer::Given(freeze) => self.line.told(asked, Reply::Frozen { id: freeze.id }),
            Answer::Refused(code) => self.line.site.write(|book| book.refused("a freeze", &code, &[])),
            Answer::Lost => self.line.unheard(asked),
            Answer::Nobody => {}
        }
    }

    fn lift_all(&mut self) {
        let Ok(Some(list)) = self.line.insist(None, banksman_client::Client::freezes) else { return };
        for freeze in list.items {
            let asked = self.line.wish(self.name, Wish::Lift { id: freeze.id });
            match self.line.insist(Some(asked), |client| client.unfreeze(freeze.id)) {
                Ok(Some(())) => self.line.told(asked, Reply::Lifted),
                Ok(None) => {}
                // It was lifted by what got no answer.
                Err(code) => self.line.site.write(|book| book.refused("a lift", &code, &["not_found"])),
            }
        }
    }
}
