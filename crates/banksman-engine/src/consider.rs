//! Considering an action: assessed, metered, judged.
//!
//! What a policy's windows show is read before an action is judged, and guarded when it is committed: if any of it has
//! changed meanwhile, the action is judged again. So of any number of proposals at the same instant, each is judged by
//! a sum that has all those in it that were let through before.

use banksman_core::meter::{Charge, Reading};
use banksman_core::{Action, ActionId, Case, Submission, Timestamp};
use banksman_policy::{Facts, Metering};
use banksman_store::Control;

use crate::triage::TriageQuestion;
use crate::{Engine, EngineError};

/// What the actions of one commit have read from meters, and will add to them.
#[derive(Debug, Default)]
pub(crate) struct Tab {
    pub(crate) readings: Vec<Reading>,
    pub(crate) charges: Vec<Charge>,
}

/// What an action adds to meters, before it has an id.
pub(crate) struct Metered(Metering);

/// What the engine knows around an action.
pub(crate) struct Surroundings<'a> {
    pub(crate) agent: &'a str,
    pub(crate) control: &'a Control,
    pub(crate) now: Timestamp,
    /// The action itself, if it is there already and is judged anew.
    pub(crate) itself: Option<ActionId>,
}

impl Surroundings<'_> {
    fn facts(&self, tool: &str) -> Facts<'_> {
        let Self { agent, control, now, .. } = *self;
        Facts {
            mode: control.mode,
            frozen: control.freezes.iter().any(|freeze| freeze.covers(agent, tool)),
            grants: control
                .grants
                .iter()
                .filter(|grant| grant.agent == agent && grant.expires_at > now)
                .count(),
            ..Facts::plain(agent, now)
        }
    }
}

impl Metered {
    /// Puts what the action adds on the tab, unless it will never run.
    pub(crate) fn charge(self, tab: &mut Tab, case: &Case) {
        if !case.status().never_ran() {
            tab.charges.extend(self.charges(case.id));
        }
    }

    pub(crate) fn charges(self, id: ActionId) -> Vec<Charge> {
        self.0.charges(id)
    }
}

impl Engine {
    /// Assesses and judges an action, by what meters show now and what is on the tab already.
    pub(crate) async fn consider(
        &self,
        mut action: Action,
        around: &Surroundings<'_>,
        tab: &mut Tab,
    ) -> Result<(Submission, Metered), EngineError> {
        let judge = self.judge.load_full();
        let mut assessment = judge.assess(&action);
        let facts = around.facts(&action.tool);
        let metering = judge.metering(&action, &assessment, &facts);
        let queries = metering.queries(&tab.charges, around.itself);
        let readings = if queries.is_empty() { Vec::new() } else { self.store.readings(queries).await? };
        let windows = metering.windows(&readings, &tab.charges);
        tab.readings.extend(readings);
        let facts = Facts { windows: &windows, ..facts };
        let mut verdict = judge.judge(&action, &assessment, &facts);
        if let Some(plan) = judge.triage(&action, &assessment, &facts, &verdict) {
            let agent = around.agent.to_owned();
            let question = TriageQuestion { agent, action, assessment, verdict };
            let answer = self.triage.ask(plan, &question, around.now).await;
            TriageQuestion { action, assessment, .. } = question;
            assessment.triage = Some(answer);
            // One more voice, and the strictest wins: it cannot get milder.
            verdict = judge.judge(&action, &assessment, &facts);
        }
        let submission = Submission { digest: action.digest(), action, assessment, verdict };
        Ok((submission, Metered(metering)))
    }

    /// What an action that failed adds to the meters of failures.
    pub(crate) fn failure_charges(&self, case: &Case, control: &Control, now: Timestamp) -> Vec<Charge> {
        let around = Surroundings { agent: &case.agent, control, now, itself: Some(case.id) };
        let Submission { action, assessment, .. } = case.submission.as_ref();
        self.judge.load().failure(action, assessment, &around.facts(&action.tool), case.id)
    }
}
