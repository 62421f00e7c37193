//! What the engine remembers of actions that it saw recently, so that a hot action is not read again.
//!
//! A remembered action may be old: another node may have moved it. That is safe, because every write is guarded
//! by the revision it was computed from, and a refusal is only ever given on a fresh read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use banksman_core::{Action, ActionId, Assessment, Case, Finding, Review, State, Submission};
use quick_cache::Weighter;
use quick_cache::unsync::Cache;

/// Bytes of actions that are on their way that all shards together may hold.
const CAPACITY: u64 = 32 * 1024 * 1024;
/// The same of actions that have ended. Few ask for those again, and every new action would be put where one of them was
/// long ago: out of reach of the processor's caches, which cost some 7 % of the server's time.
const CAPACITY_ENDED: u64 = 1024 * 1024;
const SHARDS: usize = 16;
const EXPECTED_BYTES: u64 = 1024;

#[derive(Clone)]
struct ByBytes;

impl Weighter<ActionId, Arc<Case>> for ByBytes {
    fn weight(&self, _: &ActionId, case: &Arc<Case>) -> u64 {
        weight(case)
    }
}

/// Every text that others can make long. Only lengths are taken: this runs at each transition.
fn weight(case: &Case) -> u64 {
    let Submission { action, assessment, verdict, digest: _ } = case.submission.as_ref();
    let bytes = said_by_agent(action)
        + found(assessment)
        + listed(&verdict.matched)
        + listed(&verdict.messages)
        + said_by_people(&case.reviews)
        + said_of_its_end(&case.state);
    EXPECTED_BYTES + u64::try_from(bytes).unwrap_or(u64::MAX / 2)
}

fn said_by_agent(action: &Action) -> usize {
    let json = [
        &action.evidence,
        &action.checkpoint,
        &action.state_before,
        &action.args_schema,
        &action.preconditions,
    ];
    let words = [&action.description, &action.rationale, &action.rollback_plan];
    action.args.as_str().len()
        + json.into_iter().flatten().map(|text| text.as_str().len()).sum::<usize>()
        + words.into_iter().flatten().map(String::len).sum::<usize>()
        + listed(&action.affected_systems)
        + action.resume.as_ref().map_or(0, |resume| resume.url.len())
}

fn found(assessment: &Assessment) -> usize {
    let finding = |finding: &Finding| {
        let argument = finding.argument.as_ref().map_or(0, String::len);
        size_of::<Finding>() + finding.rule.len() + finding.reason.len() + argument
    };
    let triage = assessment.triage.iter().flat_map(|triage| [&triage.rationale, &triage.problem]);
    assessment.findings.iter().map(finding).sum::<usize>()
        + listed(&assessment.resources)
        + listed(&assessment.recommendations)
        + assessment.impact.as_ref().map_or(0, String::len)
        + triage.flatten().map(String::len).sum::<usize>()
}

fn said_by_people(reviews: &[Review]) -> usize {
    let words = reviews.iter().flat_map(|review| [&review.reason, &review.message]);
    size_of_val(reviews) + words.flatten().map(String::len).sum::<usize>()
}

fn said_of_its_end(state: &State) -> usize {
    let (words, result) = match state {
        State::Blocked { reason, .. } => (Some(reason), None),
        State::Cancelled { reason, .. } | State::Revoked { reason, .. } => (reason.as_ref(), None),
        State::Succeeded { result, .. } => (None, result.as_ref()),
        State::Failed { error, result, .. } => (error.as_ref(), result.as_ref()),
        State::Pending { .. }
        | State::Authorised { .. }
        | State::Denied { .. }
        | State::Expired { .. }
        | State::Executing { .. }
        | State::Unknown { .. }
        | State::Lapsed { .. } => (None, None),
    };
    words.map_or(0, String::len) + result.map_or(0, |text| text.as_str().len())
}

fn listed(texts: &[String]) -> usize {
    size_of_val(texts) + texts.iter().map(String::len).sum::<usize>()
}

type Cases = Cache<ActionId, Arc<Case>, ByBytes>;

/// Two caches, so that what has ended does not take the place of what has not. An action is in one of them at the most.
struct Shard {
    on_their_way: Cases,
    ended: Cases,
}

