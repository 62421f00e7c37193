//! Moving an action: load, ask the lifecycle, commit, and try again if someone was faster.

use std::sync::Arc;

use banksman_core::meter::{Charge, Reading};
use banksman_core::{ActionId, Case, Effect, Moment, Principal, Refusal, Status, Timestamp, Transition};
use banksman_store::{AdvancedCase, Commit, CommitError, Conflict, Control, ControlChange, NoticeRow};

use crate::{Engine, EngineError};

/// How often to try against others before giving up. Each failure means that another commit went through, so
/// only a store that lies keeps this busy.
pub(crate) const TRIES: usize = 1000;

/// What a verb wants to commit: the transition, and what goes with it.
pub(crate) struct Plan {
    pub(crate) transition: Transition,
    pub(crate) new_submission: bool,
    /// The moment by which it has to be committed, if it has to be.
    pub(crate) before: Option<Timestamp>,
    /// What meters have to show still.
    pub(crate) readings: Vec<Reading>,
    /// What it adds to meters.
    pub(crate) charges: Vec<Charge>,
    pub(crate) control: Vec<ControlChange>,
    pub(crate) events: Vec<banksman_core::audit::Event>,
    /// Whether nobody waits for it.
    pub(crate) patient: bool,
}

impl From<Transition> for Plan {
    fn from(transition: Transition) -> Self {
        Self {
            transition,
            new_submission: false,
            before: None,
            readings: Vec::new(),
            charges: Vec::new(),
            control: Vec::new(),
            events: Vec::new(),
            patient: false,
        }
    }
}

impl Plan {
    /// The same, but only if it is committed before the time is up that the action has in its state.
    pub(crate) fn in_time(self, scene: &Scene<'_>) -> Self {
        Self { before: scene.case.state.ends_at(), ..self }
    }

    /// The same, said to have come in by a channel, if it did.
    pub(crate) fn by_way_of(mut self, channel: Option<&str>) -> Self {
        if let Some(channel) = channel {
            *self.transition.event = self.transition.event.by_way_of(channel);
        }
        self
    }
}

/// Whether a change of freezes, grants or credentials since the verb began makes it start again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum House {
    /// It does: what is let through must be let through by the rules of this very moment.
    Guarded,
    /// It does not: recording what happened is always right.
    Ignored,
}

/// What a verb sees when it plans.
pub(crate) struct Scene<'a> {
    pub(crate) case: &'a Arc<Case>,
    pub(crate) control: &'a Control,
    pub(crate) now: Timestamp,
    /// Whom policy lets approve their own.
    pub(crate) solo_operator: Option<&'a str>,
}

impl Scene<'_> {
    pub(crate) fn moment(&self) -> Moment<'_> {
        Moment { now: self.now, freeze: self.control.freeze_of(self.case), solo_operator: self.solo_operator }
    }

    pub(crate) fn refuse(&self, refusal: Refusal) -> EngineError {
        EngineError::refused(refusal, self.case)
    }
}

/// Looks up the freeze that covers an action.
pub(crate) trait FreezeOf {
    fn freeze_of(&self, case: &Case) -> Option<&banksman_core::Freeze>;
}

impl FreezeOf for Control {
    fn freeze_of(&self, case: &Case) -> Option<&banksman_core::Freeze> {
        self.freezes.iter().find(|freeze| freeze.covers(&case.agent, &case.submission.action.tool))
    }
}

