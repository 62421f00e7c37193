//! Budgets: what may be spent in a while, with a word before it is gone.

use banksman_core::Tier;

use crate::condition::Condition;
use crate::file;
use crate::window::{Counts, Window, to_number};

/// A budget, compiled. What was spent is shown by a window of its own.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) source: String,
    pub(crate) window: usize,
    limit: f64,
    warn_at: f64,
    at_limit: Tier,
    unit: &'static str,
}

/// A session has no end that anyone would know of: it is taken to be over after this.
const SESSION_SECONDS: u64 = 30 * 86_400;

impl Budget {
    /// Compiles a budget and its window, which will be number `window`; the error says what is wrong with it.
    pub(crate) fn compile(
        name: &str,
        written: &file::Budget,
        condition: Condition,
        window: usize,
    ) -> Result<(Self, Window), String> {
        let (counts, limit, unit) = match (written.cost_usd, written.actions) {
            (Some(dollars), None) => (Counts::Cost, dollars, "dollars"),
            (None, Some(actions)) => (Counts::Proposals, f64::from(actions), "actions"),
            _ => return Err("a budget has one of cost_usd and actions".into()),
        };
        if !limit.is_finite() || limit < 0.0 {
            return Err("a budget is nothing or more".into());
        }
        if let Some(dollars) = written.unestimated_usd
            && (counts != Counts::Cost || !dollars.is_finite() || dollars < 0.0)
        {
            return Err("unestimated_usd is nothing or more, and goes only with cost_usd".into());
        }
        let warn_at = written.warn_at.unwrap_or(0.8);
        if !(0.0..=1.0).contains(&warn_at) {
            return Err("warn_at is a part of the budget, from 0 to 1".into());
        }
        let at_limit = written.at_limit.unwrap_or(Tier::Approve);
        if at_limit < Tier::Approve {
            return Err("what is over budget is held or blocked: use approve, escalate or block".into());
        }
        let per = written.per.as_slice();
        let over = match written.over {
            Some(over) => over.0,
            None if per.iter().any(|key| key == "session") => SESSION_SECONDS,
            None => return Err("a budget needs `over`, unless it is per session".into()),
        };
        let source = format!("budgets.{name}");
        let mut spent = Window::new(&source, counts, per, over, condition)?;
        spent.unestimated = written.unestimated_usd;
        Ok((Self { source, window, limit, warn_at, at_limit, unit }, spent))
    }

    /// What a budget of which this much is spent demands, and why.
    pub(crate) fn demand(&self, spent: Result<i64, String>) -> Option<(Tier, String)> {
        let spent = match spent {
            Ok(millionths) => to_number(millionths),
            Err(why) => {
                return Some((self.at_limit, format!("counts because it could not be decided: {why}")));
            }
        };
        let Self { limit, unit, .. } = self;
        if spent > *limit {
            Some((self.at_limit, format!("over budget: {spent} of {limit} {unit}")))
        } else if spent >= limit * self.warn_at {
            Some((Tier::Notify, format!("near its limit: {spent} of {limit} {unit}")))
        } else {
            None
        }
    }
}
