//! A policy while its files are being put together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use banksman_config::{ConfigError, Seconds, Source, Zone};
use banksman_core::redact::is_redaction_path;
use banksman_core::{Digest, Mode, Risk, Severity, Tier};
use banksman_risk::{Assessor, Catalogue, RuleSet};
use serde_saphyr::Spanned;

use crate::budget::Budget;
use crate::compile::{CompiledRule, Effect, Policy, Times, effect};
use crate::condition::Condition;
use crate::file::{self, Defaults, Demand, Match, ModeName, OneOrMany, PolicyFile, Rule, SeverityName};
use crate::glob::Glob;
use crate::index::Index;
use crate::people::{Enforcement, Fallback, HousePolicy, ModeGate};
use crate::preset::Preset;
use crate::route::{CompiledLeg, Routes, WrittenLeg};
use crate::tinman::COST_THRESHOLD_USD;
use crate::triage::TriagePlan;
use crate::window::Window;

/// A policy while its files are being put together.
#[derive(Default)]
pub(crate) struct Draft {
    preset: Option<Preset>,
    rules: Vec<CompiledRule>,
    ids: HashMap<String, String>,
    unknown: Option<Effect>,
    risks: BTreeMap<Risk, Effect>,
    severities: BTreeMap<Severity, Effect>,
    ttl_classes: BTreeMap<String, Seconds>,
    defaults: [Option<Seconds>; 3],
    review_above_usd: Option<f64>,
    cost_limits: Vec<(Mode, f64)>,
    windows: Vec<Window>,
    budgets: Vec<Budget>,
    zone: Option<Zone>,
    redact: Vec<String>,
    routes: Routes,
    /// Where rules name routes: a route may be written after the rule, or in another file.
    routes_named: Vec<(String, ConfigError)>,
    triage: Option<TriagePlan>,
    /// Tests of windows, with their places: a window may be written after the rule, or in another file.
    window_tests: Vec<(String, ConfigError)>,
    enforcement: Option<Enforcement>,
    solo_operator: Option<String>,
    fallback: Option<Fallback>,
    gates: BTreeMap<ModeName, ModeGate>,
    risk_rules: RuleSet,
}

impl Draft {
    pub(crate) fn add(&mut self, source: &Source, file: PolicyFile) -> Result<(), ConfigError> {
        if file.version.value != 1 {
            let problem = format!("is version {}, and this program knows version 1", file.version.value);
            return Err(source.error_at(&file.version, problem));
        }
        self.add_house(source, &file)?;
        let whole = &file.version;
        only_once(&mut self.preset, file.preset, || {
            source.error_at(whole, "another file sets a preset already")
        })?;
        self.add_defaults(source, &file.defaults, whole)?;
        self.ttl_classes.extend(file.ttl_classes);
        only_once(&mut self.review_above_usd, file.costs.review_above_usd, || {
            source.error_at(whole, "another file sets review_above_usd already")
        })?;
        self.cost_limits.extend(file.costs.limits_usd.iter().map(|(ModeName(mode), limit)| (*mode, *limit)));
        if let Some(name) = &file.time_zone {
            let zone = Zone::named(&name.value).map_err(|problem| source.error_at(name, problem))?;
            only_once(&mut self.zone, Some(zone), || {
                source.error_at(name, "another file sets the time zone already")
            })?;
        }
        for path in &file.redact {
            if !is_redaction_path(&path.value) {
                return Err(source.error_at(path, "is no path to arguments: write card or **.pin"));
            }
            self.redact.push(path.value.clone());
        }
        if let Some(triage) = &file.triage {
            let condition = countable(source, triage.value.matches.as_ref())?;
            let plan = TriagePlan::compile(&triage.value, condition)
                .map_err(|problem| source.error_at(triage, problem))?;
            only_once(&mut self.triage, Some(plan), || {
                source.error_at(triage, "another file sets up triage already")
            })?;
        }
        for (name, legs) in &file.routes {
            self.add_route(source, name, legs, whole)?;
        }
        for (name, window) in &file.windows {
            self.add_window(source, name, window)?;
        }
        for (name, budget) in &file.budgets {
            self.add_budget(source, name, budget)?;
        }
        for (risk, demand) in &file.risks {
            self.name_route(source, demand.value.route.as_ref());
            self.risks.insert(*risk, effect(source, demand)?);
        }
        for (SeverityName(severity), demand) in &file.severities {
            self.name_route(source, demand.value.route.as_ref());
            self.severities.insert(*severity, effect(source, demand)?);
        }
        for (tool, demand) in &file.tools {
            self.add_tool(source, tool, demand)?;
        }
        for rule in file.rules {
            self.add_rule(source, &rule)?;
        }
        self.risk_rules.programs.extend(file.risk.programs);
        self.risk_rules.rules.extend(file.risk.rules);
        self.risk_rules.disable.extend(file.risk.disable);
        Ok(())
    }

