//! Agents: propose, claim, report, and never run what they are not certain to have.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use banksman_client::Proposal;
use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, ClaimBody, OutcomeBody, OutcomeStatus};
use banksman_core::{ActionId, Status};

use super::book::{Reply, Wish, number_of};
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
        self.send_proposal(number, &key, &body);
        if self.chance.percent(10) {
            // A request that was answered and arrives once more, as networks have it.
            self.send_proposal(number, &key, &body);
        }
    }

    fn send_proposal(&mut self, number: u64, key: &str, body: &str) {
        let proposal = Proposal { idempotency_key: Some(key), ..Proposal::new(body) };
        let asked = self.line.wish(self.name, Wish::Propose { number, key: key.to_owned() });
        match self.line.insist(Some(asked), |client| client.propose(&proposal)) {
            Ok(Some(action)) => {
                let (id, version, digest) = (action.id, action.version, action.digest);
                self.line.told(asked, Reply::Proposed { id, version, digest });
                let mut open = self.desk.open.lock().unwrap();
                if !open.contains(&id) {
                    open.push(id);
                }
            }
            Ok(None) => {}
            Err(code) => {
                self.line.site.write(|book| book.refused("a proposal", &code, &["blocked"]));
                self.line.told(asked, Reply::Refused(code));
            }
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
        match self.line.insist(None, |client| client.action(id)) {
            Ok(action) => action,
            Err(code) => {
                self.line.site.write(|book| book.broken.push(format!("{id} cannot be seen: {code}")));
                self.desk.close(id);
                None
            }
        }
    }

    fn claim(&mut self, action: &ActionView) {
        // Its other thread was faster, or it dawdled.
        let in_order = ["already_claimed", "lapsed", "frozen"];
        while let Asking::Lost = self.ask_to_claim(action, "a claim", &in_order) {
            // The one request that must not be sent again blindly. If it was taken, whether by this thread or
            // the other, it is not run: better an `unknown` for people to look into than twice.
            let Some(now) = self.look(action.id) else { return };
            if now.status != Status::Authorised {
                let taken = matches!(now.status, Status::Executing | Status::Unknown);
                self.line.site.write(|book| book.claims_taken_unheard += u64::from(taken));
                return self.desk.close(action.id);
            }
        }
    }

    /// A claim that ought to be refused: nothing may ever come of it. Unless it was approved a moment ago: then it is a
    /// claim like any other, and is counted as one; an edit would have been noticed by the digest.
    fn try_to_claim(&mut self, action: &ActionView) {
        let in_order = ["already_claimed", "lapsed", "frozen", "not_authorised", "digest_mismatch"];
        self.ask_to_claim(action, "a claim out of turn", &in_order);
    }

    fn ask_to_claim(&mut self, action: &ActionView, what: &str, in_order: &[&str]) -> Asking {
        let (id, claim) = (action.id, ClaimBody { digest: action.digest, preconditions: None });
        let asked = self.line.wish(self.name, Wish::Claim { id, version: action.version });
        match self.line.ask(|client| client.claim(id, &claim)) {
            Answer::Given(claimed) => {
                let number = number_of(&claimed.args);
                self.line.told(
                    asked,
                    Reply::Claimed {
                        number,
                        idempotency_key: claimed.idempotency_key,
                        digest: claimed.digest,
                        lease_expires_at: claimed.lease_expires_at,
                    },
                );
                self.desk.close(id);
                self.run(action, number);
                Asking::Over
            }
            Answer::Refused(code) => {
                self.line.site.write(|book| book.refused(what, &code, in_order));
                self.line.told(asked, Reply::Refused(code));
                Asking::Over
            }
            Answer::Lost => {
                self.line.unheard(asked);
                Asking::Lost
            }
            Answer::Nobody => Asking::Over,
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
        let status = if failed { Status::Failed } else { Status::Succeeded };
        let asked = self.line.wish(self.name, Wish::Report { id, status, result: Some(result) });
        match self.line.insist(Some(asked), |client| client.outcome(id, &outcome)) {
            Ok(Some(action)) => {
                self.line.told(asked, Reply::Recorded);
                if action.status != status {
                    let wrong = format!("{id} was reported {status} and is {}", action.status);
                    self.line.site.write(|book| book.broken.push(wrong));
                }
            }
            Ok(None) => {}
            Err(code) => {
                self.line.site.write(|book| book.refused("an outcome", &code, &[]));
                self.line.told(asked, Reply::Refused(code));
            }
        }
    }
}

/// Whether a claim was answered.
enum Asking {
    Over,
    Lost,
}
