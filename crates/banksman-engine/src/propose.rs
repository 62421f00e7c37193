//! Propose: an agent wants to act.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::{
    Action, ActionId, BatchId, Case, ClaimRequest, Command, Digest, Moment, Opening, Principal, Refusal,
    State, Status, Submission, Timestamp, Transition, Verdict, open, step,
};
use banksman_store::{Commit, CommitError, Conflict, Control, ControlChange, IdempotencyKey};

use crate::admission::Scope;
use crate::advance::{FreezeOf, notices};
use crate::consider::{Surroundings, Tab};
use crate::grants::spent_grant;
use crate::schema::admit_args;
use crate::{Engine, EngineError, ids};

/// A proposal as it came in.
#[derive(Debug, Clone)]
pub struct ProposeRequest {
    /// What the agent wants to do.
    pub action: Action,
    /// A key by which the agent can send the same request again.
    pub idempotency: Option<(String, Digest)>,
    /// How long to wait for room, if the house is full; as configured, if the agent did not say.
    pub patience: Option<Duration>,
    /// What it takes at the least, whatever policy says.
    pub floor: Option<Verdict>,
    /// A JSON Schema of the arguments for whoever edits them, kept only if the action is held. What the agent sent is not
    /// checked by it: that is for the tool to do.
    pub schema_if_held: Option<CanonicalJson>,
    /// Whether the one who asks runs it at once if nobody has to be asked: then it is claimed in the same commit.
    pub claims: bool,
}

impl ProposeRequest {
    /// A request for an action, with nothing special about it.
    #[must_use]
    pub fn of(action: Action) -> Self {
        Self { action, idempotency: None, patience: None, floor: None, schema_if_held: None, claims: false }
    }

    /// A request from its body, with the key of the header.
    ///
    /// # Errors
    /// If the body is not an action.
    pub fn from_json(body: Json, key: Option<String>) -> Result<Self, banksman_core::ActionError> {
        let idempotency = key.map(|key| (key, Digest::of(CanonicalJson::of(&body).as_str().as_bytes())));
        Ok(Self { idempotency, ..Self::of(Action::from_json(body)?) })
    }
}

/// What came of a proposal.
#[derive(Debug)]
pub struct Proposed {
    /// The action, new or joined.
    pub case: Arc<Case>,
    /// Whether it was there before.
    pub joined: bool,
}

/// What comes of joining what was asked before.
enum Joining {
    Joined(Proposed),
    /// It can no longer be joined.
    Gone,
    /// Fewer people were asked there, or it relies on other facts.
    OnOtherTerms(Arc<Case>),
}

/// What a proposal meets.
#[derive(Clone, Copy)]
pub(crate) struct OpeningScene<'a> {
    pub(crate) batch: Option<BatchId>,
    /// What asks for the same already and is counted already.
    pub(crate) twin: Option<ActionId>,
    /// What it takes at the least.
    pub(crate) floor: Option<&'a Verdict>,
    pub(crate) control: &'a Control,
    pub(crate) now: Timestamp,
}

