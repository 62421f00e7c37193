//! Holds what everyone was told against what the server says, through its API.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use banksman_client::{ActionsQuery, AuditQuery, Client};
use banksman_core::audit::{ActionRef, Event, Fact};
use banksman_core::wire::{ActionView, EventView};
use banksman_core::{ActionId, Decision, Digest, Status, Timestamp};

use super::book::{Book, number_of};

const PAGE: u32 = 500;

/// How late the timekeeper may be on a busy machine.
const SLACK: Duration = Duration::from_secs(5);

/// Everything that is not as it has to be, each in a sentence.
pub(super) fn check(client: &Client, book: &Book) -> Vec<String> {
    let mut findings = book.broken.clone();
    wait_for_short_terms(client, &mut findings);
    let actions: HashMap<ActionId, ActionView> = client
        .all_actions(&ActionsQuery { limit: Some(PAGE), ..ActionsQuery::default() })
        .unwrap()
        .into_iter()
        .map(|action| (action.id, action))
        .collect();
    let log = whole_log(client);
    eprintln!("{}", tally(&actions, &log));
    let checker = Checker { actions, histories: histories(&log), findings };
    checker.run(client, book, &log)
}

/// The real timekeeper, after the last restart, ends what nobody claimed or reported. Only then does everything stand
/// still and can be read in more than one request.
fn wait_for_short_terms(client: &Client, findings: &mut Vec<String>) {
    let began = Instant::now();
    for status in [Status::Authorised, Status::Executing] {
        let query =
            ActionsQuery { status: Some(status), tool: Some("hasty".into()), ..ActionsQuery::default() };
        while !client.actions(&query).unwrap().items.is_empty() {
            if began.elapsed() > SLACK {
                return findings.push(format!("hasty, and still {status} after {SLACK:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The audit log, oldest first.
fn whole_log(client: &Client) -> Vec<(u64, Event)> {
    let mut query = AuditQuery { limit: Some(PAGE), ..AuditQuery::default() };
    let mut log = Vec::new();
    loop {
        let page = client.audit(&query).unwrap();
        log.extend(page.items.iter().map(read));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            log.reverse();
            return log;
        }
    }
}

fn read(view: &EventView) -> (u64, Event) {
    (view.seq, Event::from_bytes(view.event.get().as_bytes()).unwrap())
}

/// How it ended, in numbers.
fn tally(actions: &HashMap<ActionId, ActionView>, log: &[(u64, Event)]) -> String {
    let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
    for action in actions.values() {
        *statuses.entry(action.status.as_str()).or_default() += 1;
    }
    let late =
        log.iter().filter(|(_, event)| matches!(event.fact, Fact::Finished { late: true, .. })).count();
    format!("{} actions {statuses:?}, {late} reported late, {} audit events", actions.len(), log.len())
}

fn histories(log: &[(u64, Event)]) -> HashMap<ActionId, Vec<Event>> {
    let mut histories: HashMap<ActionId, Vec<Event>> = HashMap::new();
    for (_, event) in log {
        if let Some(about) = &event.action {
            histories.entry(about.id).or_default().push(event.clone());
        }
    }
    histories
}

struct Checker {
    actions: HashMap<ActionId, ActionView>,
    histories: HashMap<ActionId, Vec<Event>>,
    findings: Vec<String>,
}

impl Checker {
    fn run(mut self, client: &Client, book: &Book, log: &[(u64, Event)]) -> Vec<String> {
        self.no_gaps(log);
        self.histories_are_sound();
        self.each_action_has_its_own_events(client);
        self.proposals(book);
        self.decisions(book);
        self.claims(book);
        self.outcomes(book);
        self.claims_without_outcome(book);
        self.findings
    }

    fn expect(&mut self, holds: bool, finding: impl FnOnce() -> String) {
        // Beyond a screenful nobody reads on.
        if !holds && self.findings.len() < 50 {
            self.findings.push(finding());
        }
    }

    /// Calls it gone if it is.
    fn action(&mut self, id: ActionId, what: &str) -> Option<ActionView> {
        let action = self.actions.get(&id).cloned();
        self.expect(action.is_some(), || format!("{id}: {what} was acknowledged and the action is gone"));
        action
    }

    fn no_gaps(&mut self, log: &[(u64, Event)]) {
        for (expected, (seq, _)) in (1..).zip(log) {
            self.expect(*seq == expected, || format!("the log has {seq} where {expected} should be"));
        }
    }

    /// State and audit agree: one event for each revision, each possible after the one before.
    fn histories_are_sound(&mut self) {
        let known: HashSet<ActionId> = self.actions.keys().chain(self.histories.keys()).copied().collect();
        for id in known {
            let (Some(action), Some(history)) = (self.actions.get(&id), self.histories.get(&id)) else {
                self.expect(false, || format!("{id} is only in the log, or only beside it"));
                continue;
            };
            let problem = unsound(action, history);
            self.expect(problem.is_none(), || format!("{id}: {}", problem.unwrap_or_default()));
        }
    }

    /// `GET /v1/audit?action=` finds the same events as reading all of them; for some actions, as it takes time.
    fn each_action_has_its_own_events(&mut self, client: &Client) {
        let some: Vec<(ActionId, Vec<Event>)> =
            self.histories.iter().take(50).map(|(id, history)| (*id, history.clone())).collect();
        for (id, mut history) in some {
            let page = client.audit(&AuditQuery { action: Some(id), ..AuditQuery::default() }).unwrap();
            let found: Vec<Event> = page.items.iter().map(|view| read(view).1).collect();
            history.reverse();
            self.expect(found == history, || {
                format!("{id}: the log says {history:?}, asked for it {found:?}")
            });
        }
    }

    /// Every proposal that was answered is there as it was answered, and each key made one action at the most.
    fn proposals(&mut self, book: &Book) {
        let mut by_key: HashMap<(&str, &str), ActionId> = HashMap::new();
        for proposed in &book.proposals {
            let id = proposed.id;
            let first = *by_key.entry((proposed.agent, &proposed.key)).or_insert(id);
            self.expect(first == id, || format!("{} led to {first} and to {id}", proposed.key));
            let Some(action) = self.action(id, "a proposal") else { continue };
            let same = action.agent == proposed.agent && number_of(&action.args) == proposed.number;
            self.expect(same, || format!("{id} is not what {} proposed", proposed.key));
            self.digest(id, proposed.version, proposed.digest, "a proposal");
        }
        let mut numbers = HashSet::new();
        for action in self.actions.values().cloned().collect::<Vec<_>>() {
            let (id, number) = (action.id, number_of(&action.args));
            self.expect(book.numbers.contains(&number), || format!("{id}: nobody wished {number}"));
            self.expect(numbers.insert(number), || {
                format!("{id}: {number} was wished once and is there twice")
            });
        }
    }

    /// The log knows this version of the action by this digest.
    fn digest(&mut self, id: ActionId, version: u32, digest: Digest, what: &str) {
        let about = |event: &Event| event.action.as_ref().map(|about| (about.version, about.digest));
        let history = self.histories.get(&id);
        let known = history
            .is_some_and(|events| events.iter().filter_map(about).any(|found| found == (version, digest)));
        self.expect(known, || format!("{id}: {what} named version {version} {digest}, the log does not"));
    }

    /// Every decision that was answered is there, with who made it, in the action and in the log.
    fn decisions(&mut self, book: &Book) {
        for made in &book.decisions {
            let (id, by) = (made.id, made.by);
            let Some(action) = self.action(id, "a decision") else { continue };
            // Among others: whoever approved what waits for a second person may still say no.
            let recorded = action
                .votes
                .iter()
                .any(|vote| vote.by == by && vote.version == made.version && vote.decision == made.decision);
            self.expect(recorded, || {
                format!(
                    "{id}: {by} was told that \"{}\" is recorded, and it is not: {:?}",
                    made.decision, action.votes
                )
            });
            let logged = self.histories.get(&id).is_some_and(|events| {
                events.iter().any(|event| {
                    event.actor.name() == Some(by)
                        && event.fact.decision() == Some(made.decision)
                        && event.action.as_ref().is_some_and(|about| about.version == made.version)
                })
            });
            self.expect(logged, || format!("{id}: the log lacks the {} of {by}", made.decision));
        }
        // A no stands: whoever was told "denied" must not find it run.
        for made in &book.decisions {
            if let (Decision::Deny | Decision::Respond, Some(action)) =
                (made.decision, self.actions.get(&made.id))
            {
                let status = action.status;
                self.expect(status == Status::Denied, || format!("{}: denied, and yet {status}", made.id));
            }
        }
    }

    /// No action was claimed twice by anyone, and what was claimed is what was decided.
    fn claims(&mut self, book: &Book) {
        let (mut claimed, mut keys) = (HashSet::new(), HashSet::new());
        for claim in &book.claims {
            let id = claim.id;
            self.expect(claimed.insert(id), || format!("{id} was claimed twice"));
            self.expect(keys.insert(&claim.idempotency_key), || format!("{} twice", claim.idempotency_key));
            let Some(action) = self.action(id, "a claim") else { continue };
            let mine = claim.digest == action.digest
                && claim.number == number_of(&action.args)
                && claim.idempotency_key == format!("{id}.{}", action.version);
            self.expect(mine, || format!("{id}: what was claimed is not what is there"));
            self.expect(was_claimed(action.status), || format!("{id}: claimed, and yet {}", action.status));
            let logged = self.histories.get(&id).is_some_and(|events| {
                let lease = Fact::Claimed { lease_expires_at: claim.lease_expires_at };
                events.iter().any(|event| event.fact == lease)
            });
            self.expect(logged, || format!("{id}: the log lacks the claim"));
        }
    }

    fn outcomes(&mut self, book: &Book) {
        for reported in &book.outcomes {
            let Some(action) = self.action(reported.id, "an outcome") else { continue };
            let same = action.outcome.as_ref().is_some_and(|outcome| {
                outcome.status == reported.status && outcome.result == reported.result
            });
            self.expect(same && action.status == reported.status, || {
                format!("{}: reported {}, found {:?}", reported.id, reported.status, action.outcome)
            });
        }
    }

    /// Nobody reported it: it runs, or its lease is over and nobody knows.
    fn claims_without_outcome(&mut self, book: &Book) {
        let mut unknown = 0;
        for claim in book.claims.iter().filter(|claim| !book.reported.contains(&claim.id)) {
            let Some(action) = self.actions.get(&claim.id) else { continue };
            let status = action.status;
            let expected = if claim.lease_expires_at < now() { Status::Unknown } else { Status::Executing };
            unknown += u64::from(status == Status::Unknown);
            self.expect(status == expected, || {
                format!(
                    "{}: nobody reported it, the lease ends {}, it is {status}",
                    claim.id, claim.lease_expires_at
                )
            });
        }
        self.expect(unknown > 0 || book.claims.len() < 100, || "no lease ended in this run".into());
    }
}

fn now() -> Timestamp {
    Timestamp::from_micros(0).after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
}

fn was_claimed(status: Status) -> bool {
    matches!(status, Status::Executing | Status::Succeeded | Status::Failed | Status::Unknown)
}

/// What is wrong with the history of an action, if something is.
fn unsound(action: &ActionView, history: &[Event]) -> Option<String> {
    let mut before: Option<ActionRef> = None;
    for (revision, event) in (1..).zip(history) {
        let about = event.action.clone()?;
        let name = event.fact.type_name();
        if about.revision != revision {
            return Some(format!("event {revision} ({name}) is revision {}", about.revision));
        }
        let from = before.as_ref().map(|before| before.status);
        if !may_happen(from, &event.fact, about.status) {
            return Some(format!("{name} led from {from:?} to {:?}", about.status));
        }
        before = Some(about);
    }
    let count = |name| history.iter().filter(|event| event.fact.type_name() == name).count();
    if count("claimed") > 1 || count("finished") > 1 {
        return Some(format!("{} claims, {} ends", count("claimed"), count("finished")));
    }
    let last = before?;
    let agrees = (last.status, last.version, last.digest) == (action.status, action.version, action.digest);
    (!agrees).then(|| format!("the log ends with {last:?}, the action is {:?}", action.status))
}

/// Whether this can happen to an action that stands there, and leave it here. Nothing can once it has ended, but for
/// a report that comes after its lease.
fn may_happen(from: Option<Status>, fact: &Fact, to: Status) -> bool {
    use Status::{Authorised, Denied, Executing, Failed, Lapsed, Pending, Succeeded, Unknown};
    match fact {
        Fact::Proposed { .. } => from.is_none() && matches!(to, Pending | Authorised),
        Fact::Modified { .. } | Fact::Decided { decision: Decision::Approve, .. } => {
            from == Some(Pending) && matches!(to, Pending | Authorised)
        }
        Fact::Decided { .. } => from == Some(Pending) && to == Denied,
        Fact::Lapsed => from == Some(Authorised) && to == Lapsed,
        Fact::Claimed { .. } => from == Some(Authorised) && to == Executing,
        Fact::LeaseEnded => from == Some(Executing) && to == Unknown,
        Fact::Finished { late, .. } => {
            let in_time = from == Some(Executing);
            (in_time || (from == Some(Unknown) && *late)) && matches!(to, Succeeded | Failed)
        }
        // Nobody here does any of that, and nothing waits for hours.
        _ => false,
    }
}
