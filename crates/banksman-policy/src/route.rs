//! Routes: who is told of an action, by which channels.
//!
//! Telling people is safe, and not telling them is not: whatever cannot be decided about a leg counts as a match, and an
//! action for which no leg of its routes fits is told of as if no route had been named.

use std::collections::BTreeMap;

use banksman_core::{Action, Assessment, Tier, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::Policy;
use crate::arguments::Answer;
use crate::condition::{Condition, Question};
use crate::facts::Facts;
use crate::file::{Match, OneOrMany};

/// The route of actions for which no rule names one.
const DEFAULT: &str = "default";

/// One leg of a route, as it is written: `{roles: [finance], channels: [slack], tiers: escalate}`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RouteLeg")]
pub struct WrittenLeg {
    /// For which actions, and at which time of day: all, unless said.
    #[serde(rename = "match")]
    #[schemars(with = "Option<Match>")]
    pub matches: Option<Spanned<Match>>,
    /// For which tiers: all, unless said.
    pub tiers: OneOrMany<Tier>,
    /// People of any of these roles. Those who can answer, if neither roles nor people are named.
    pub roles: Vec<String>,
    /// These people, by name, and shared places such as a Slack channel.
    pub people: Vec<String>,
    /// By which channels, by name: those that each person prefers, unless said.
    pub channels: Vec<String>,
    /// Whether they may decide right there. `false` only tells them, and leads to the console.
    pub decide: Option<bool>,
}

/// One leg of a route: whom to tell, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    /// People of any of these roles.
    pub roles: Vec<String>,
    /// These people and places.
    pub people: Vec<String>,
    /// By these channels; by those that each prefers, if none is named.
    pub channels: Vec<String>,
    /// Whether they may decide right there.
    pub decide: bool,
}

impl Leg {
    /// Whether an action with these legs may be decided by a channel. A single leg that only tells, and that uses the
    /// channel, is enough for a no.
    #[must_use]
    pub fn let_decide(legs: &[Self], channel: &str) -> bool {
        let used = |leg: &&Self| leg.channels.is_empty() || leg.channels.iter().any(|name| name == channel);
        legs.iter().filter(used).all(|leg| leg.decide)
    }
}

#[derive(Debug)]
pub(crate) struct CompiledLeg {
    tiers: Vec<Tier>,
    condition: Condition,
    leg: Leg,
}

/// All routes, by name.
pub(crate) type Routes = BTreeMap<String, Vec<CompiledLeg>>;

impl CompiledLeg {
    pub(crate) fn compile(written: &WrittenLeg, condition: Condition) -> Result<Self, &'static str> {
        let names = [&written.roles, &written.people, &written.channels];
        if names.iter().any(|names| names.iter().any(|name| name.trim().is_empty())) {
            return Err("a role, a person and a channel have a name");
        }
        let leg = Leg {
            roles: written.roles.clone(),
            people: written.people.clone(),
            channels: written.channels.clone(),
            decide: written.decide.unwrap_or(true),
        };
        Ok(Self { tiers: written.tiers.as_slice().to_vec(), condition, leg })
    }
}

impl Policy {
    /// Whom to tell of an action with this verdict. `None`: whoever can answer, however they like to be told.
    #[must_use]
    pub fn legs(
        &self,
        action: &Action,
        assessment: &Assessment,
        facts: &Facts<'_>,
        verdict: &Verdict,
    ) -> Option<Vec<Leg>> {
        let default = [DEFAULT.to_owned()];
        let names = if verdict.routes.is_empty() { &default[..] } else { &verdict.routes };
        let question = Question::new(action, assessment, facts, &self.zone);
        let fits = |leg: &&CompiledLeg| {
            (leg.tiers.is_empty() || leg.tiers.contains(&verdict.tier))
                && leg.condition.ask(&question) != Answer::No
        };
        let mut legs: Vec<Leg> = Vec::new();
        for leg in names.iter().filter_map(|name| self.routes.get(name)).flatten().filter(fits) {
            if !legs.contains(&leg.leg) {
                legs.push(leg.leg.clone());
            }
        }
        (!legs.is_empty()).then_some(legs)
    }

    /// Every channel that a route names, with the route.
    pub fn channels_of_routes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.routes.iter().flat_map(|(route, legs)| {
            legs.iter()
                .flat_map(move |leg| leg.leg.channels.iter().map(move |name| (route.as_str(), name.as_str())))
        })
    }
}