impl Engine {
    /// Takes a proposal: blocked, authorised at once, held, or joined with one that is already held. If it would be
    /// held and there is no room, it waits in line for it.
    ///
    /// # Errors
    /// If there is no room in time, the key was used for something else, or nothing can be recorded.
    pub fn propose(
        &self,
        agent: &Principal,
        request: ProposeRequest,
    ) -> impl Future<Output = Result<Proposed, EngineError>> + Send {
        // Taken apart out here: what is taken apart within a future has a place in it twice.
        let ProposeRequest { mut action, idempotency, patience, mut floor, schema_if_held, claims } = request;
        async move {
            self.check_resume(&action)?;
            // On the heap, as all that is rare: it would make every proposal's future larger.
            if action.args_schema.is_some() {
                Box::pin(admit_args(&action)).await?;
            }
            let own_schema = action.args_schema.clone().filter(|_| schema_if_held.is_some());
            let mut visit = self.admission.visit(&agent.name, self.config.limits, patience);
            // A handful of tries: each failure means that the house rules were changed meanwhile.
            let mut tries = 0..100;
            while !tries.is_empty() {
                let now = self.clock.now();
                let control = self.control.load_full();
                self.confirm(agent, control.epoch).await?;
                let mut tab = Tab::default();
                let scene =
                    OpeningScene { batch: None, twin: None, floor: floor.as_ref(), control: &control, now };
                let mut transition = self.open_case(agent, action, &scene, &mut tab).await?;
                if !tab.readings.is_empty()
                    && let digest = transition.case.submission.digest
                    && let Some(id) = self.store.joinable(&agent.name, digest).await?
                {
                    // The meters hold what the waiting one added. Judged by them, asking twice would count twice.
                    action = transition.case.submission.action.clone();
                    let (beside, mut unused) = (OpeningScene { twin: Some(id), ..scene }, Tab::default());
                    let opening = self.open_case(agent, action.clone(), &beside, &mut unused);
                    let asked = Box::pin(opening).await?.case.submission;
                    match Box::pin(self.join(agent, id, &asked, idempotency.as_ref(), now)).await? {
                        Joining::Joined(proposed) => return Ok(proposed),
                        Joining::Gone => {
                            tries.next();
                            continue;
                        }
                        // It is a call of its own, unless its key or the store says otherwise.
                        Joining::OnOtherTerms(_) => {}
                    }
                }
                if let Some(schema) = &schema_if_held {
                    // On every try: one that was held and began again may not be held any more.
                    let is_held = transition.case.status() == Status::Pending;
                    let kept = if is_held { Some(schema) } else { own_schema.as_ref() };
                    Arc::make_mut(&mut transition.case.submission).action.args_schema = kept.cloned();
                }
                let mut events = vec![*transition.event];
                if claims && matches!(transition.case.state, State::Authorised { .. }) {
                    let request =
                        ClaimRequest { digest: transition.case.submission.digest, preconditions: None };
                    let moment = Moment { freeze: control.freeze_of(&transition.case), ..Moment::at(now) };
                    let claimed = step(&transition.case, Command::Claim(request), &moment)
                        .map_err(|refusal| EngineError::refused(refusal, &transition.case))?;
                    transition.case = claimed.case;
                    transition.effects.extend(claimed.effects);
                    events.push(*claimed.event);
                }
                let case = Arc::new(transition.case);
                let rows = notices(&case, &transition.effects, now);
                let told = !rows.is_empty();
                let key = idempotency
                    .as_ref()
                    .map(|(key, request)| idempotency_row(agent, key, *request, case.id, now));
                let commit = Commit {
                    control_epoch: Some(control.epoch),
                    limits: Some(visit.limits()),
                    opened: vec![Arc::clone(&case)],
                    readings: tab.readings,
                    charges: tab.charges,
                    idempotency: key,
                    control: spent_grant(&control, &case).map(ControlChange::UseGrant).into_iter().collect(),
                    events,
                    notices: rows,
                    ..Commit::default()
                };
                let spends = !commit.control.is_empty();
                match self.commit(commit).await {
                    Ok(committed) => {
                        self.publish(std::slice::from_ref(&case), committed.last_seq);
                        if told {
                            self.dispatcher.nudge();
                        }
                        if spends {
                            self.notice_new_rules().await;
                        }
                        return Ok(Proposed { case, joined: false });
                    }
                    // Someone else was let through meanwhile, so this does not go on for ever.
                    Err(CommitError::Conflict(Conflict::MetersMoved)) => {
                        action = case.submission.action.clone();
                    }
                    Err(CommitError::Conflict(Conflict::Joinable(id))) => {
                        tries.next();
                        let asked = &case.submission;
                        match Box::pin(self.join(agent, id, asked, idempotency.as_ref(), now)).await? {
                            Joining::Joined(proposed) => return Ok(proposed),
                            Joining::Gone => {}
                            Joining::OnOtherTerms(twin) => {
                                Box::pin(self.replace(agent, &twin, asked)).await?;
                                let demanded = &twin.submission.verdict;
                                floor = Some(match floor {
                                    Some(floor) => floor.at_least(demanded),
                                    None => Verdict::clone(demanded),
                                });
                            }
                        }
                        action = case.submission.action.clone();
                    }
                    Err(CommitError::Conflict(conflict)) => match Scope::of(&conflict) {
                        Some(full) => {
                            action = case.submission.action.clone();
                            // Whoever waits holds what was asked for, and no more.
                            drop(case);
                            visit.wait(full, 1).await?;
                        }
                        None => {
                            tries.next();
                            let resolving = self.resolve_conflict(&conflict, idempotency.as_ref(), &case);
                            if let Some(proposed) = Box::pin(resolving).await? {
                                return Ok(proposed);
                            }
                            action = case.submission.action.clone();
                        }
                    },
                    Err(CommitError::Unavailable(error)) => return Err(error.into()),
                }
            }
            Err(EngineError::Internal("the house rules kept changing".into()))
        }
    }

