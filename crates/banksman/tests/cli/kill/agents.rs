//! Agents: propose, claim, report, and never run what they are not certain to have.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use banksman_client::Proposal;
use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, ClaimBody, OutcomeBody, OutcomeStatus};
use banksman_core::{ActionId, Status};

use super::book::{Reported, number_of};
use super::site::{Answer, Line};
use crate::chance::Chance;

const TOOLS: [&str; 6] = ["steady", "steady", "hasty", "hasty", "grave", "free"];

/// How many actions an agent has open at a time; with more, claims would come too late to be hasty.
const OPEN: usize = 10;

/// Longer than the lease of what is hasty.
const TOO_LATE: Duration = Duration::from_millis(1_300);

/// What the two threads of one agent share, so that they get in each other's way.
pub(super) struct Desk {
    first_number: u64,
    next: AtomicU64,
    open: Mutex<Vec<ActionId>>,
}

impl Desk {
    pub(super) fn new(place: u64) -> Arc<Self> {
        Arc::new(Self {
            first_number: place * 1_000_000_000,
            next: AtomicU64::new(0),
            open: Mutex::default(),
        })
    }

    fn next_number(&self) -> u64 {
        self.first_number + self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn close(&self, id: ActionId) {
        self.open.lock().unwrap().retain(|open| *open != id);
    }
}

pub(super) struct Agent {
    line: Line,
    name: &'static str,
    desk: Arc<Desk>,
    chance: Chance,
    /// What was claimed here and will be reported after its lease is over.
    late: Vec<(Instant, ActionId, u64)>,
}

impl Agent {
    pub(super) fn new(line: Line, name: &'static str, desk: Arc<Desk>, chance: Chance) -> Self {
        Self { line, name, desk, chance, late: Vec::new() }
    }

    pub(super) fn work(mut self) {
        while !self.line.site.is_closing() {
            if let Some(place) = self.late.iter().position(|(at, ..)| at.elapsed() > TOO_LATE) {
                let (_, id, number) = self.late.swap_remove(place);
                self.report(id, number);
            }
            let open = self.desk.open.lock().unwrap().clone();
            match self.chance.one_of(&open) {
                Some(id) if open.len() >= OPEN || self.chance.percent(70) => self.tend(id),
                Some(_) | None => self.propose(),
            }
        }
    }

    /// A new wish, sent with the same key until there is an answer.
    fn propose(&mut self) {
        let number = self.desk.next_number();
        let tool = self.chance.one_of(&TOOLS).unwrap();
        let key = format!("wish-{number}");
        let body = format!(
            r#"{{"tool":"{tool}","args":{{"number":{number},"amount":{}}}}}"#,
            self.chance.below(1000)
        );
        self.line.site.write(|book| {
            book.numbers.insert(number);
        });
        self.send_proposal(number, &key, &body);
        if self.chance.percent(10) {
            // A request that was answered and arrives once more, as networks have it.
            self.send_proposal(number, &key, &body);
        }
    }

    fn send_proposal(&mut self, number: u64, key: &str, body: &str) {
        let proposal = Proposal { idempotency_key: Some(key), ..Proposal::new(body) };
        match self.line.insist(|client| client.propose(&proposal), |book| book.lost.proposals += 1) {
            Ok(Some(action)) => {
                self.line.site.write(|book| book.proposed(number, self.name, key, &action));
                let mut open = self.desk.open.lock().unwrap();
                if !open.contains(&action.id) {
                    open.push(action.id);
                }
            }
            Ok(None) => {}
            Err(code) => self.line.site.write(|book| book.refused("a proposal", &code, &[])),
        }
    }

    /// Does the next thing about an action.
    fn tend(&mut self, id: ActionId) {
        let Some(action) = self.look(id) else { return };
        match action.status {
            Status::Authorised if self.chance.percent(5) => self.desk.close(id),
            Status::Authorised => self.claim(&action),
            Status::Pending if self.chance.percent(5) => self.try_to_claim(&action),
            Status::Pending => std::thread::sleep(self.chance.up_to_millis(2)),
            // Another thread has it, or had it. An agent that forgets that gets nothing by asking.
            Status::Executing | Status::Unknown | Status::Succeeded | Status::Failed | Status::Lapsed
                if self.chance.percent(30) =>
            {
                self.try_to_claim(&action);
            }
            Status::Executing if self.chance.percent(50) => {}
            Status::Executing
            | Status::Blocked
            | Status::Denied
            | Status::Expired
            | Status::Cancelled
            | Status::Succeeded
            | Status::Failed
            | Status::Unknown
            | Status::Lapsed
            | Status::Revoked => self.desk.close(id),
        }
    }