    fn add_house(&mut self, source: &Source, file: &PolicyFile) -> Result<(), ConfigError> {
        let whole = &file.version;
        let again = |what: &str| source.error_at(whole, format!("another file sets {what} already"));
        only_once(&mut self.enforcement, file.enforcement, || again("enforcement"))?;
        if let Some(name) = &file.solo_operator {
            // `true` is a text to YAML where a text is asked for, and would name nobody.
            if ["", "true", "false", "yes", "no"].contains(&name.value.trim()) {
                return Err(source.error_at(name, "solo_operator names one person, as their token does"));
            }
            only_once(&mut self.solo_operator, Some(name.value.clone()), || again("solo_operator"))?;
        }
        if let Some(fallback) = &file.modes.fallback {
            if fallback.value.failures == 0 {
                return Err(source.error_at(fallback, "it takes at least one failure to fall back"));
            }
            only_once(&mut self.fallback, Some(fallback.value), || again("modes.fallback"))?;
        }
        for (mode, gate) in &file.modes.change_to {
            if gate.value.roles.iter().any(|role| role.trim().is_empty()) {
                return Err(source.error_at(gate, "a role has a name"));
            }
            if self.gates.insert(*mode, gate.value.clone()).is_some() {
                return Err(again("who may change to this mode"));
            }
        }
        Ok(())
    }

    fn add_defaults(
        &mut self,
        source: &Source,
        defaults: &Defaults,
        whole: &Spanned<u32>,
    ) -> Result<(), ConfigError> {
        let written = [defaults.timeout, defaults.claim_within, defaults.lease];
        for (slot, value) in self.defaults.iter_mut().zip(written) {
            only_once(slot, value, || source.error_at(whole, "another file sets this default already"))?;
        }
        if let Some(demand) = &defaults.unknown_tool {
            if demand.value.tier.is_some_and(|tier| tier < Tier::Approve) {
                return Err(
                    source.error_at(demand, "what is not known must be held or blocked: use approve or more")
                );
            }
            let effect = effect(source, demand)?;
            only_once(&mut self.unknown, Some(effect), || {
                source.error_at(demand, "another file says what an unknown tool demands already")
            })?;
        }
        Ok(())
    }

    fn add_route(
        &mut self,
        source: &Source,
        name: &str,
        legs: &[Spanned<WrittenLeg>],
        whole: &Spanned<u32>,
    ) -> Result<(), ConfigError> {
        if self.routes.contains_key(name) {
            return Err(source.error_at(whole, format!("another file has a route {name:?} already")));
        }
        if legs.is_empty() {
            return Err(source.error_at(whole, format!("the route {name:?} leads nowhere: give it a leg")));
        }
        let compile = |leg: &Spanned<WrittenLeg>| {
            let condition = countable(source, leg.value.matches.as_ref())?;
            CompiledLeg::compile(&leg.value, condition).map_err(|problem| source.error_at(leg, problem))
        };
        let legs = legs.iter().map(compile).collect::<Result<_, _>>()?;
        self.routes.insert(name.to_owned(), legs);
        Ok(())
    }

    fn name_route(&mut self, source: &Source, route: Option<&Spanned<String>>) {
        if let Some(route) = route {
            let error = source.error_at(route, format!("there is no route {:?}", route.value));
            self.routes_named.push((route.value.clone(), error));
        }
    }

