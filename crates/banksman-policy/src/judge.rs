//! What an action demands: the strictest of everything that has something to say about it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use banksman_core::{Action, Assessment, Quorum, Risk, Tier, Triage, Verdict, combine_chains};

use crate::arguments::Answer;
use crate::compile::{CompiledRule, Effect, Policy};
use crate::condition::Question;
use crate::facts::Facts;
use crate::people::remember_limits;
use crate::tinman::{matrix_tier, type_tier};

/// What an action demands, and everything that had a say in it.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// What it demands.
    pub verdict: Verdict,
    /// Everything that had a say, the deciding one among them.
    pub reasons: Vec<Reason>,
    /// Findings that a rule set aside, with the rule.
    pub set_aside: Vec<(String, String)>,
}

/// One thing that had a say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What: a rule's id, or `risks.high`, `preset.confirm_all`, `tinman.matrix`, `defaults.unknown_tool`.
    pub source: String,
    /// The tier that it demands, if it demands one.
    pub tier: Option<Tier>,
    /// The risk that it sees, if it sees one.
    pub risk: Option<Risk>,
    /// What reviewers are told, or why it counts although it could not be decided.
    pub note: Option<String>,
}

/// Something that has a say, while it is being weighed.
struct Voice<'p> {
    source: Cow<'p, str>,
    effect: Cow<'p, Effect>,
    note: Option<String>,
    /// Whether it may also allow something, as only what surely is about this action may.
    allows: bool,
}

impl<'p> Voice<'p> {
    fn of(source: impl Into<Cow<'p, str>>, effect: &'p Effect) -> Self {
        Self { source: source.into(), effect: Cow::Borrowed(effect), note: None, allows: true }
    }

    fn floor(source: impl Into<Cow<'p, str>>, tier: Tier, note: impl Into<String>) -> Self {
        let effect = Effect { tier: Some(tier), quorum: usual_quorum(tier), ..Effect::default() };
        Self { source: source.into(), effect: Cow::Owned(effect), note: Some(note.into()), allows: false }
    }
}

/// How many people a demand means that does not say so. Rules say it when they are compiled; without this, a rule that names
/// one person would answer for whatever else escalates.
fn usual_quorum(tier: Tier) -> Option<Quorum> {
    (tier == Tier::Escalate).then(|| Quorum::new(2, Vec::new()))
}

impl Policy {
    /// What an action demands.
    #[must_use]
    pub fn judge(&self, action: &Action, assessment: &Assessment, facts: &Facts<'_>) -> Judgement {
        let question = Question::new(action, assessment, facts, &self.zone);
        let matched = self.matching(&question);
        let set_aside = set_aside(assessment, &matched);
        let found = assessment
            .findings
            .iter()
            .filter(|finding| !set_aside.iter().any(|(id, _)| *id == finding.rule))
            .map(|finding| finding.level)
            .max()
            .unwrap_or(Risk::None);

        // A rule of which nobody knows whether it is about this action says nothing for it.
        let known =
            matched.iter().any(|(rule, answer)| *answer == Answer::Yes && rule.condition.names_tools());
        let mut voices: Vec<Voice<'_>> =
            matched.into_iter().map(|(rule, answer)| rule_voice(rule, answer)).collect();
        if !known {
            voices.push(Voice {
                note: Some("no rule that surely matches names this tool".into()),
                ..Voice::of("defaults.unknown_tool", &self.unknown)
            });
        }
        voices.extend(assessment.triage.as_ref().and_then(triage_voice));
        let risk = voices.iter().filter_map(|voice| voice.effect.risk).max().unwrap_or(Risk::None).max(found);
        self.add_floors(&mut voices, action, facts, risk);
        self.add_budgets(&mut voices, &question);
        self.weigh(&voices, risk, assessment, set_aside)
    }

