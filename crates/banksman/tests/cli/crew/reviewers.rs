//! Reviewers: look at what waits, and approve, deny, respond or modify.

use banksman_client::ActionsQuery;
use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, DecisionRequest};
use banksman_core::{Decision, Status};

use super::book::{Reply, Wish, number_of};
use super::site::Line;
use crate::chance::Chance;

/// How many they look at together, and decide about before they look again: long enough for others to come first.
const PAGE: u32 = 30;
const AT_A_TIME: u64 = 6;

pub(super) struct Reviewer {
    line: Line,
    name: &'static str,
    chance: Chance,
}

impl Reviewer {
    pub(super) fn new(line: Line, name: &'static str, chance: Chance) -> Self {
        Self { line, name, chance }
    }

    pub(super) fn work(mut self) {
        let pending =
            ActionsQuery { status: Some(Status::Pending), limit: Some(PAGE), ..ActionsQuery::default() };
        while !self.line.site.is_closing() {
            match self.line.insist(None, |client| client.actions(&pending)) {
                Ok(Some(page)) if page.items.is_empty() => std::thread::sleep(self.chance.up_to_millis(2)),
                Ok(Some(page)) => {
                    let seen: Vec<&ActionView> = page.items.iter().collect();
                    for _ in 0..=self.chance.below(AT_A_TIME) {
                        let action = self.chance.one_of(&seen).unwrap();
                        self.decide(action);
                    }
                }
                Ok(None) => {}
                Err(code) => self.line.site.write(|book| book.refused("a list", &code, &[])),
            }
        }
    }

    /// Decides over what was seen. Without an answer, the same decision is sent again: if it was taken, the server
    /// says so, and if not it is taken now.
    fn decide(&mut self, action: &ActionView) {
        let decision = match self.chance.below(20) {
            0..=12 => Decision::Approve,
            13..=14 => Decision::Deny,
            15 => Decision::Respond,
            _ => Decision::Modify,
        };
        let request = DecisionRequest {
            decision,
            version: action.version,
            digest: action.digest,
            reason: Some("because".into()),
            args: (decision == Decision::Modify).then(|| self.edited(action)),
            message: (decision == Decision::Respond).then(|| "ask again tomorrow".into()),
            remember: None,
        };
        let wish = Wish::Decide { id: action.id, decision, version: action.version };
        let asked = self.line.wish(self.name, wish);
        match self.line.insist(Some(asked), |client| client.decide(action.id, &request)) {
            Ok(Some(_)) => self.line.told(asked, Reply::Decided),
            Ok(None) => {}
            Err(code) => {
                let in_order =
                    ["stale_version", "digest_mismatch", "already_decided", "already_voted", "frozen"];
                self.line.site.write(|book| book.refused("a decision", &code, &in_order));
                self.line.told(asked, Reply::Refused(code));
            }
        }
    }

    /// Other arguments for the same wish.
    fn edited(&mut self, action: &ActionView) -> CanonicalJson {
        let amount = 1000 + self.chance.below(1_000_000);
        let text = format!(r#"{{"number":{},"amount":{amount}}}"#, number_of(&action.args));
        CanonicalJson::parse(text.as_bytes()).unwrap()
    }
}
