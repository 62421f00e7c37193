//! What the servers say in the end: every action as it stands, and the whole log.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use banksman_client::{ActionsQuery, AuditQuery, Client};
use banksman_core::audit::{Event, Fact};
use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, EventView};
use banksman_core::{ActionId, Decision, Digest, Status};

use crate::crew::book::number_of;

const PAGE: u32 = 500;

/// How late the timekeeper may be on a busy machine.
const SLACK: Duration = Duration::from_secs(10);

/// What is there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) actions: HashMap<ActionId, Standing>,
    /// Oldest first.
    pub(crate) log: Vec<(u64, Event)>,
}

/// An action as it stands, as far as anyone was told something of it.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    pub(crate) agent: String,
    pub(crate) number: u64,
    pub(crate) version: u32,
    pub(crate) digest: Digest,
    pub(crate) status: Status,
    pub(crate) votes: Vec<Vote>,
    pub(crate) outcome: Option<(Status, Option<CanonicalJson>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vote {
    pub(crate) by: String,
    pub(crate) version: u32,
    pub(crate) decision: Decision,
}

impl From<ActionView> for Standing {
    fn from(view: ActionView) -> Self {
        let vote = |vote: &banksman_core::wire::VoteView| Vote {
            by: vote.by.clone(),
            version: vote.version,
            decision: vote.decision,
        };
        Self {
            number: number_of(&view.args),
            votes: view.votes.iter().map(vote).collect(),
            outcome: view.outcome.map(|outcome| (outcome.status, outcome.result)),
            agent: view.agent,
            version: view.version,
            digest: view.digest,
            status: view.status,
        }
    }
}

impl Record {
    /// The events of each action, with their places in the log.
    pub(crate) fn histories(&self) -> HashMap<ActionId, Vec<(u64, &Event)>> {
        let mut histories: HashMap<ActionId, Vec<(u64, &Event)>> = HashMap::new();
        for (seq, event) in &self.log {
            if let Some(about) = &event.action {
                histories.entry(about.id).or_default().push((*seq, event));
            }
        }
        histories
    }

    /// How it ended, in numbers.
    pub(crate) fn tally(&self) -> String {
        let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
        for action in self.actions.values() {
            *statuses.entry(action.status.as_str()).or_default() += 1;
        }
        let is_late = |event: &Event| matches!(event.fact, Fact::Finished { late: true, .. });
        let late = self.log.iter().filter(|(_, event)| is_late(event)).count();
        let (actions, events) = (self.actions.len(), self.log.len());
        format!("{actions} actions {statuses:?}, {late} reported late, {events} audit events")
    }
}

/// Reads all there is, once nothing moves any more, and what is odd about reading it.
pub(crate) fn read(client: &Client) -> (Record, Vec<String>) {
    let mut odd = Vec::new();
    wait_for_short_terms(client, &mut odd);
    let all = client.all_actions(&ActionsQuery { limit: Some(PAGE), ..ActionsQuery::default() }).unwrap();
    let actions = all.into_iter().map(|action| (action.id, action.into())).collect();
    let record = Record { actions, log: whole_log(client) };
    each_action_has_its_own_events(client, &record, &mut odd);
    (record, odd)
}

/// The real timekeeper, after the last restart, ends what nobody claimed or reported. Only then does everything stand
/// still and can be read in more than one request.
fn wait_for_short_terms(client: &Client, odd: &mut Vec<String>) {
    let began = Instant::now();
    for status in [Status::Authorised, Status::Executing] {
        let query =
            ActionsQuery { status: Some(status), tool: Some("hasty".into()), ..ActionsQuery::default() };
        while !client.actions(&query).unwrap().items.is_empty() {
            if began.elapsed() > SLACK {
                return odd.push(format!("hasty, and still {status} after {SLACK:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn whole_log(client: &Client) -> Vec<(u64, Event)> {
    let mut query = AuditQuery { limit: Some(PAGE), ..AuditQuery::default() };
    let mut log = Vec::new();
    loop {
        let page = client.audit(&query).unwrap();
        log.extend(page.items.iter().map(event));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            log.reverse();
            return log;
        }
    }
}

fn event(view: &EventView) -> (u64, Event) {
    (view.seq, Event::from_bytes(view.event.get().as_bytes()).unwrap())
}

/// `GET /v1/audit?action=` finds the same events as reading all of them; for some actions, as it takes time.
fn each_action_has_its_own_events(client: &Client, record: &Record, odd: &mut Vec<String>) {
    for (id, mut history) in record.histories().into_iter().take(50) {
        let page = client.audit(&AuditQuery { action: Some(id), ..AuditQuery::default() }).unwrap();
        let found: Vec<(u64, Event)> = page.items.iter().map(event).collect();
        history.reverse();
        if !found.iter().map(|(seq, event)| (*seq, event)).eq(history.iter().copied()) {
            odd.push(format!("{id}: the log says {history:?}, asked for it {found:?}"));
        }
    }
}
