//! What happens while nobody decides: people are told again, and others may step in.
//!
//! A chain only ever adds people who may answer. It never lowers how many have to, and a person who steps in for a role
//! sits in one place, like everyone else. When the chain is at its end, the hold goes on until it expires.

use serde::{Deserialize, Serialize};

use crate::time::optional_micros;
use crate::{Quorum, Timestamp};

/// One step of a chain: what happens if nobody has decided so long after the hold began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EscalationStep {
    /// How long after the hold began.
    pub after_seconds: u64,
    /// What happens then.
    #[serde(flatten)]
    pub then: Escalation,
}

/// What a step of a chain does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Escalation {
    /// Those who were told are told again.
    NotifyAgain,
    /// People of another role are told, and may answer in place of those who did not.
    HandTo {
        /// That role.
        role: String,
        /// The roles whose places they may take. Empty where any reviewer may answer anyway.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        instead_of: Vec<String>,
    },
}

/// How far along its chain a hold is. Kept with the hold, so that no step is taken twice or forgotten in a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ChainProgress {
    /// How many steps were taken.
    pub taken: u32,
    /// When the next is due.
    #[serde(default, with = "optional_micros", skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
}

impl ChainProgress {
    /// The beginning of a chain, for a hold that begins at `held_at`.
    #[must_use]
    pub fn begin(steps: &[EscalationStep], held_at: Timestamp) -> Self {
        Self { taken: 0, next_at: steps.first().map(|step| held_at.after(step.wait())) }
    }

    /// Whether nothing of a chain was taken and nothing is due.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    /// The steps that were taken.
    #[must_use]
    pub fn taken_of<'a>(&self, steps: &'a [EscalationStep]) -> &'a [EscalationStep] {
        let taken = usize::try_from(self.taken).unwrap_or(usize::MAX).min(steps.len());
        steps.get(..taken).unwrap_or_default()
    }

    /// The step that is due next, and how far along the chain is once it was taken.
    ///
    /// The one after it is due by the plan, not so long after this one was taken: a server that was down for a while
    /// does not push the rest of the chain back.
    #[must_use]
    pub fn advance<'a>(&self, steps: &'a [EscalationStep]) -> Option<(&'a EscalationStep, Self)> {
        let due = self.next_at?;
        let at = usize::try_from(self.taken).ok()?;
        let step = steps.get(at)?;
        let gap = |next: &EscalationStep| next.wait().saturating_sub(step.wait());
        let next_at = steps.get(at + 1).map(|next| due.after(gap(next)));
        Some((step, Self { taken: self.taken + 1, next_at }))
    }
}

impl EscalationStep {
    fn wait(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.after_seconds)
    }
}

/// The chain that several demands make together.
///
/// Everyone's reminders are kept. A hand-over is kept for a role only if everyone who demands that role hands it over
/// so, and no later: whoever says "one of finance" and nothing else means one of finance.
#[must_use]
pub fn combine_chains(demands: &[(&Quorum, &[EscalationStep])]) -> Vec<EscalationStep> {
    let mut all: Vec<EscalationStep> = Vec::new();
    for step in demands.iter().flat_map(|(_, steps)| steps.iter()) {
        let step = EscalationStep {
            after_seconds: step.after_seconds,
            then: match &step.then {
                Escalation::NotifyAgain => Escalation::NotifyAgain,
                Escalation::HandTo { role, instead_of } => Escalation::HandTo {
                    role: role.clone(),
                    instead_of: instead_of
                        .iter()
                        .filter(|of| {
                            demands.iter().all(|demand| allows(demand, of, role, step.after_seconds))
                        })
                        .cloned()
                        .collect(),
                },
            },
        };
        if !all.contains(&step) {
            all.push(step);
        }
    }
    all.sort_by_key(|step| step.after_seconds);
    all
}

/// Whether a demand lets people of `stand_in` take the place of `role` so long after the hold began.
fn allows(demand: &(&Quorum, &[EscalationStep]), role: &str, stand_in: &str, after_seconds: u64) -> bool {
    let (quorum, steps) = demand;
    !quorum.roles().iter().any(|demanded| demanded == role)
        || steps.iter().any(|step| match &step.then {
            Escalation::NotifyAgain => false,
            Escalation::HandTo { role: to, instead_of } => {
                to == stand_in
                    && step.after_seconds <= after_seconds
                    && instead_of.iter().any(|of| of == role)
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remind(after_seconds: u64) -> EscalationStep {
        EscalationStep { after_seconds, then: Escalation::NotifyAgain }
    }

    fn hand(after_seconds: u64, role: &str, instead_of: &[&str]) -> EscalationStep {
        let instead_of = instead_of.iter().map(ToString::to_string).collect();
        EscalationStep { after_seconds, then: Escalation::HandTo { role: role.into(), instead_of } }
    }

    fn needs(roles: &[&str]) -> Quorum {
        Quorum::new(1, roles.iter().map(ToString::to_string).collect())
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    #[test]
    fn steps_come_by_the_plan_and_end() {
        let steps = [remind(10), remind(25), hand(30, "lead", &[])];
        let mut chain = ChainProgress::begin(&steps, at(100));
        let mut due = Vec::new();
        while let Some((step, next)) = chain.advance(&steps) {
            due.push((chain.next_at.unwrap(), step.clone()));
            chain = next;
        }
        let planned = [(110, 0), (125, 1), (130, 2)].map(|(second, step)| (at(second), steps[step].clone()));
        assert_eq!(due, planned);
        assert_eq!((chain.taken, chain.next_at), (3, None));
        assert!(ChainProgress::begin(&[], at(100)).is_idle());
    }

    #[test]
    fn a_role_is_handed_over_only_if_all_who_demand_it_agree() {
        let (finance, both) = (needs(&["finance"]), needs(&["finance", "support"]));
        let plain: &[EscalationStep] = &[];
        let early = [hand(10, "lead", &["finance"])];
        let late = [hand(60, "lead", &["finance", "support"])];
        assert_eq!(combine_chains(&[(&finance, &early)]), early);
        assert_eq!(combine_chains(&[(&finance, &early), (&finance, plain)]), [hand(10, "lead", &[])]);
        assert_eq!(
            combine_chains(&[(&finance, &early), (&both, &late)]),
            [hand(10, "lead", &[]), hand(60, "lead", &["finance", "support"])],
            "the later of the two holds"
        );
    }
}