    fn matching<'p>(&'p self, question: &Question<'_>) -> Vec<(&'p CompiledRule, Answer)> {
        let candidates = self.index.candidates(&question.action.tool, question.facts.agent);
        candidates
            .into_iter()
            .filter_map(|number| self.rules.get(number as usize))
            .map(|rule| (rule, rule.condition.ask(question)))
            .filter(|(_, answer)| *answer != Answer::No)
            .collect()
    }

    /// What is demanded whatever the rules say: by risk, preset, severity, action type and cost.
    fn add_floors<'p>(&'p self, voices: &mut Vec<Voice<'p>>, action: &Action, facts: &Facts<'_>, risk: Risk) {
        voices.extend(at_and_below("risks", &self.risks, risk));
        let floor = self.preset.floor(risk);
        if floor > Tier::Auto {
            voices.push(Voice::floor(
                format!("preset.{}", self.preset.as_str()),
                floor,
                format!("a person sees what is {risk}"),
            ));
        }
        if let Some(severity) = action.predicted_severity {
            voices.push(Voice::floor(
                "tinman.matrix",
                matrix_tier(severity, facts.mode),
                format!("{severity} in {}", facts.mode),
            ));
            voices.extend(at_and_below("severities", &self.severities, severity));
        }
        if let Some(kind) = action.action_type.as_deref() {
            match type_tier(kind, facts.mode) {
                Tier::Auto | Tier::Notify => {}
                tier @ (Tier::Approve | Tier::Escalate) => {
                    let note = format!("{kind} in {} is seen by a person", facts.mode);
                    voices.push(Voice::floor("tinman.reviewed_type", tier, note));
                }
                tier @ Tier::Block => {
                    voices.push(Voice::floor(
                        "tinman.blocked_type",
                        tier,
                        format!("{kind} is never allowed"),
                    ));
                }
            }
        }
        if let Some(cost) = action.estimate.cost_usd {
            self.add_cost_floors(voices, cost, facts);
        }
    }

    fn add_budgets<'p>(&'p self, voices: &mut Vec<Voice<'p>>, question: &Question<'_>) {
        for budget in &self.budgets {
            let Some(window) = self.windows.get(budget.window) else { continue };
            if window.condition.ask(question) == Answer::No {
                continue;
            }
            if let Some((tier, note)) = budget.demand(question.facts.windows.show(&window.name)) {
                voices.push(Voice::floor(budget.source.as_str(), tier, note));
            }
        }
    }

    fn add_cost_floors(&self, voices: &mut Vec<Voice<'_>>, cost: f64, facts: &Facts<'_>) {
        // Not a number compares as neither over nor under: it is over.
        if cost.is_nan() || cost > self.review_above_usd {
            let note = format!("it may cost {cost} dollars");
            voices.push(Voice::floor("defaults.review_above_usd", Tier::Approve, note));
        }
        for (mode, limit) in &self.cost_limits {
            if *mode == facts.mode && (cost.is_nan() || cost > *limit) {
                let note = format!("it may cost {cost} dollars, and the limit in {mode} is {limit}");
                voices.push(Voice::floor("defaults.cost_limit", Tier::Block, note));
            }
        }
    }

    /// The strictest of all voices.
    fn weigh(
        &self,
        voices: &[Voice<'_>],
        risk: Risk,
        assessment: &Assessment,
        set_aside: Vec<(String, String)>,
    ) -> Judgement {
        let mut tier = voices.iter().filter_map(|voice| voice.effect.tier).max().unwrap_or(Tier::Auto);
        let decider = voices.iter().find(|voice| voice.effect.tier == Some(tier)).or(voices.first());
        let mut rule =
            decider.map_or_else(|| "defaults".to_owned(), |voice| voice.source.clone().into_owned());
        let held = matches!(tier, Tier::Approve | Tier::Escalate);
        if held && self.preset.refuses() {
            tier = Tier::Block;
            rule = format!("preset.{}", self.preset.as_str());
        }
        let shortest = |pick: fn(&Effect) -> Option<u64>, usual: u64| {
            voices.iter().filter_map(|voice| pick(&voice.effect)).min().unwrap_or(usual)
        };
        let quorum = voices
            .iter()
            .filter_map(|voice| voice.effect.quorum.as_ref())
            .fold(Quorum::one(), |quorum, other| quorum.at_least(other));
        let more = voices.iter().map(|voice| voice.effect.extra_people).max().unwrap_or(0);
        let quorum = Quorum::new(quorum.count() + more, quorum.roles().to_vec());
        let remember =
            remember_limits(voices.iter().filter_map(|voice| voice.effect.allow_remember.as_ref()))
                .filter(|_| voices.iter().any(|voice| voice.allows && voice.effect.allow_remember.is_some()));
        let anyone = Quorum::one();
        let chains: Vec<_> = voices
            .iter()
            .map(|voice| {
                (voice.effect.quorum.as_ref().unwrap_or(&anyone), voice.effect.escalation.as_slice())
            })
            .collect();
        let rules = voices.iter().map(|voice| voice.source.clone().into_owned());
        let findings = assessment
            .findings
            .iter()
            .filter(|finding| !set_aside.iter().any(|(id, _)| *id == finding.rule))
            .map(|finding| format!("finding.{}", finding.rule));
        let mut matched: Vec<String> = Vec::new();
        for name in rules.chain(findings) {
            if !matched.contains(&name) {
                matched.push(name);
            }
        }
        let verdict = Verdict {
            tier,
            risk,
            rule,
            matched,
            quorum,
            timeout_seconds: shortest(|effect| effect.timeout, self.times.timeout),
            claim_within_seconds: shortest(|effect| effect.claim_within, self.times.claim_within),
            lease_seconds: shortest(|effect| effect.lease, self.times.lease),
            require_reason: voices.iter().any(|voice| voice.effect.require_reason),
            require_passkey: voices.iter().any(|voice| voice.effect.require_passkey),
            allow_remember: remember.is_some() && tier == Tier::Approve,
            remember_limits: remember.unwrap_or_default(),
            escalation: if held { combine_chains(&chains) } else { Vec::new() },
            observed: held && tier != Tier::Block && self.house.observes,
            messages: each_once(voices.iter().filter_map(|voice| voice.effect.message.as_ref())),
            routes: each_once(voices.iter().filter_map(|voice| voice.effect.route.as_ref())),
            redact: each_once(self.redact.iter().chain(voices.iter().flat_map(|voice| &voice.effect.redact))),
            approved_by_preset: (held && self.preset.approves()).then(|| self.preset.as_str().to_owned()),
        };
        let reasons = voices
            .iter()
            .map(|voice| Reason {
                source: voice.source.clone().into_owned(),
                tier: voice.effect.tier,
                risk: voice.effect.risk,
                note: voice.note.clone().or_else(|| voice.effect.message.clone()),
            })
            .collect();
        Judgement { verdict, reasons, set_aside }
    }
}

