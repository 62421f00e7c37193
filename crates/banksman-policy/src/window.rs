//! Windows: what is added up over time, such as what a customer was refunded within the hour.
//!
//! Policy is pure, so a judgement that needs a window takes two steps. [`Policy::metering`] says which meters have to be
//! read for an action and what it would add to each; whoever keeps the meters reads them; and what they showed comes
//! back as [`Windows`] among the [`Facts`]. A window shows what there is **with** the action that is judged, so that
//! `gt: 100` means what it says.

use std::collections::BTreeMap;

use banksman_core::json::{Json, Number};
use banksman_core::meter::{Charge, Measure, MeterId, MeterQuery, ONE, Reading};
use banksman_core::{Action, ActionId, Assessment, Digest, Timestamp};

use crate::arguments::{Answer, look_up, split_path};
use crate::compile::Policy;
use crate::condition::{Condition, Question};
use crate::facts::Facts;
use crate::file;

/// The most that one action adds: a billion billions, which no sum of them makes less.
const LARGEST: f64 = 1e18;

/// What is added up, compiled.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) name: String,
    pub(crate) condition: Condition,
    counts: Counts,
    per: Vec<Key>,
    over_seconds: u64,
    /// What an action counts as that says nothing of its cost, in dollars.
    pub(crate) unestimated: Option<f64>,
    /// What tells its meters from those of a window of the same name that counts something else.
    description: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    Proposals,
    Failures,
    Sum(Vec<String>),
    Distinct(Vec<String>),
    Cost,
}

#[derive(Debug)]
enum Key {
    Agent,
    Session,
    Tool,
    Argument(Vec<String>),
}

impl Window {
    /// Compiles a window; the error says what is wrong with it.
    pub(crate) fn compile(name: &str, written: &file::Window, condition: Condition) -> Result<Self, String> {
        let counts = match (&written.count, &written.sum, &written.distinct) {
            (Some(file::Counted::Proposals), None, None) => Counts::Proposals,
            (Some(file::Counted::Failures), None, None) => Counts::Failures,
            (None, Some(path), None) => Counts::Sum(argument_path(path)?),
            (None, None, Some(path)) => Counts::Distinct(argument_path(path)?),
            _ => return Err("a window has one of count, sum and distinct".into()),
        };
        let per = written.per.as_slice();
        Self::new(name, counts, per, written.over.0, condition)
    }

    pub(crate) fn new(
        name: &str,
        counts: Counts,
        per: &[String],
        over_seconds: u64,
        condition: Condition,
    ) -> Result<Self, String> {
        let keys = per.iter().map(|key| Key::parse(key)).collect::<Result<_, _>>()?;
        let description = format!("{name}\n{counts:?}\n{per:?}");
        let name = name.to_owned();
        Ok(Self { name, condition, counts, per: keys, over_seconds, unestimated: None, description })
    }

    fn meter(&self, question: &Question<'_>) -> MeterId {
        let mut description = self.description.clone();
        for key in &self.per {
            description.push('\n');
            description.push_str(&key.value(question));
        }
        MeterId::of(&description)
    }

    /// What an action adds when it is proposed.
    fn share(&self, question: &Question<'_>) -> Share {
        match (&self.counts, self.condition.ask(question)) {
            (_, Answer::No) | (Counts::Failures, _) => Share::Nothing,
            (Counts::Proposals, _) => Share::Amount(ONE),
            (Counts::Cost, _) => match question.action.estimate.cost_usd.or(self.unestimated) {
                None => Share::Unclear("there is no estimate of its cost".into()),
                Some(cost) => Share::of(cost, "its cost"),
            },
            (Counts::Sum(path), _) => {
                let name = path.join(".");
                match question.args().and_then(|args| look_up(args, path)) {
                    Some(Json::Number(number)) => Share::of(number.to_f64(), &name),
                    // A number in quotes is one to most tools that get it.
                    Some(Json::String(text)) => match Number::parse(text.trim()) {
                        Some(number) => Share::of(number.to_f64(), &name),
                        None => Share::Unclear(format!("{name} is not a number")),
                    },
                    Some(_) => Share::Unclear(format!("{name} is not a number")),
                    None => Share::Unclear(format!("there is no {name}")),
                }
            }
            (Counts::Distinct(path), _) => {
                let value = question.args().and_then(|args| look_up(args, path));
                Share::Value(Digest::of(canonical(value).as_bytes()))
            }
        }
    }

    fn charge(&self, meter: MeterId, action: ActionId, at: Timestamp, share: &Share) -> Option<Charge> {
        let (amount, value) = match share {
            Share::Nothing => return None,
            Share::Amount(amount) => (*amount, None),
            Share::Value(value) => (0, Some(*value)),
            Share::Unclear(_) => (0, None),
        };
        // Twice as long as it looks back, so that a policy may come to look back further.
        let forget_before = before(at, self.over_seconds.saturating_mul(2));
        Some(Charge { meter, action, at, amount, value, forget_before })
    }
}