    fn add_window(
        &mut self,
        source: &Source,
        name: &str,
        window: &Spanned<file::Window>,
    ) -> Result<(), ConfigError> {
        let clean = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !clean {
            return Err(source.error_at(window, "the name of a window is letters, digits and _"));
        }
        if self.windows.iter().any(|other| other.name == name) {
            return Err(source.error_at(window, format!("another file has a window {name:?} already")));
        }
        let condition = countable(source, window.value.matches.as_ref())?;
        let compiled = Window::compile(name, &window.value, condition)
            .map_err(|problem| source.error_at(window, problem))?;
        self.windows.push(compiled);
        Ok(())
    }

    fn add_budget(
        &mut self,
        source: &Source,
        name: &str,
        budget: &Spanned<file::Budget>,
    ) -> Result<(), ConfigError> {
        self.claim_id(source, &format!("budgets.{name}"), budget)?;
        let condition = countable(source, budget.value.matches.as_ref())?;
        let (budget, window) = Budget::compile(name, &budget.value, condition, self.windows.len())
            .map_err(|problem| source.error_at(budget, problem))?;
        self.windows.push(window);
        self.budgets.push(budget);
        Ok(())
    }

    fn add_tool(&mut self, source: &Source, tool: &str, demand: &Spanned<Demand>) -> Result<(), ConfigError> {
        let id = format!("tools.{tool}");
        self.claim_id(source, &id, demand)?;
        let matches = Match { tool: OneOrMany::One(Glob::new(tool)), ..Match::default() };
        let matches = Spanned::new(matches, demand.referenced, demand.defined);
        let condition = Condition::compile(source, Some(&matches), None)?;
        self.name_route(source, demand.value.route.as_ref());
        let effect = effect(source, demand)?;
        let place = source.place(demand.referenced);
        self.rules.push(CompiledRule {
            id,
            place,
            condition,
            accepts: Vec::new(),
            effect,
            windows: Vec::new(),
        });
        Ok(())
    }

    fn add_rule(&mut self, source: &Source, rule: &Spanned<Rule>) -> Result<(), ConfigError> {
        let written = &rule.value;
        check_id(source, &written.id)?;
        self.claim_id(source, &written.id.value, &written.id)?;
        let matches = written.matches.as_ref();
        let condition = Condition::compile(source, matches, written.when.as_ref())?;
        for name in condition.window_names() {
            let problem = format!("there is no window {name:?}");
            let place = matches.and_then(|matches| matches.value.window.get(name));
            let error = place.map_or_else(
                || source.error_at(rule, problem.as_str()),
                |test| source.error_at(test, problem.as_str()),
            );
            self.window_tests.push((name.to_owned(), error));
        }
        if let Some(essential) = written.accepts.iter().find(|id| id.value.fits("unread.input")) {
            return Err(source.error_at(essential, "what could not be read cannot be accepted"));
        }
        let ttl =
            match &written.ttl {
                None => None,
                Some(_) if written.timeout.is_some() => {
                    return Err(source.error_at(rule, "a rule has a timeout or a ttl, not both"));
                }
                Some(class) => Some(*self.ttl_classes.get(&class.value).ok_or_else(|| {
                    source.error_at(class, format!("there is no ttl class {:?}", class.value))
                })?),
            };
        let demand = Demand {
            risk: written.risk,
            tier: written.tier,
            quorum: written.quorum,
            roles: written.roles.clone(),
            extra_people: written.extra_people,
            escalation: written.escalation.clone(),
            timeout: written.timeout.or(ttl),
            claim_within: written.claim_within,
            lease: written.lease,
            require_reason: written.require_reason,
            require_passkey: written.require_passkey,
            allow_remember: written.allow_remember.clone(),
            message: written.message.clone(),
            route: written.route.clone(),
            redact: written.redact.clone(),
        };
        self.name_route(source, written.route.as_ref());
        let effect = effect(source, &Spanned::new(demand, rule.referenced, rule.defined))?;
        let accepts = written.accepts.iter().map(|id| id.value.clone()).collect();
        self.rules.push(CompiledRule {
            id: written.id.value.clone(),
            place: source.place(written.id.referenced),
            condition,
            accepts,
            effect,
            windows: Vec::new(),
        });
        Ok(())
    }

    fn claim_id<T>(&mut self, source: &Source, id: &str, at: &Spanned<T>) -> Result<(), ConfigError> {
        match self.ids.insert(id.to_owned(), source.name().to_owned()) {
            None => Ok(()),
            Some(other) => {
                Err(source.error_at(at, format!("there are two rules {id:?}, the first one in {other}")))
            }
        }
    }

