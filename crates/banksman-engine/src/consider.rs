//! Considering an action: assessed, metered, judged.
//!
//! What a policy's windows show is read before an action is judged, and guarded when it is committed: if any of it has
//! changed meanwhile, the action is judged again. So of any number of proposals at the same instant, each is judged by
//! a sum that has all those in it that were let through before.

use banksman_core::meter::{Charge, Reading};
use banksman_core::{Action, ActionId, Assessment, Case, Submission, Timestamp, Verdict};
use banksman_policy::{Facts, Judgement, Metering, Windows};
use banksman_store::Control;

use crate::triage::TriageQuestion;
use crate::{Engine, EngineError, Judge};

/// What the actions of one commit have read from meters, and will add to them.
#[derive(Debug, Default)]
pub(crate) struct Tab {
    pub(crate) readings: Vec<Reading>,
    pub(crate) charges: Vec<Charge>,
}

/// What an action adds to meters, before it has an id.
pub(crate) struct Metered(Metering);

/// What policy would say of an action.
#[derive(Debug)]
pub struct Explained {
    /// How risky it looks.
    pub assessment: Assessment,
    /// What it demands, and everything that had a say.
    pub judgement: Judgement,
    /// Whether a freeze would stop it all the same.
    pub frozen: bool,
}

/// What the engine knows around an action.
pub(crate) struct Surroundings<'a> {
    pub(crate) agent: &'a str,
    pub(crate) control: &'a Control,
    pub(crate) now: Timestamp,
    /// The action itself, if it is there already and is judged anew.
    pub(crate) itself: Option<ActionId>,
}

/// What is true around an action, with what the windows show.
struct View<'f> {
    facts: Facts<'f>,
    windows: Windows,
    metering: Metering,
}

impl View<'_> {
    fn facts(&self) -> Facts<'_> {
        Facts { windows: &self.windows, ..self.facts }
    }
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

/// What reading an action found, without what it found in values that people do not get to see.
fn discreet(judge: &dyn Judge, action: &Action, found: Assessment, verdict: &Verdict) -> Assessment {
    let hidden = &verdict.redact;
    if hidden.is_empty() {
        return found;
    }
    found.discreet(&action.args, hidden, &judge.assess(&action.redacted(hidden)))
}

impl Engine {
    /// Assesses and judges an action, by what meters show now and what is on the tab already.
    pub(crate) fn consider(
        &self,
        action: Action,
        around: &Surroundings<'_>,
        tab: &mut Tab,
    ) -> impl Future<Output = Result<(Submission, Metered), EngineError>> + Send {
        self.consider_hiding(&[], action, around, tab)
    }

    /// The same of an edit, where what these paths lead to was hidden already: nobody is asked or told about it now.
    pub(crate) async fn consider_hiding(
        &self,
        hidden: &[String],
        action: Action,
        around: &Surroundings<'_>,
        tab: &mut Tab,
    ) -> Result<(Submission, Metered), EngineError> {
        let judge = self.judge.load_full();
        let mut assessment = judge.assess(&action);
        let facts = around.facts(&action.tool);
        let now = self.view(&**judge, &action, &assessment, around.itself, facts, tab).await?;
        // After a fallback the demands of the mode before it hold on: no agent gains anything by failing.
        let before = match around.control.fell_back_from {
            Some(mode) => {
                let facts = Facts { mode, ..facts };
                let view = self.view(&**judge, &action, &assessment, around.itself, facts, tab);
                Some(Box::pin(view).await?)
            }
            None => None,
        };
        let demanded = |action: &Action, assessment: &Assessment| {
            let verdict = judge.judge(action, assessment, &now.facts());
            let mut verdict = match &before {
                Some(before) => verdict.at_least(&judge.judge(action, assessment, &before.facts())),
                None => verdict,
            };
            let more: Vec<_> = hidden.iter().filter(|path| !verdict.redact.contains(path)).cloned().collect();
            verdict.redact.extend(more);
            verdict
        };
        let mut verdict = demanded(&action, &assessment);
        if let Some(plan) = judge.triage(&action, &assessment, &facts, &verdict) {
            let agent = around.agent.to_owned();
            // What people do not get to see is not for others either.
            let shown = action.redacted(&verdict.redact);
            let found = discreet(&**judge, &action, assessment.clone(), &verdict);
            // On the heap, as all that is rare: it would make every proposal's future larger.
            let question = Box::new(TriageQuestion { agent, action: shown, assessment: found, verdict });
            assessment.triage = Some(Box::pin(self.triage.ask(plan, &question, around.now)).await);
            // One more voice, and the strictest wins: it cannot get milder.
            verdict = demanded(&action, &assessment);
        }
        let assessment = discreet(&**judge, &action, assessment, &verdict);
        Ok((Submission::new(action, assessment, verdict), Metered(now.metering)))
    }

    /// What policy would say of an action if this agent proposed it now, and why. Nothing is proposed, nobody outside is
    /// asked, and nothing is counted.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn explain(&self, agent: &str, action: &Action) -> Result<Explained, EngineError> {
        let judge = self.judge.load_full();
        let control = self.control.load_full();
        let around = Surroundings { agent, control: &control, now: self.clock.now(), itself: None };
        let assessment = judge.assess(action);
        let facts = around.facts(&action.tool);
        let mut tab = Tab::default();
        let view = self.view(&**judge, action, &assessment, None, facts, &mut tab).await?;
        let judgement = judge.explain(action, &assessment, &view.facts());
        Ok(Explained { assessment, judgement, frozen: facts.frozen })
    }

    /// Reads the meters that it takes to judge an action under these facts.
    async fn view<'f>(
        &self,
        judge: &dyn Judge,
        action: &Action,
        assessment: &Assessment,
        itself: Option<ActionId>,
        facts: Facts<'f>,
        tab: &mut Tab,
    ) -> Result<View<'f>, EngineError> {
        let metering = judge.metering(action, assessment, &facts);
        let queries = metering.queries(&tab.charges, itself);
        let readings = if queries.is_empty() { Vec::new() } else { self.store.readings(queries).await? };
        let windows = metering.windows(&readings, &tab.charges);
        tab.readings.extend(readings);
        Ok(View { facts, windows, metering })
    }

    /// What an action that failed adds to the meters of failures.
    pub(crate) fn failure_charges(&self, case: &Case, control: &Control, now: Timestamp) -> Vec<Charge> {
        let around = Surroundings { agent: &case.agent, control, now, itself: Some(case.id) };
        let Submission { action, assessment, .. } = case.submission.as_ref();
        self.judge.load().failure(action, assessment, &around.facts(&action.tool), case.id)
    }
}
