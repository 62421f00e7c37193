//! Propose: an agent wants to act.

use std::sync::Arc;
use std::time::Duration;

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::{
    Action, ActionId, BatchId, Case, ClaimRequest, Command, Digest, Moment, Opening, Principal, Refusal,
    State, Status, Submission, Timestamp, Transition, Verdict, open, step,
};
use banksman_store::{Commit, CommitError, Conflict, Control, ControlChange, IdempotencyKey, PendingLimits};

use crate::admission::{Scope, Visit};
use crate::advance::{FreezeOf, notices};
use crate::consider::{Surroundings, Tab};
use crate::grants::spent_grant;
use crate::retry::RetryBudget;
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

/// What an agent asks for, over all tries.
struct Asked<'a> {
    agent: &'a Principal,
    idempotency: Option<(String, Digest)>,
    /// What it takes at the least; more, once it takes the place of what was asked on other terms.
    floor: Option<Verdict>,
    /// The schema that is kept if the action is held, and the agent's own, which is kept if it is not.
    schema_if_held: Option<CanonicalJson>,
    own_schema: Option<CanonicalJson>,
    claims: bool,
}

/// What came of one try.
enum Attempt {
    Done(Proposed),
    /// Another commit came first. The same once more, on what is true by now.
    Retry(Action, Conflict),
    /// It would be held, and there is no room for it.
    Queue(Action, Scope),
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
        let ProposeRequest { mut action, idempotency, patience, floor, schema_if_held, claims } = request;
        let own_schema = action.args_schema.clone().filter(|_| schema_if_held.is_some());
        let mut asked = Asked { agent, idempotency, floor, schema_if_held, own_schema, claims };
        async move {
            self.check_resume(&action)?;
            // On the heap, as all that is rare: it would make every proposal's future larger.
            if action.args_schema.is_some() {
                Box::pin(admit_args(&action)).await?;
            }
            let mut visit = self.admission.visit(&agent.name, self.config.limits, patience);
            let mut budget = RetryBudget::new();
            loop {
                match self.attempt_propose(&mut asked, action, &mut visit).await? {
                    Attempt::Done(proposed) => return Ok(proposed),
                    Attempt::Retry(again, met) => {
                        budget.spend(&met)?;
                        action = again;
                    }
                    Attempt::Queue(again, full) => {
                        // Whoever waits holds what was asked for, and no more.
                        action = again;
                        visit.wait(full, 1).await?;
                    }
                }
            }
        }
    }

    /// One try: opens the action by what is true at this moment, and commits it if that is still so.
    async fn attempt_propose(
        &self,
        asked: &mut Asked<'_>,
        action: Action,
        visit: &mut Visit<'_>,
    ) -> Result<Attempt, EngineError> {
        let now = self.clock.now();
        let control = self.control.load_full();
        self.confirm(asked.agent, control.epoch).await?;
        let mut tab = Tab::default();
        let scene =
            OpeningScene { batch: None, twin: None, floor: asked.floor.as_ref(), control: &control, now };
        let transition = self.open_case(asked.agent, action, &scene, &mut tab).await?;
        if !tab.readings.is_empty()
            && let Some(attempt) = Box::pin(self.join_if_metered(asked, &transition.case, &scene)).await?
        {
            return Ok(attempt);
        }
        let (case, commit) = asked.commit_of(transition, tab, visit.limits(), &control, now)?;
        let (told, spends) = (!commit.notices.is_empty(), !commit.control.is_empty());
        match self.commit(commit).await {
            Ok(committed) => {
                self.publish(std::slice::from_ref(&case), committed.last_seq);
                if told {
                    self.dispatcher.nudge();
                }
                if spends {
                    self.notice_new_rules().await;
                }
                Ok(Attempt::Done(Proposed { case, joined: false }))
            }
            Err(CommitError::Conflict(met)) => Box::pin(self.after_conflict(asked, met, &case, now)).await,
            Err(CommitError::Unavailable(error)) => Err(error.into()),
        }
    }

    /// Joins what waits, before the meters are asked for room once more: they hold what the waiting one added, and judged
    /// by them, asking twice would count twice. `None` if it is a call of its own.
    async fn join_if_metered(
        &self,
        asked: &Asked<'_>,
        case: &Case,
        scene: &OpeningScene<'_>,
    ) -> Result<Option<Attempt>, EngineError> {
        let digest = case.submission.digest;
        let Some(id) = self.store.joinable(&asked.agent.name, digest).await? else { return Ok(None) };
        let action = case.submission.action.clone();
        let beside = OpeningScene { twin: Some(id), ..*scene };
        let opening = self.open_case(asked.agent, action, &beside, &mut Tab::default()).await?;
        let beside = opening.case.submission;
        Ok(match self.join(asked, id, &beside, scene.now).await? {
            Joining::Joined(proposed) => Some(Attempt::Done(proposed)),
            Joining::Gone => Some(Attempt::Retry(beside.action.clone(), Conflict::Joinable(id))),
            // Its key or the store may say otherwise.
            Joining::OnOtherTerms(_) => None,
        })
    }

    /// What a conflict means for a proposal.
    async fn after_conflict(
        &self,
        asked: &mut Asked<'_>,
        met: Conflict,
        case: &Case,
        now: Timestamp,
    ) -> Result<Attempt, EngineError> {
        match &met {
            Conflict::MetersMoved => {}
            Conflict::ControlMoved => self.reload_control().await?,
            Conflict::Joinable(id) => match self.join(asked, *id, &case.submission, now).await? {
                Joining::Joined(proposed) => return Ok(Attempt::Done(proposed)),
                Joining::Gone => {}
                Joining::OnOtherTerms(twin) => {
                    self.replace(asked.agent, &twin, &case.submission).await?;
                    asked.demand(&twin.submission.verdict);
                }
            },
            Conflict::IdempotencyKeyUsed { request, action } => {
                let is_same = asked.idempotency.as_ref().is_some_and(|(_, body)| body == request);
                if !is_same {
                    return Err(EngineError::IdempotencyKeyReused);
                }
                return Ok(Attempt::Done(Proposed { case: self.recall(*action).await?, joined: true }));
            }
            Conflict::TooManyPendingForAgent | Conflict::TooManyPending => {
                if let Some(full) = Scope::of(&met) {
                    return Ok(Attempt::Queue(case.submission.action.clone(), full));
                }
            }
            Conflict::CaseMoved(_)
            | Conflict::TooLate(_)
            | Conflict::PeopleMoved
            | Conflict::ReadOn
            | Conflict::EventSeen => {
                let id = case.id;
                return Err(EngineError::Internal(format!("a new action {id} cannot meet {met:?} here")));
            }
        }
        Ok(Attempt::Retry(case.submission.action.clone(), met))
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

    /// Joins an action that waits already, if whoever decides on it decides on all that is asked now.
    async fn join(
        &self,
        asked: &Asked<'_>,
        id: ActionId,
        submission: &Submission,
        now: Timestamp,
    ) -> Result<Joining, EngineError> {
        let Some(case) = self.still_waits(id).await? else { return Ok(Joining::Gone) };
        if !submission.may_join(&case.submission) {
            return Ok(Joining::OnOtherTerms(case));
        }
        if let Some((key, request)) = &asked.idempotency {
            // The key leads to the joined action from now on, so that a repeated request finds it even when it
            // has been decided and run meanwhile.
            let row = idempotency_row(asked.agent, key, *request, id, now);
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

impl Asked<'_> {
    /// It takes at least this from now on.
    fn demand(&mut self, verdict: &Verdict) {
        self.floor = Some(match self.floor.take() {
            Some(floor) => floor.at_least(verdict),
            None => verdict.clone(),
        });
    }

    /// What there is to write of an action that was opened: claimed too, if nobody has to be asked and the one who asks runs
    /// it at once.
    fn commit_of(
        &self,
        transition: Transition,
        tab: Tab,
        limits: PendingLimits,
        control: &Control,
        now: Timestamp,
    ) -> Result<(Arc<Case>, Commit), EngineError> {
        let Transition { mut case, event, mut effects } = transition;
        if let Some(schema) = &self.schema_if_held {
            // On every try: one that was held and began again may not be held any more.
            let is_held = case.status() == Status::Pending;
            let kept = if is_held { Some(schema) } else { self.own_schema.as_ref() };
            Arc::make_mut(&mut case.submission).action.args_schema = kept.cloned();
        }
        let mut events = vec![*event];
        if self.claims && matches!(case.state, State::Authorised { .. }) {
            let claimed = claimed_at_once(&case, control, now)?;
            case = claimed.case;
            effects.extend(claimed.effects);
            events.push(*claimed.event);
        }
        let case = Arc::new(case);
        let key = self.idempotency.as_ref();
        let commit = Commit {
            control_epoch: Some(control.epoch),
            limits: Some(limits),
            opened: vec![Arc::clone(&case)],
            readings: tab.readings,
            charges: tab.charges,
            idempotency: key.map(|(key, request)| idempotency_row(self.agent, key, *request, case.id, now)),
            control: spent_grant(control, &case).map(ControlChange::UseGrant).into_iter().collect(),
            notices: notices(&case, &effects, now),
            events,
            ..Commit::default()
        };
        Ok((case, commit))
    }
}

/// The claim of an action that was let through just now, to be committed together with its opening.
fn claimed_at_once(case: &Case, control: &Control, now: Timestamp) -> Result<Transition, EngineError> {
    let request = ClaimRequest { digest: case.submission.digest, preconditions: None };
    let moment = Moment { freeze: control.freeze_of(case), ..Moment::at(now) };
    step(case, Command::Claim(request), &moment).map_err(|refusal| EngineError::refused(refusal, case))
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