    /// Reading may be repeated as often as it takes.
    fn look(&mut self, id: ActionId) -> Option<ActionView> {
        match self.line.insist(|client| client.action(id), |_| {}) {
            Ok(action) => action,
            Err(code) => {
                self.line.site.write(|book| book.broken.push(format!("{id} cannot be seen: {code}")));
                self.desk.close(id);
                None
            }
        }
    }

    fn claim(&mut self, action: &ActionView) {
        let (id, claim) = (action.id, ClaimBody { digest: action.digest, preconditions: None });
        loop {
            match self.line.ask(|client| client.claim(id, &claim)) {
                Answer::Given(claimed) => {
                    self.line.site.write(|book| book.claimed(&claimed));
                    self.desk.close(id);
                    return self.run(action, number_of(&claimed.args));
                }
                Answer::Refused(code) => {
                    // Its other thread was faster, or it dawdled.
                    let in_order = ["already_claimed", "lapsed"];
                    return self.line.site.write(|book| book.refused("a claim", &code, &in_order));
                }
                Answer::Lost => {
                    self.line.site.write(|book| book.lost.claims += 1);
                    // The one request that must not be sent again blindly. If it was taken, whether by this thread or
                    // the other, it is not run: better an `unknown` for people to look into than twice.
                    let Some(now) = self.look(id) else { return };
                    if now.status != Status::Authorised {
                        self.line.site.write(|book| {
                            let taken = matches!(now.status, Status::Executing | Status::Unknown);
                            book.lost.claims_taken += u64::from(taken);
                        });
                        return self.desk.close(id);
                    }
                }
                Answer::Nobody => return,
            }
        }
    }

    /// A claim that ought to be refused: nothing may ever come of it.
    fn try_to_claim(&mut self, action: &ActionView) {
        let claim = ClaimBody { digest: action.digest, preconditions: None };
        match self.line.ask(|client| client.claim(action.id, &claim)) {
            // It was approved a moment ago. Then it is a claim like any other, and is counted as one; an edit would
            // have been noticed by the digest.
            Answer::Given(claimed) => {
                self.line.site.write(|book| book.claimed(&claimed));
                self.desk.close(action.id);
                self.run(action, number_of(&claimed.args));
            }
            Answer::Refused(code) => {
                let in_order = ["already_claimed", "lapsed", "not_authorised", "digest_mismatch"];
                self.line.site.write(|book| book.refused("a claim out of turn", &code, &in_order));
            }
            Answer::Lost => self.line.site.write(|book| book.lost.claims += 1),
            Answer::Nobody => {}
        }
    }

    /// Runs what was claimed, as far as running goes here: reports it now, too late, or never.
    fn run(&mut self, action: &ActionView, number: u64) {
        let hasty = action.tool == "hasty";
        match self.chance.below(10) {
            0 | 1 if hasty => self.late.push((Instant::now(), action.id, number)),
            0..=3 if hasty => {}
            0 => {}
            _ => self.report(action.id, number),
        }
    }

    /// Saying how it ended may be repeated: the same again changes nothing.
    fn report(&mut self, id: ActionId, number: u64) {
        let failed = self.chance.percent(25);
        let result = CanonicalJson::parse(format!(r#"{{"number":{number}}}"#).as_bytes()).unwrap();
        let outcome = OutcomeBody {
            status: if failed { OutcomeStatus::Failed } else { OutcomeStatus::Succeeded },
            result: Some(result.clone()),
            error: failed.then(|| "it was not to be".into()),
        };
        self.line.site.write(|book| {
            book.reported.insert(id);
        });
        match self.line.insist(|client| client.outcome(id, &outcome), |book| book.lost.outcomes += 1) {
            Ok(Some(action)) => {
                let status = if failed { Status::Failed } else { Status::Succeeded };
                self.line.site.write(|book| {
                    if action.status != status {
                        book.broken.push(format!("{id} was reported {status} and is {}", action.status));
                    }
                    book.outcomes.push(Reported { id, status, result: Some(result) });
                });
            }
            Ok(None) => {}
            Err(code) => self.line.site.write(|book| book.refused("an outcome", &code, &[])),
        }
    }
}