impl Engine {
    /// Moves an action by what `plan` makes of it, once.
    ///
    /// `plan` may run several times, each time on newer state; only one of its plans is committed.
    pub(crate) async fn advance(
        &self,
        id: ActionId,
        principal: Option<&Principal>,
        house: House,
        mut plan: impl FnMut(&Scene<'_>) -> Result<Plan, EngineError> + Send,
    ) -> Result<Arc<Case>, EngineError> {
        // Whether the action, and the house rules, were read since this began.
        let (mut fresh, mut fresh_rules) = (false, false);
        for _ in 0..TRIES {
            let recalled = if fresh { None } else { self.memory.get(id) };
            let case = match recalled {
                Some(case) => case,
                None => self.fetch(id).await?,
            };
            let control = self.control.load_full();
            if let Some(principal) = principal {
                self.confirm(principal, control.epoch).await?;
            }
            let judge = self.judge.load_full();
            let planned = plan(&Scene {
                case: &case,
                control: &control,
                now: self.clock.now(),
                solo_operator: judge.house().solo_operator.as_deref(),
            });
            let planned = match planned {
                Ok(planned) => planned,
                // What is remembered may be old. Only what is stored says no.
                Err(EngineError::Refused { refusal, .. }) if !fresh_rules && goes_by_rules(&refusal) => {
                    (fresh, fresh_rules) = (true, true);
                    self.reload_control().await?;
                    continue;
                }
                Err(EngineError::Refused { .. }) if !fresh => {
                    fresh = true;
                    continue;
                }
                Err(error) => {
                    if matches!(&error, EngineError::Refused { refusal, .. } if goes_by_time(refusal)) {
                        // Told for good, by a clock that may be wrong.
                        self.store.check_clock().await?;
                    }
                    return Err(error);
                }
            };
            let guarded_epoch = (house == House::Guarded).then_some(control.epoch);
            match self.commit_plan(&case, planned, guarded_epoch).await {
                Ok(case) => return Ok(case),
                Err(CommitError::Conflict(Conflict::ControlMoved)) => {
                    fresh_rules = true;
                    self.reload_control().await?;
                }
                Err(CommitError::Conflict(Conflict::TooLate(_))) => return Err(too_late(&case)),
                Err(CommitError::Conflict(Conflict::MetersMoved)) => return Err(EngineError::Overtaken),
                // Only an edit can make an action the same as another.
                Err(CommitError::Conflict(Conflict::Joinable(other))) => {
                    return Err(EngineError::InvalidArgs(format!(
                        "with these arguments it is the same as {other}, which already waits"
                    )));
                }
                Err(CommitError::Conflict(
                    Conflict::CaseMoved(_)
                    | Conflict::PeopleMoved
                    | Conflict::ReadOn
                    | Conflict::EventSeen
                    | Conflict::IdempotencyKeyUsed { .. }
                    | Conflict::TooManyPending
                    | Conflict::TooManyPendingForAgent,
                )) => fresh = true,
                Err(CommitError::Unavailable(error)) => {
                    // It may have been stored all the same. Whoever looks next has to look there.
                    self.memory.forget(id);
                    self.live.wake(id);
                    return Err(error.into());
                }
            }
        }
        Err(EngineError::Internal("the action kept moving".into()))
    }

    async fn commit_plan(
        &self,
        from: &Case,
        plan: Plan,
        control_epoch: Option<u64>,
    ) -> Result<Arc<Case>, CommitError> {
        let Plan { transition, new_submission, before, readings, charges, control, events: more, patient } =
            plan;
        let was_pending = from.status() == Status::Pending;
        let case = Arc::new(transition.case);
        let notices = notices(&case, &transition.effects, transition.event.at);
        let told = !notices.is_empty();
        let changes_house = !control.is_empty();
        let mut events = vec![*transition.event];
        events.extend(more);
        let commit = Commit {
            control_epoch,
            advanced: vec![AdvancedCase { case: Arc::clone(&case), was_pending, before, new_submission }],
            readings,
            charges,
            control,
            events,
            notices,
            patient,
            ..Commit::default()
        };
        let committed = self.commit(commit).await?;
        self.publish(std::slice::from_ref(&case), committed.last_seq);
        if was_pending && case.status().is_resolved() {
            self.admission.freed(&case.agent);
        }
        if told {
            self.dispatcher.nudge();
        }
        if changes_house {
            self.notice_new_rules().await;
        }
        Ok(case)
    }
}

/// Whether freezes or delegations have to do with a refusal.
fn goes_by_rules(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Frozen { .. } | Refusal::MissingRole { .. })
}

/// Whether another clock would have answered otherwise.
fn goes_by_time(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Expired { .. } | Refusal::Lapsed { .. })
}

/// What the lifecycle would have said, had its clock been that of the store.
fn too_late(case: &Case) -> EngineError {
    let at = case.state.ends_at().unwrap_or_default();
    let refusal =
        if case.status() == Status::Pending { Refusal::Expired { at } } else { Refusal::Lapsed { at } };
    EngineError::refused(refusal, case)
}

/// The outbox rows for a transition's effects.
pub(crate) fn notices(case: &Case, effects: &[Effect], at: Timestamp) -> Vec<NoticeRow> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Notify(notice) => Some(NoticeRow { action: case.id, notice: *notice, at }),
            Effect::Remember => None,
        })
        .collect()
}