/// What an action adds to a window.
#[derive(Debug)]
enum Share {
    Nothing,
    Amount(i64),
    Value(Digest),
    /// Something, but nobody can say how much.
    Unclear(String),
}

impl Share {
    fn of(value: f64, name: &str) -> Self {
        if value.is_nan() || value < 0.0 {
            // What took away from a sum would make room for more.
            return Self::Unclear(format!("{name} is less than nothing"));
        }
        #[expect(clippy::cast_precision_loss, reason = "a million is exact")]
        let exact = (value * ONE as f64).min(LARGEST);
        // Up, so that much of very little is not nothing; but not where only the arithmetic left a trace.
        let whole = if (exact - exact.round()).abs() < 1e-3 { exact.round() } else { exact.ceil() };
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and at most a billion billions")]
        Self::Amount(whole as i64)
    }
}

impl Share {
    fn shown(self) -> Result<i64, String> {
        match self {
            Self::Amount(amount) => Ok(amount),
            Self::Unclear(why) => Err(why),
            Self::Nothing | Self::Value(_) => Ok(0),
        }
    }
}

impl Key {
    fn parse(written: &str) -> Result<Self, String> {
        Ok(match written {
            "agent" => Self::Agent,
            "session" => Self::Session,
            "tool" => Self::Tool,
            other => Self::Argument(argument_path(other).map_err(|problem| {
                format!("{problem}; a window is kept per agent, session, tool or args.something")
            })?),
        })
    }

    fn value(&self, question: &Question<'_>) -> String {
        let text = |text: Option<&str>| canonical(text.map(|text| Json::String(text.to_owned())).as_ref());
        match self {
            Self::Agent => text(Some(question.facts.agent)),
            Self::Session => text(question.action.session.as_deref()),
            Self::Tool => text(Some(&question.action.tool)),
            Self::Argument(path) => canonical(question.args().and_then(|args| look_up(args, path))),
        }
    }
}

/// `args.customer.id`, without its beginning.
fn argument_path(written: &str) -> Result<Vec<String>, String> {
    match written
        .strip_prefix("args.")
        .or_else(|| written.strip_prefix("args").filter(|rest| rest.starts_with('/')))
    {
        Some(path) => split_path(path),
        None => Err(format!("{written:?} is no argument: write args.amount, or args/a.b/c")),
    }
}

/// Each value in one way only, so that 7 and 7.0 are one customer, and 7 and "7" are two.
fn canonical(value: Option<&Json>) -> String {
    value.map_or_else(
        || "null".to_owned(),
        |value| banksman_core::json::CanonicalJson::of(value).as_str().to_owned(),
    )
}

fn before(at: Timestamp, seconds: u64) -> Timestamp {
    let micros = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    Timestamp::from_micros(at.as_micros().saturating_sub(micros).max(0))
}

/// Which meters an action needs, and what it adds to which.
#[derive(Debug, Default)]
pub struct Metering {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    meter: MeterId,
    since: Timestamp,
    distinct: bool,
    /// Whether a rule or a budget asks for it.
    asked: bool,
    share: Share,
    charge: Option<Charge>,
}

