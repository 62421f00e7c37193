//! Meters in memory, for history that is judged again.

use std::collections::{BTreeSet, HashMap};

use banksman_core::ActionId;
use banksman_core::meter::{Charge, Measure, MeterId, MeterQuery, ONE, Reading};
use banksman_core::{Action, Assessment};

use crate::compile::Policy;
use crate::facts::Facts;
use crate::judge::Judgement;

/// What was added to windows so far. Actions have to come in the order in which they were proposed. What no window
/// looks back to any more is forgotten, so that memory grows with the windows and not with history.
#[derive(Debug, Default)]
pub struct Meters {
    charges: HashMap<MeterId, Vec<Charge>>,
}

/// How an action of the past ended, as far as windows care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It never ran: what it had added was given back.
    NeverRan,
    /// It ran, or still may.
    Ran,
    /// It ran and failed.
    Failed,
}

impl Meters {
    /// Judges an action by what windows show now, and adds what it adds.
    pub fn judge(
        &mut self,
        policy: &Policy,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        id: ActionId,
        ending: Ending,
    ) -> Judgement {
        let metering = policy.metering(action, assessment, facts);
        let readings: Vec<Reading> = metering
            .queries(&[], None)
            .into_iter()
            .map(|query| Reading { total: self.read(&query), query })
            .collect();
        let windows = metering.windows(&readings, &[]);
        let facts = Facts { windows: &windows, ..*facts };
        let judged = policy.judge(action, assessment, &facts);
        match ending {
            Ending::NeverRan => {}
            Ending::Ran => self.add(metering.charges(id)),
            Ending::Failed => {
                self.add(metering.charges(id));
                self.add(policy.failure(action, assessment, &facts, id));
            }
        }
        judged
    }

    fn read(&self, query: &MeterQuery) -> i64 {
        let charges = self.charges.get(&query.meter).into_iter().flatten();
        let recent = charges.filter(|charge| charge.at >= query.since && Some(charge.action) != query.except);
        match &query.measure {
            Measure::Sum => recent.fold(0, |sum: i64, charge| sum.saturating_add(charge.amount)),
            Measure::Distinct { besides } => {
                let values: BTreeSet<_> = recent
                    .filter_map(|charge| charge.value)
                    .filter(|value| !besides.contains(value))
                    .collect();
                i64::try_from(values.len()).unwrap_or(i64::MAX).saturating_mul(ONE)
            }
        }
    }

    fn add(&mut self, charges: Vec<Charge>) {
        for charge in charges {
            let meter = self.charges.entry(charge.meter).or_default();
            meter.retain(|old| old.at >= charge.forget_before);
            meter.push(charge);
        }
    }
}