    /// The first transition of an action, by the rules of this moment.
    pub(crate) async fn open_case(
        &self,
        agent: &Principal,
        action: Action,
        scene: &OpeningScene<'_>,
        tab: &mut Tab,
    ) -> Result<Transition, EngineError> {
        let OpeningScene { batch, twin, floor, control, now } = *scene;
        let around = Surroundings { agent: &agent.name, control, now, itself: twin };
        let (mut submission, metered) = self.consider(action, &around, tab).await?;
        if let Some(floor) = floor {
            submission = submission.at_least(floor);
        }
        let submission = Arc::new(submission);
        let freeze =
            control.freezes.iter().find(|freeze| freeze.covers(&agent.name, &submission.action.tool));
        let judge = self.judge.load();
        let moment = Moment { now, freeze, solo_operator: judge.house().solo_operator.as_deref() };
        let grant = control.grants.iter().find(|grant| {
            let brought_by = self.credentials.behind(&grant.by);
            grant.covers(agent, &submission, brought_by.as_deref(), &moment)
        });
        let (millis, entropy) = ids::fresh(now)?;
        let opening = Opening {
            id: ActionId::from_parts(millis, entropy),
            agent: agent.clone(),
            batch,
            submission,
            grant: grant.map(|grant| grant.id),
        };
        let transition = open(opening, &moment);
        metered.charge(tab, &transition.case);
        Ok(transition)
    }

    /// What a conflict means for a proposal; `None` is to try again.
    async fn resolve_conflict(
        &self,
        conflict: &Conflict,
        idempotency: Option<&(String, Digest)>,
        case: &Case,
    ) -> Result<Option<Proposed>, EngineError> {
        match conflict {
            Conflict::ControlMoved => {
                self.reload_control().await?;
                Ok(None)
            }
            Conflict::IdempotencyKeyUsed { request, action } => match idempotency {
                Some((_, asked)) if asked == request => {
                    Ok(Some(Proposed { case: self.recall(*action).await?, joined: true }))
                }
                Some(_) | None => Err(EngineError::IdempotencyKeyReused),
            },
            Conflict::Joinable(_)
            | Conflict::CaseMoved(_)
            | Conflict::TooLate(_)
            | Conflict::MetersMoved
            | Conflict::PeopleMoved
            | Conflict::ReadOn
            | Conflict::EventSeen
            | Conflict::TooManyPendingForAgent
            | Conflict::TooManyPending => {
                Err(EngineError::Internal(format!("a new action {} cannot meet {conflict:?} here", case.id)))
            }
        }
    }

    /// Joins an action that waits already, if whoever decides on it decides on all that is asked now.
    async fn join(
        &self,
        agent: &Principal,
        id: ActionId,
        asked: &Submission,
        idempotency: Option<&(String, Digest)>,
        now: Timestamp,
    ) -> Result<Joining, EngineError> {
        let Some(case) = self.still_waits(id).await? else { return Ok(Joining::Gone) };
        if !asked.may_join(&case.submission) {
            return Ok(Joining::OnOtherTerms(case));
        }
        if let Some((key, request)) = idempotency {
            // The key leads to the joined action from now on, so that a repeated request finds it even when it
            // has been decided and run meanwhile.
            let row = idempotency_row(agent, key, *request, id, now);
            let commit = Commit { idempotency: Some(row), ..Commit::default() };
            match self.commit(commit).await {
                Ok(_) => {}
                Err(CommitError::Conflict(Conflict::IdempotencyKeyUsed { request: used, action })) => {
                    if used != *request {
                        return Err(EngineError::IdempotencyKeyReused);
                    }
                    return Ok(Joining::Joined(Proposed { case: self.recall(action).await?, joined: true }));
                }
                Err(error) => return Err(EngineError::unexpected_conflict(error)),
            }
        }
        Ok(Joining::Joined(Proposed { case, joined: true }))
    }

    /// Withdraws what was asked, or allowed, on milder terms than it would be now, to make room for a hold on both terms: a
    /// yes to less is no yes to more. What relies on other facts is left to the agent, which may still want either.
    async fn replace(&self, agent: &Principal, twin: &Case, asked: &Submission) -> Result<(), EngineError> {
        if !asked.relies_on_the_same(&twin.submission) {
            return Err(EngineError::refused(Refusal::OtherPreconditions, twin));
        }
        let reason = "proposed again, where policy demands more";
        match self.cancel(agent, twin.id, Some(reason.into())).await {
            // Decided, claimed or over since: the next try sees what it is now.
            Ok(_) | Err(EngineError::Refused { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The action, if it can still be joined. One whose time is up is moved on, whether the timekeeper has come by
    /// or not, so that a new one can be held.
    pub(crate) async fn still_waits(&self, id: ActionId) -> Result<Option<Arc<Case>>, EngineError> {
        let case = self.fetch(id).await?;
        if case.state.ends_at().is_some_and(|end| end <= self.clock.now()) {
            self.pass_time(id).await?;
            return Ok(None);
        }
        Ok(case.state.is_joinable().then_some(case))
    }
}

pub(crate) fn idempotency_row(
    agent: &Principal,
    key: &str,
    request: Digest,
    action: ActionId,
    at: Timestamp,
) -> IdempotencyKey {
    IdempotencyKey { agent: agent.name.clone(), key: key.to_owned(), request, action, at }
}