impl Policy {
    /// Which meters have to be read before `action` can be judged, and what it would add to which.
    #[must_use]
    pub fn metering(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Metering {
        if self.windows.is_empty() {
            return Metering::default();
        }
        let question = Question::new(action, assessment, facts, &self.zone);
        let mut asked: Vec<bool> = vec![false; self.windows.len()];
        for number in self.index.candidates(&action.tool, facts.agent) {
            let windows = self.rules.get(number as usize).map(|rule| rule.windows.as_slice());
            for window in windows.unwrap_or_default() {
                if let Some(asked) = asked.get_mut(*window) {
                    *asked = true;
                }
            }
        }
        for budget in &self.budgets {
            let concerned = |window: &Window| window.condition.ask(&question) != Answer::No;
            if let Some(asked) = asked.get_mut(budget.window) {
                *asked = self.windows.get(budget.window).is_some_and(concerned);
            }
        }
        let nobody = ActionId::from_parts(0, 0);
        let entries = self.windows.iter().zip(asked).filter_map(|(window, asked)| {
            let share = window.share(&question);
            if !asked && matches!(share, Share::Nothing) {
                return None;
            }
            let meter = window.meter(&question);
            Some(Entry {
                name: window.name.clone(),
                meter,
                since: before(facts.now, window.over_seconds),
                distinct: matches!(window.counts, Counts::Distinct(_)),
                asked,
                charge: window.charge(meter, nobody, facts.now, &share),
                share,
            })
        });
        Metering { entries: entries.collect() }
    }

    /// What windows would show if each had only what is assumed in it; what nothing is assumed of is empty but for the
    /// action itself.
    #[must_use]
    pub fn assumed_windows(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        assumed: &BTreeMap<String, f64>,
    ) -> Windows {
        let metering = self.metering(action, assessment, facts);
        let empty = metering.queries(&[], None).into_iter().map(|query| Reading { query, total: 0 });
        let Windows(mut values) = metering.windows(&empty.collect::<Vec<_>>(), &[]);
        values.extend(assumed.iter().map(|(name, value)| (name.clone(), Share::of(*value, name).shown())));
        Windows(values)
    }

    /// What an action that failed adds to the windows that count failures.
    #[must_use]
    pub fn failure(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        id: ActionId,
    ) -> Vec<Charge> {
        let question = Question::new(action, assessment, facts, &self.zone);
        self.windows
            .iter()
            .filter(|window| {
                window.counts == Counts::Failures && window.condition.ask(&question) != Answer::No
            })
            .filter_map(|window| window.charge(window.meter(&question), id, facts.now, &Share::Amount(ONE)))
            .collect()
    }
}

impl Metering {
    /// Whether nothing is metered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What to ask the meters. `earlier` is what is added in the same commit and cannot be read yet; `except` is the
    /// action itself, if it is judged anew.
    #[must_use]
    pub fn queries(&self, earlier: &[Charge], except: Option<ActionId>) -> Vec<MeterQuery> {
        let asked = self.entries.iter().filter(|entry| entry.asked);
        asked
            .map(|entry| MeterQuery {
                meter: entry.meter,
                since: entry.since,
                measure: if entry.distinct {
                    Measure::Distinct { besides: entry.values(earlier) }
                } else {
                    Measure::Sum
                },
                except,
            })
            .collect()
    }

    /// What the windows show, by the answers to [`Metering::queries`].
    #[must_use]
    pub fn windows(&self, readings: &[Reading], earlier: &[Charge]) -> Windows {
        let asked = self.entries.iter().filter(|entry| entry.asked);
        let values = asked.zip(readings).map(|(entry, reading)| {
            let value = match &entry.share {
                Share::Unclear(why) => Err(why.clone()),
                Share::Nothing | Share::Amount(_) | Share::Value(_) if entry.distinct => {
                    let known = i64::try_from(entry.values(earlier).len()).unwrap_or(i64::MAX);
                    Ok(reading.total.saturating_add(known.saturating_mul(ONE)))
                }
                Share::Amount(own) => Ok(entry.sum(reading, earlier).saturating_add(*own)),
                Share::Nothing | Share::Value(_) => Ok(entry.sum(reading, earlier)),
            };
            (entry.name.clone(), value)
        });
        Windows(values.collect())
    }

    /// What the action adds, once it has an id.
    #[must_use]
    pub fn charges(self, action: ActionId) -> Vec<Charge> {
        self.entries
            .into_iter()
            .filter_map(|entry| entry.charge.map(|charge| Charge { action, ..charge }))
            .collect()
    }
}

impl Entry {
    /// The different values that the reading leaves out: its own, and those that come before it in the same commit.
    fn values(&self, earlier: &[Charge]) -> Vec<Digest> {
        let own = match &self.share {
            Share::Value(value) => Some(*value),
            Share::Nothing | Share::Amount(_) | Share::Unclear(_) => None,
        };
        let others =
            earlier.iter().filter(|charge| charge.meter == self.meter).filter_map(|charge| charge.value);
        let mut values: Vec<Digest> = own.into_iter().chain(others).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn sum(&self, reading: &Reading, earlier: &[Charge]) -> i64 {
        let same = earlier.iter().filter(|charge| charge.meter == self.meter);
        same.fold(reading.total, |sum, charge| sum.saturating_add(charge.amount))
    }
}

/// What windows show, in millionths, with the action that is judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Windows(BTreeMap<String, Result<i64, String>>);

impl Windows {
    /// None were read.
    pub const NONE: &'static Self = &Self(BTreeMap::new());

    /// What a window shows; an error says why nobody can tell.
    pub(crate) fn show(&self, name: &str) -> Result<i64, String> {
        self.0.get(name).cloned().unwrap_or_else(|| Err(format!("the window {name} was not read")))
    }

    /// Those that show something, as numbers.
    pub(crate) fn numbers(&self) -> BTreeMap<&str, f64> {
        let clear = self.0.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_ref().ok()?)));
        clear.map(|(name, value)| (name, to_number(*value))).collect()
    }
}

pub(crate) fn to_number(millionths: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "exact up to nine billion, near enough beyond")]
    {
        millionths as f64 / ONE as f64
    }
}
