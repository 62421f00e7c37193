//! Whether the log is one that could have come about, and the actions are what it leads to.

use std::collections::HashSet;

use banksman_core::audit::{ActionRef, Event, Fact};
use banksman_core::{ActionId, Decision, Status};

use super::Findings;
use super::record::{Record, Standing};

pub(super) fn check(record: &Record, findings: &mut Findings) {
    for (expected, (seq, _)) in (1..).zip(&record.log) {
        findings.expect(*seq == expected, || format!("the log has {seq} where {expected} should be"));
    }
    let histories = record.histories();
    let known: HashSet<ActionId> = record.actions.keys().chain(histories.keys()).copied().collect();
    for id in known {
        let (Some(action), Some(history)) = (record.actions.get(&id), histories.get(&id)) else {
            findings.expect(false, || format!("{id} is only in the log, or only beside it"));
            continue;
        };
        let problem = unsound(action, history.iter().map(|(_, event)| *event));
        findings.expect(problem.is_none(), || format!("{id}: {}", problem.unwrap_or_default()));
    }
}

/// What is wrong with the history of an action, if something is: one event for each revision, each possible after the
/// one before, and the action as the last one left it.
fn unsound<'a>(action: &Standing, history: impl Iterator<Item = &'a Event>) -> Option<String> {
    let mut before: Option<&ActionRef> = None;
    let (mut claims, mut ends) = (0, 0);
    for (revision, event) in (1..).zip(history) {
        let about = event.action.as_ref()?;
        let name = event.fact.type_name();
        if about.revision != revision {
            return Some(format!("event {revision} ({name}) is revision {}", about.revision));
        }
        let from = before.map(|before| before.status);
        if !may_happen(from, &event.fact, about.status) {
            return Some(format!("{name} led from {from:?} to {:?}", about.status));
        }
        claims += u32::from(name == "claimed");
        ends += u32::from(name == "finished");
        before = Some(about);
    }
    if claims > 1 || ends > 1 {
        return Some(format!("{claims} claims, {ends} ends"));
    }
    let last = before?;
    let agrees = (last.status, last.version, last.digest) == (action.status, action.version, action.digest);
    (!agrees).then(|| format!("the log ends with {last:?}, the action is {:?}", action.status))
}

/// Whether this can happen to an action that stands there, and leave it here. Nothing can once it has ended, but for
/// a report that comes after its lease.
fn may_happen(from: Option<Status>, fact: &Fact, to: Status) -> bool {
    use Status::{Authorised, Blocked, Denied, Executing, Failed, Lapsed, Pending, Succeeded, Unknown};
    match fact {
        Fact::Proposed { .. } => from.is_none() && matches!(to, Pending | Authorised | Blocked),
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
