//! People, proposals and moves that the properties are made of.
//!
//! Every case here is made by the lifecycle itself, so that a store is only ever asked to keep what the engine
//! could ask it to keep.

use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::{
    Action, ActionId, Actor, Assessment, Ballot, BatchId, Case, ClaimRequest, Command, Decision, Digest,
    Edit, Effect, GrantId, Kind, Moment, Opening, Outcome, Principal, PrincipalKind, Risk, Submission, Tier,
    Timestamp, TokenId, Transition, Verdict, open, step,
};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::{AdvancedCase, Commit, CommitError, Committed, Conflict, IdempotencyKey, NoticeRow, Store};

/// When the suite's time begins: 2023-11-14T22:13:20Z.
const START: i64 = 1_700_000_000_000_000;

/// So many seconds after the suite's time began.
pub(super) fn second(count: i64) -> Timestamp {
    Timestamp::from_micros(START + count * 1_000_000)
}

/// The id of the so-manieth action; ids ascend with their numbers.
pub(super) fn id(number: u64) -> ActionId {
    ActionId::from_parts(second(0).as_millis() + number, u128::from(number))
}

pub(super) fn batch_id(number: u64) -> BatchId {
    BatchId::from_parts(second(0).as_millis() + number, u128::from(number))
}

pub(super) fn person(kind: PrincipalKind, name: &str) -> Principal {
    Principal { token: TokenId::from_parts(0, 7), kind, name: name.into(), owner: None, roles: Vec::new() }
}

pub(super) fn verdict(tier: Tier, risk: Risk) -> Verdict {
    Verdict { matched: vec!["refunds".into()], allow_remember: true, ..Verdict::new(tier, risk, "refunds") }
}

pub(super) fn submission(action: Action, verdict: Verdict) -> Arc<Submission> {
    Arc::new(Submission::new(action, Assessment::of(Vec::new()), verdict))
}

pub(super) fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text.as_bytes()).unwrap()
}

