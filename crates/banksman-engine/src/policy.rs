//! What the engine asks about an action: how risky it looks, and what it demands.

use banksman_core::meter::Charge;
use banksman_core::{Action, ActionId, Assessment, Digest, Verdict};
use banksman_policy::{Facts, HousePolicy, Judgement, Leg, Metering, Policy, TriagePlan};

/// Assesses and judges actions. Values in, values out.
///
/// The engine asks this and not a [`Policy`], so that a test can be as strict as it likes.
pub trait Judge: Send + Sync + 'static {
    /// How risky the action looks.
    fn assess(&self, action: &Action) -> Assessment;

    /// What it demands.
    fn judge(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Verdict;

    /// What holds for the house as a whole.
    fn house(&self) -> &HousePolicy {
        static STRICT: HousePolicy = HousePolicy::strict();
        &STRICT
    }

    /// The digest of the policy's text, for the audit log.
    fn digest(&self) -> Digest;

    /// Which meters have to be read before it can say what the action demands.
    fn metering(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Metering {
        let _ = (action, assessment, facts);
        Metering::default()
    }

    /// How to triage an action with this verdict, if it is to be.
    fn triage(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        verdict: &Verdict,
    ) -> Option<&TriagePlan> {
        let _ = (action, assessment, facts, verdict);
        None
    }

    /// Whom to tell of an action with this verdict. `None`: whoever can answer, however they like to be told.
    fn legs(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        verdict: &Verdict,
    ) -> Option<Vec<Leg>> {
        let _ = (action, assessment, facts, verdict);
        None
    }

    /// What the action adds to meters by having failed.
    fn failure(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        id: ActionId,
    ) -> Vec<Charge> {
        let _ = (action, assessment, facts, id);
        Vec::new()
    }

    /// What it demands, and everything that had a say in it.
    fn explain(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Judgement {
        let verdict = self.judge(action, assessment, facts);
        Judgement { verdict, reasons: Vec::new(), set_aside: Vec::new() }
    }

    /// The policy itself, if one is asked, for people to read.
    fn policy(&self) -> Option<&Policy> {
        None
    }
}

impl Judge for Policy {
    fn assess(&self, action: &Action) -> Assessment {
        self.assessor().assess(action)
    }

    fn judge(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Verdict {
        Policy::judge(self, action, assessment, facts).verdict
    }

    fn house(&self) -> &HousePolicy {
        Policy::house(self)
    }

    fn digest(&self) -> Digest {
        Policy::digest(self)
    }

    fn metering(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Metering {
        Policy::metering(self, action, assessment, facts)
    }

    fn triage(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        verdict: &Verdict,
    ) -> Option<&TriagePlan> {
        Policy::triage(self, action, assessment, facts, verdict)
    }

    fn legs(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        verdict: &Verdict,
    ) -> Option<Vec<Leg>> {
        Policy::legs(self, action, assessment, facts, verdict)
    }

    fn failure(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        id: ActionId,
    ) -> Vec<Charge> {
        Policy::failure(self, action, assessment, facts, id)
    }

    fn explain(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Judgement {
        Policy::judge(self, action, assessment, facts)
    }

    fn policy(&self) -> Option<&Policy> {
        Some(self)
    }
}