    pub(crate) fn finish(mut self, sources: &[Source]) -> Result<Policy, ConfigError> {
        let windows = &self.windows;
        for (name, error) in std::mem::take(&mut self.window_tests) {
            if !windows.iter().any(|window| window.name == name) {
                return Err(error);
            }
        }
        // A policy that defines no routes uses their names as labels, for those who read its verdicts.
        for (name, error) in std::mem::take(&mut self.routes_named) {
            if !self.routes.is_empty() && !self.routes.contains_key(&name) {
                return Err(error);
            }
        }
        for rule in &mut self.rules {
            let asked =
                windows.iter().enumerate().filter(|(_, window)| rule.condition.asks_window(&window.name));
            rule.windows = asked.map(|(number, _)| number).collect();
        }
        let unknown = self.unknown.unwrap_or_default();
        let unknown = Effect {
            risk: Some(unknown.risk.unwrap_or(Risk::High)),
            tier: Some(unknown.tier.unwrap_or(Tier::Approve)),
            ..unknown
        };
        let [timeout, claim_within, lease] = self.defaults;
        let seconds = |written: Option<Seconds>, usual| written.map_or(usual, |seconds| seconds.0);
        let all: String = sources.iter().flat_map(|source| [source.text(), "\n---\n"]).collect();
        let catalogue: Arc<Catalogue> = Catalogue::with_rules(self.risk_rules).map_err(|error| {
            let first = sources.first().cloned().unwrap_or_else(|| Source::new("policy", ""));
            first.error(serde_saphyr::Location::UNKNOWN, format!("risk: {error}"))
        })?;
        let mut policy = Policy {
            preset: self.preset.unwrap_or(Preset::Custom),
            index: Index::of(self.rules.iter().map(|rule| &rule.condition)),
            rules: self.rules,
            unknown,
            risks: self.risks,
            severities: self.severities,
            times: Times {
                timeout: seconds(timeout, 3600),
                claim_within: seconds(claim_within, 900),
                lease: seconds(lease, 600),
            },
            review_above_usd: self.review_above_usd.unwrap_or(COST_THRESHOLD_USD),
            cost_limits: self.cost_limits,
            windows: self.windows,
            budgets: self.budgets,
            zone: self.zone.unwrap_or(Zone::UTC),
            triage: self.triage,
            redact: self.redact,
            routes: self.routes,
            house: HousePolicy {
                observes: self.enforcement == Some(Enforcement::Observe),
                solo_operator: self.solo_operator,
                fallback: self.fallback,
                gates: self.gates.into_iter().map(|(ModeName(mode), gate)| (mode, gate)).collect(),
            },
            assessor: Assessor::new(catalogue),
            digest: Digest::of(all.as_bytes()),
            listing: Vec::new(),
        };
        policy.list_rules(sources);
        Ok(policy)
    }
}

/// The condition of what is counted or looked at. It cannot ask what counting shows.
fn countable(source: &Source, matches: Option<&Spanned<Match>>) -> Result<Condition, ConfigError> {
    if let Some(test) = matches.and_then(|matches| matches.value.window.values().next()) {
        return Err(source.error_at(test, "this cannot depend on a window"));
    }
    Condition::compile(source, matches, None)
}

fn only_once<T>(
    slot: &mut Option<T>,
    value: Option<T>,
    error: impl FnOnce() -> ConfigError,
) -> Result<(), ConfigError> {
    match (slot.is_some(), value) {
        (_, None) => Ok(()),
        (true, Some(_)) => Err(error()),
        (false, value) => {
            *slot = value;
            Ok(())
        }
    }
}

fn check_id(source: &Source, id: &Spanned<String>) -> Result<(), ConfigError> {
    let text = &id.value;
    let clean = !text.is_empty()
        && text.len() <= 100
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/'));
    if !clean {
        return Err(source.error_at(id, "an id is letters, digits, and . - _ / between them"));
    }
    if ["tools.", "risks.", "preset.", "tinman.", "finding.", "defaults.", "budgets.", "triage."]
        .iter()
        .any(|own| text.starts_with(own))
    {
        return Err(source.error_at(id, "this beginning is kept for what Banksman itself demands"));
    }
    Ok(())
}