impl Shard {
    fn new() -> Self {
        let cases = |capacity: u64| {
            let items = usize::try_from(capacity / EXPECTED_BYTES).unwrap_or(usize::MAX);
            Cache::with_weighter(items, capacity, ByBytes)
        };
        let share = SHARDS as u64;
        Self { on_their_way: cases(CAPACITY / share), ended: cases(CAPACITY_ENDED / share) }
    }

    fn get(&self, id: ActionId) -> Option<&Arc<Case>> {
        self.on_their_way.get(&id).or_else(|| self.ended.get(&id))
    }

    fn insert(&mut self, case: Arc<Case>) {
        // Only what time moves on is on its way; people and late reports move the rest, if anyone.
        let (place, other) = if case.state.wakes_at().is_some() {
            (&mut self.on_their_way, &mut self.ended)
        } else {
            (&mut self.ended, &mut self.on_their_way)
        };
        other.remove(&case.id);
        place.insert(case.id, case);
    }

    fn remove(&mut self, id: ActionId) {
        self.on_their_way.remove(&id);
        self.ended.remove(&id);
    }
}

/// The newest known revision of recently used actions.
pub(crate) struct Memory {
    shards: Vec<Mutex<Shard>>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::new(Shard::new())).collect() }
    }

    fn shard(&self, id: ActionId) -> Option<MutexGuard<'_, Shard>> {
        let byte = usize::from(id.to_bytes().last().copied().unwrap_or(0));
        self.shards.get(byte % SHARDS).map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn get(&self, id: ActionId) -> Option<Arc<Case>> {
        self.shard(id)?.get(id).cloned()
    }

    /// Keeps an action, unless something newer is known. Answers of concurrent commits arrive in any order.
    pub(crate) fn keep(&self, case: &Arc<Case>) {
        self.keep_if(case, || true);
    }

    /// The same, if `still_current` holds while nobody else can add a newer one.
    pub(crate) fn keep_if(&self, case: &Arc<Case>, still_current: impl FnOnce() -> bool) {
        let Some(mut shard) = self.shard(case.id) else { return };
        let newer = shard.get(case.id).is_some_and(|known| known.revision >= case.revision);
        if !newer && still_current() {
            shard.insert(Arc::clone(case));
        }
    }

    /// Forgets an action of which the newest revision is not certain.
    pub(crate) fn forget(&self, id: ActionId) {
        if let Some(mut shard) = self.shard(id) {
            shard.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use banksman_core::json::CanonicalJson;
    use banksman_core::{Authority, Claim, Decision, Kind, Risk, Tier, Timestamp, Triage, Verdict};

    use super::*;

    const LONG: usize = 100_000;

    fn case() -> Case {
        let args = CanonicalJson::parse(b"{}").unwrap();
        let action = Action::bare("read", Kind::Tool, args);
        let verdict = Verdict::new(Tier::Auto, Risk::Low, "x");
        Case {
            id: ActionId::from_parts(1, 1),
            agent: "riley".into(),
            owner: None,
            batch: None,
            created_at: Timestamp::from_micros(0),
            revision: 1,
            version: 1,
            submission: Arc::new(Submission::new(action, Assessment::of(Vec::new()), verdict)),
            reviews: Vec::new(),
            state: State::Lapsed { at: Timestamp::from_micros(0) },
        }
    }

    fn text() -> String {
        "x".repeat(LONG)
    }

    fn json() -> CanonicalJson {
        CanonicalJson::parse(format!("[{:?}]", text()).as_bytes()).unwrap()
    }

    fn action(change: impl FnOnce(&mut Action)) -> Case {
        let mut case = case();
        change(&mut Arc::make_mut(&mut case.submission).action);
        case
    }

    fn assessment(change: impl FnOnce(&mut Assessment)) -> Case {
        let mut case = case();
        change(Arc::make_mut(&mut Arc::make_mut(&mut case.submission).assessment));
        case
    }

    fn reviewed(reason: Option<String>, message: Option<String>) -> Case {
        let review = Review {
            by: "ann".into(),
            roles: Vec::new(),
            acting: Vec::new(),
            brought_by: None,
            solo_operator: false,
            decision: Decision::Approve,
            version: 1,
            at: Timestamp::from_micros(0),
            reason,
            message,
        };
        Case { reviews: vec![review], ..case() }
    }

    fn ended(state: impl FnOnce(Authority, Claim, Timestamp) -> State) -> Case {
        let at = Timestamp::from_micros(0);
        Case { state: state(Authority::Policy, Claim { at, lease_expires_at: at }, at), ..case() }
    }

    fn numbered(number: u128, revision: u64, state: State) -> Arc<Case> {
        Arc::new(Case { id: ActionId::from_parts(1, number), revision, state, ..case() })
    }

    fn executing() -> State {
        let at = Timestamp::from_micros(0);
        State::Executing { authority: Authority::Policy, claim: Claim { at, lease_expires_at: at } }
    }

    #[test]
    fn what_has_ended_takes_no_place_of_what_has_not() {
        let memory = Memory::new();
        let first = numbered(0, 1, executing());
        memory.keep(&first);
        let lapsed = || State::Lapsed { at: Timestamp::from_micros(0) };
        for number in 1..100_000 {
            memory.keep(&numbered(number, 1, lapsed()));
        }
        assert!(memory.get(first.id).is_some());
        let kept = (1..100_000).filter(|number| memory.get(ActionId::from_parts(1, *number)).is_some());
        let kept = u64::try_from(kept.count()).unwrap();
        assert!(kept > 100 && kept * EXPECTED_BYTES <= CAPACITY_ENDED, "{kept} are kept");
    }

    #[test]
    fn what_has_ended_is_not_replaced_by_what_it_was_before() {
        let memory = Memory::new();
        memory.keep(&numbered(0, 1, executing()));
        let ended = numbered(0, 2, State::Lapsed { at: Timestamp::from_micros(0) });
        memory.keep(&ended);
        memory.keep(&numbered(0, 1, executing()));
        assert_eq!(memory.get(ended.id).map(|known| known.revision), Some(2));
        memory.forget(ended.id);
        assert!(memory.get(ended.id).is_none());
    }

    #[test]
    fn whatever_can_be_long_is_weighed() {
        assert!(weight(&case()) < 2 * EXPECTED_BYTES);
        for (what, case) in [
            (
                "args",
                action(|action| {
                    action.args = CanonicalJson::parse(format!("{{\"x\":{:?}}}", text()).as_bytes()).unwrap()
                }),
            ),
            ("description", action(|action| action.description = Some(text()))),
            ("rationale", action(|action| action.rationale = Some(text()))),
            ("evidence", action(|action| action.evidence = Some(json()))),
            ("affected systems", action(|action| action.affected_systems = vec![text()])),
            ("rollback plan", action(|action| action.rollback_plan = Some(text()))),
            ("schema", action(|action| action.args_schema = Some(json()))),
            ("state before", action(|action| action.state_before = Some(json()))),
            ("preconditions", action(|action| action.preconditions = Some(json()))),
            ("checkpoint", action(|action| action.checkpoint = Some(json()))),
            ("a finding", assessment(|found| found.findings = vec![Finding::new("x", Risk::Low, text())])),
            (
                "findings",
                assessment(|found| found.findings = vec![Finding::new("x", Risk::Low, "y"); LONG / 50]),
            ),
            ("resources", assessment(|found| found.resources = vec!["x".into(); LONG / 20])),
            ("recommendations", assessment(|found| found.recommendations = vec![text()])),
            ("impact", assessment(|found| found.impact = Some(text()))),
            ("triage", assessment(|found| found.triage = Some(Triage::failed(text())))),
            ("a reason", reviewed(Some(text()), None)),
            ("a message", reviewed(None, Some(text()))),
            (
                "a result",
                ended(|authority, claim, at| State::Succeeded { authority, claim, at, result: Some(json()) }),
            ),
            (
                "an error",
                ended(|authority, claim, at| State::Failed {
                    authority,
                    claim,
                    at,
                    error: Some(text()),
                    result: None,
                }),
            ),
            (
                "its result",
                ended(|authority, claim, at| State::Failed {
                    authority,
                    claim,
                    at,
                    error: None,
                    result: Some(json()),
                }),
            ),
            (
                "why it was withdrawn",
                ended(|_, _, at| State::Cancelled { at, by: "ann".into(), reason: Some(text()) }),
            ),
        ] {
            let weight = weight(&case);
            assert!(weight >= LONG as u64, "{what}: {weight}");
        }
    }
}