pub(super) fn refund(tool: &str, amount: u64) -> Action {
    Action::bare(tool, Kind::Tool, json(&format!(r#"{{"amount":{amount}}}"#)))
}

/// What an agent asks for; each differs from the others only by what a property says.
#[derive(Debug, Clone)]
pub(super) struct Proposal {
    pub(super) number: u64,
    /// Two proposals of one agent with the same tool and amount ask for the same.
    pub(super) amount: u64,
    pub(super) agent: String,
    pub(super) tool: String,
    pub(super) tier: Tier,
    pub(super) risk: Risk,
    pub(super) grant: Option<GrantId>,
    pub(super) batch: Option<BatchId>,
    pub(super) observed: bool,
    pub(super) at: Timestamp,
}

impl Proposal {
    /// The so-manieth proposal of the usual agent, unlike any other and held.
    pub(super) fn number(number: u64) -> Self {
        Self {
            number,
            amount: number,
            agent: "riley".into(),
            tool: "refund".into(),
            tier: Tier::Approve,
            risk: Risk::High,
            grant: None,
            batch: None,
            observed: false,
            at: second(0),
        }
    }

    pub(super) fn by(self, agent: &str) -> Self {
        Self { agent: agent.into(), ..self }
    }

    /// The same under a policy that only observes.
    pub(super) fn observed(self) -> Self {
        Self { observed: true, ..self }
    }

    pub(super) fn open(self) -> Transition {
        let opening = Opening {
            id: id(self.number),
            agent: person(PrincipalKind::Agent, &self.agent),
            batch: self.batch,
            submission: submission(
                refund(&self.tool, self.amount),
                Verdict { observed: self.observed, ..verdict(self.tier, self.risk) },
            ),
            grant: self.grant,
        };
        open(opening, &Moment::at(self.at))
    }
}

fn moved(case: &Case, command: Command, at: Timestamp) -> Transition {
    step(case, command, &Moment::at(at)).unwrap()
}

pub(super) fn ballot(case: &Case, by: &str, decision: Decision) -> Ballot {
    Ballot {
        reviewer: person(PrincipalKind::Reviewer, by),
        lent: Vec::new(),
        brought_by: None,
        decision,
        version: case.version,
        digest: case.submission.digest,
        reason: Some("because".into()),
        message: Some("try again tomorrow".into()),
        remember: false,
        step_up: None,
    }
}

pub(super) fn decide(case: &Case, by: &str, decision: Decision, at: Timestamp) -> Transition {
    moved(case, Command::Decide(ballot(case, by, decision)), at)
}

pub(super) fn approve(case: &Case, at: Timestamp) -> Transition {
    decide(case, "ann", Decision::Approve, at)
}

pub(super) fn deny(case: &Case, at: Timestamp) -> Transition {
    decide(case, "ann", Decision::Deny, at)
}

/// An edit to another amount, which the author's own approval authorises.
pub(super) fn edit(case: &Case, amount: u64, at: Timestamp) -> Transition {
    let action = refund(&case.submission.action.tool, amount);
    let edit = Edit {
        ballot: ballot(case, "ann", Decision::Modify),
        submission: submission(action, Verdict::clone(&case.submission.verdict)),
    };
    moved(case, Command::Edit(edit), at)
}

pub(super) fn cancel(case: &Case, at: Timestamp) -> Transition {
    let by = Actor::Agent { name: case.agent.clone() };
    moved(case, Command::Cancel { by, reason: Some("changed my mind".into()) }, at)
}

pub(super) fn claim(case: &Case, at: Timestamp) -> Transition {
    let request = ClaimRequest { digest: case.submission.digest, preconditions: None };
    moved(case, Command::Claim(request), at)
}

pub(super) fn report(case: &Case, outcome: Outcome, at: Timestamp) -> Transition {
    moved(case, Command::Report(outcome), at)
}

pub(super) fn succeed(case: &Case, at: Timestamp) -> Transition {
    report(case, Outcome::Succeeded { result: Some(json(r#"{"refunded":true}"#)) }, at)
}

pub(super) fn pass_time(case: &Case, at: Timestamp) -> Transition {
    moved(case, Command::PassTime, at)
}

fn notices(transition: &Transition) -> Vec<NoticeRow> {
    let row = |effect: &Effect| match effect {
        Effect::Notify(notice) => {
            Some(NoticeRow { action: transition.case.id, notice: *notice, at: transition.event.at })
        }
        Effect::Remember => None,
    };
    transition.effects.iter().filter_map(row).collect()
}

/// The commit that the engine would make of a new action.
pub(super) fn opening(transition: Transition) -> Commit {
    Commit {
        notices: notices(&transition),
        opened: vec![Arc::new(transition.case)],
        events: vec![*transition.event],
        ..Commit::default()
    }
}

/// The commit that the engine would make of a move.
pub(super) fn advancing(transition: Transition) -> Commit {
    let new_submission = transition.event.fact.decision() == Some(Decision::Modify);
    Commit {
        notices: notices(&transition),
        advanced: vec![AdvancedCase {
            was_pending: ends_a_hold(&transition.event.fact),
            before: None,
            case: Arc::new(transition.case),
            new_submission,
        }],
        events: vec![*transition.event],
        ..Commit::default()
    }
}

/// Only what is pending is decided, edited, withdrawn or expired.
pub(super) fn ends_a_hold(fact: &banksman_core::audit::Fact) -> bool {
    use banksman_core::audit::Fact;
    matches!(fact, Fact::Decided { .. } | Fact::Modified { .. } | Fact::Cancelled { .. } | Fact::Expired)
}

/// Both in one.
pub(super) fn together(commits: impl IntoIterator<Item = Commit>) -> Commit {
    commits.into_iter().fold(Commit::default(), |mut all, one| {
        all.opened.extend(one.opened);
        all.advanced.extend(one.advanced);
        all.events.extend(one.events);
        all.notices.extend(one.notices);
        all
    })
}

pub(super) fn key(text: &str, request: &str, action: ActionId) -> IdempotencyKey {
    IdempotencyKey {
        agent: "riley".into(),
        key: text.into(),
        request: Digest::of(request.as_bytes()),
        action,
        at: second(0),
    }
}

/// Stores a new action.
pub(super) async fn hold(store: &Arc<dyn Store>, proposal: Proposal) -> Case {
    let transition = proposal.open();
    let case = transition.case.clone();
    store.commit(opening(transition)).await.unwrap();
    case
}

/// Stores a move.
pub(super) async fn advance(store: &Arc<dyn Store>, transition: Transition) -> Case {
    let case = transition.case.clone();
    store.commit(advancing(transition)).await.unwrap();
    case
}

/// The conflict that a commit met.
pub(super) fn conflict(result: Result<Committed, CommitError>) -> Conflict {
    match result {
        Err(CommitError::Conflict(conflict)) => conflict,
        Err(CommitError::Unavailable(error)) => panic!("expected a conflict, but {error}"),
        Ok(committed) => panic!("expected a conflict, but it was committed: {committed:?}"),
    }
}

/// What became of commits that were made at the same time, in the order in which they were given.
pub(super) async fn at_once(
    store: &Arc<dyn Store>,
    commits: Vec<Commit>,
) -> Vec<Result<Committed, CommitError>> {
    let count = commits.len();
    let gate = Arc::new(Barrier::new(count));
    let mut tasks = JoinSet::new();
    for (place, commit) in commits.into_iter().enumerate() {
        let (store, gate) = (Arc::clone(store), Arc::clone(&gate));
        tasks.spawn(async move {
            gate.wait().await;
            (place, store.commit(commit).await)
        });
    }
    let mut results = tasks.join_all().await;
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// How many of these succeeded, and the conflicts that the others met.
pub(super) fn tally(results: Vec<Result<Committed, CommitError>>) -> (usize, Vec<Conflict>) {
    let (done, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    (done.len(), refused.into_iter().map(conflict).collect())
}
