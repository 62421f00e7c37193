//! The operating mode: changed by people step by step, and by itself when too much goes wrong.

use banksman_core::audit::{Event, Fact};
use banksman_core::wire::ModeView;
use banksman_core::{ActionId, Actor, Mode, Notice, Principal, PrincipalKind, Timestamp};
use banksman_store::{Commit, Control, ControlChange, NoticeRow};

use crate::house::UnderRules;
use crate::{Engine, EngineError};

impl Engine {
    /// How strict the house is.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn mode(&self) -> Result<ModeView, EngineError> {
        Ok(self.mode_of(&*self.house_rules().await?))
    }

    /// The same, by house rules that were just read.
    #[must_use]
    pub fn mode_of(&self, control: &Control) -> ModeView {
        let judge = self.judge.load();
        let house = judge.house();
        ModeView {
            mode: control.mode,
            fell_back_from: control.fell_back_from,
            observes: house.observes,
            solo_operator: house.solo_operator.clone(),
        }
    }

    /// Changes the operating mode, one step at a time, by someone whom policy lets do so.
    ///
    /// # Errors
    /// If that skips a step, or is not the caller's to change.
    pub async fn change_mode(
        &self,
        by: &Principal,
        to: Mode,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        self.check_gate(by, to, reason.as_deref())?;
        self.amend_house(by, |control| {
            let from = control.mode;
            let fact = Fact::ModeChanged { from, to, reason: reason.clone(), fallback: false };
            Ok((ControlChange::SetMode(from.change_to(to)?), fact))
        })
        .await
    }

    /// A person has seen something go wrong: production falls back to shadow, with the demands of both. Whoever calls
    /// for it in another mode changes nothing.
    ///
    /// # Errors
    /// If no reason is given, or it cannot be recorded.
    pub async fn fall_back(&self, by: &Principal, reason: &str) -> Result<(), EngineError> {
        if reason.trim().is_empty() {
            return Err(EngineError::ReasonRequired);
        }
        self.fall_back_to_shadow(Some(by), reason, None).await.map(drop)
    }

    /// Falls back, if production is the mode, at the word of a person or by itself; whether it did.
    pub(crate) async fn fall_back_to_shadow(
        &self,
        by: Option<&Principal>,
        reason: &str,
        because_of: Option<ActionId>,
    ) -> Result<bool, EngineError> {
        let fell = self.commit_under_rules(by, move |rules| async move {
            if rules.mode != Mode::Production {
                return Ok(UnderRules::Nothing(false));
            }
            let actor = by.map_or(Actor::System, Actor::from);
            let now = self.clock.now();
            let (from, to) = (Mode::Production, Mode::Shadow);
            let fact = Fact::ModeChanged { from, to, reason: Some(reason.to_owned()), fallback: true };
            let commit = Commit {
                control_epoch: Some(rules.epoch),
                control: vec![ControlChange::FallBack { from, to }],
                events: vec![Event::general(now, actor, fact)],
                notices: because_of.map(|action| fell_back(action, now)).into_iter().collect(),
                ..Commit::default()
            };
            Ok(UnderRules::Write(Box::new(commit), true))
        });
        let fell = fell.await?;
        if fell {
            tracing::error!(reason, "the mode fell back from production to shadow");
        }
        Ok(fell)
    }

    /// Whether policy lets this person change to that mode: an administrator, or whoever has a role that it names.
    fn check_gate(&self, by: &Principal, to: Mode, reason: Option<&str>) -> Result<(), EngineError> {
        let judge = self.judge.load();
        let gate = judge.house().gate(to);
        match gate.filter(|gate| !gate.roles.is_empty()) {
            Some(gate) if gate.roles.iter().any(|role| by.roles.contains(role)) => {}
            Some(gate) => return Err(EngineError::MissingRole { needed: gate.roles.clone() }),
            None if by.kind == PrincipalKind::Admin => {}
            None => return Err(EngineError::NotYours("only administrators change the mode".into())),
        }
        if gate.is_some_and(|gate| gate.require_reason) && reason.is_none_or(|text| text.trim().is_empty()) {
            return Err(EngineError::ReasonRequired);
        }
        Ok(())
    }
}

fn fell_back(action: ActionId, at: Timestamp) -> NoticeRow {
    NoticeRow { action, notice: Notice::ModeFellBack, at }
}