fn each_once<'t>(texts: impl Iterator<Item = &'t String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    all
}

/// What an evaluator outside said. One that did not answer counts as wanting a person to look.
fn triage_voice(triage: &Triage) -> Option<Voice<'static>> {
    let (source, tier, note) = match triage {
        Triage { problem: Some(problem), .. } => {
            ("triage.failed", Some(Tier::Approve), format!("the evaluator did not answer: {problem}"))
        }
        Triage { denied: true, .. } => ("triage.denied", Some(Tier::Block), "the evaluator denied it".into()),
        Triage { tier: None, risk: None, .. } => return None,
        Triage { tier, .. } => ("triage.raised", *tier, "the evaluator raised it".into()),
    };
    let quorum = tier.and_then(usual_quorum);
    let effect = Effect { tier, quorum, risk: triage.risk, ..Effect::default() };
    Some(Voice { source: source.into(), effect: Cow::Owned(effect), note: Some(note), allows: false })
}

/// What a table demands of a level: what it demands of lesser ones too, so that nothing gets milder by being worse. How
/// long things last and who is told is said by the nearest entry, and what is allowed only by that of the level itself.
fn at_and_below<'p, L: Ord + Copy + std::fmt::Display>(
    table: &'p str,
    entries: &'p BTreeMap<L, Effect>,
    level: L,
) -> impl Iterator<Item = Voice<'p>> {
    entries.range(..=level).rev().enumerate().map(move |(steps_down, (entry, effect))| {
        let mut voice = Voice::of(format!("{table}.{entry}"), effect);
        voice.allows = *entry == level;
        if steps_down > 0 {
            voice.effect = Cow::Owned(Effect {
                timeout: None,
                claim_within: None,
                lease: None,
                message: None,
                route: None,
                ..effect.clone()
            });
        }
        voice
    })
}

fn rule_voice(rule: &CompiledRule, answer: Answer) -> Voice<'_> {
    let note = match &answer {
        Answer::Unclear(why) => Some(format!("counts because it could not be decided: {why}")),
        Answer::Yes | Answer::No => None,
    };
    let allows = answer == Answer::Yes;
    Voice { note, allows, ..Voice::of(rule.id.as_str(), &rule.effect) }
}

/// Findings that are accepted by a rule that surely matches.
fn set_aside(assessment: &Assessment, matched: &[(&CompiledRule, Answer)]) -> Vec<(String, String)> {
    let mut aside: Vec<(String, String)> = Vec::new();
    for finding in &assessment.findings {
        let accepting = matched.iter().find(|(rule, answer)| {
            *answer == Answer::Yes && rule.accepts.iter().any(|id| id.fits(&finding.rule))
        });
        if let Some((rule, _)) = accepting
            && !aside.iter().any(|(id, _)| *id == finding.rule)
        {
            aside.push((finding.rule.clone(), rule.id.clone()));
        }
    }
    aside
}
