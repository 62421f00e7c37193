//! Which actions a rule is about, compiled.

use banksman_config::{ConfigError, LocalTime, Source, TimeTest, Zone};
use banksman_core::json::Json;
use banksman_core::{Action, Annotations, Assessment, Kind, Mode, Risk, Severity};
use banksman_risk::spelled;
use serde_saphyr::Spanned;

use crate::arguments::{Answer, Argument, Test};
use crate::expression::{Expression, Scene};
use crate::facts::Facts;
use crate::file::{Hints, Limits, Match, RiskRange};
use crate::glob::Glob;
use crate::satisfiable::hopeless;
use crate::window::to_number;

/// Everything that has to hold for a rule to match.
#[derive(Debug, Default)]
pub(crate) struct Condition {
    pub(crate) tool: Vec<Glob>,
    pub(crate) agent: Vec<Glob>,
    pub(crate) session: Vec<Glob>,
    pub(crate) server: Vec<Glob>,
    pub(crate) kind: Vec<Kind>,
    pub(crate) risk: Option<Vec<Risk>>,
    pub(crate) finding: Vec<Glob>,
    pub(crate) action_type: Vec<Glob>,
    pub(crate) severity: Vec<Severity>,
    pub(crate) mode: Vec<Mode>,
    pub(crate) hints: Hints,
    pub(crate) windows: Vec<(String, Limits)>,
    pub(crate) time: Option<TimeTest>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) when: Option<Expression>,
}

/// An action and everything that conditions ask about it.
pub(crate) struct Question<'a> {
    pub(crate) action: &'a Action,
    pub(crate) assessment: &'a Assessment,
    pub(crate) facts: &'a Facts<'a>,
    zone: &'a Zone,
    args: std::cell::OnceCell<Option<Json>>,
    scene: Scene<'a>,
}

impl<'a> Question<'a> {
    pub(crate) fn new(
        action: &'a Action,
        assessment: &'a Assessment,
        facts: &'a Facts<'a>,
        zone: &'a Zone,
    ) -> Self {
        let scene = Scene::new(action, assessment, facts, zone);
        Self { action, assessment, facts, zone, args: std::cell::OnceCell::new(), scene }
    }

    /// The arguments, parsed at most once and only if a rule asks.
    pub(crate) fn args(&self) -> Option<&Json> {
        self.args.get_or_init(|| self.action.args.to_json().ok()).as_ref()
    }
}

impl Condition {
    pub(crate) fn compile(
        source: &Source,
        written: Option<&Spanned<Match>>,
        when: Option<&Spanned<String>>,
    ) -> Result<Self, ConfigError> {
        let when = when
            .map(|text| Expression::compile(&text.value).map_err(|problem| source.error_at(text, problem)))
            .transpose()?;
        let Some(written) = written else { return Ok(Self { when, ..Self::default() }) };
        let (written, at) = (&written.value, written.referenced);
        let mut arguments: Vec<Argument> = Vec::with_capacity(written.args.len());
        for (path, test) in &written.args {
            let argument = Argument::compile(path, &test.value)
                .map_err(|problem| source.error_at(test, format!("{path}: {problem}")))?;
            // `amount` and `/amount` are one argument in two spellings.
            let others = arguments.iter().filter(|other| other.path == argument.path);
            let together: Vec<&Test> = others.flat_map(|other| &other.tests).chain(&argument.tests).collect();
            if let Some(why) = hopeless(&together) {
                return Err(source.error_at(test, format!("{path}: can never match: {why}")));
            }
            arguments.push(argument);
        }
        for (name, limits) in &written.window {
            if limits.value == Limits::default() {
                return Err(source.error_at(limits, format!("{name}: give gt, gte, lt or lte")));
            }
            if limits.value.is_contradiction() {
                return Err(
                    source.error_at(limits, format!("{name}: can never match: no number is within that"))
                );
            }
        }
        if let Some(time) = &written.time
            && let Some(problem) = time.value.problem()
        {
            return Err(source.error_at(time, problem));
        }
        Ok(Self {
            hints: written.annotations,
            windows: written.window.iter().map(|(name, limits)| (name.clone(), limits.value)).collect(),
            time: written.time.as_ref().map(|time| time.value.clone()),
            tool: written.tool.as_slice().to_vec(),
            agent: written.agent.as_slice().to_vec(),
            session: written.session.as_slice().to_vec(),
            server: written.server.as_slice().to_vec(),
            kind: written.kind.as_slice().to_vec(),
            risk: written
                .risk
                .as_ref()
                .map(RiskRange::risks)
                .transpose()
                .map_err(|problem| source.error(at, problem))?,
            finding: written.finding.as_slice().to_vec(),
            action_type: written.action_type.as_slice().iter().map(|name| name.map(spelled)).collect(),
            severity: written.severity.as_slice().iter().map(|name| name.0).collect(),
            mode: written.mode.as_slice().to_vec(),
            arguments,
            when,
        })
    }

    /// Whether it names tools, which is what makes a tool known.
    pub(crate) fn names_tools(&self) -> bool {
        !self.tool.is_empty()
    }

    /// Whether it asks for what makes an action look harmless and is only known of calls that we pass on ourselves: the
    /// server that a tool belongs to, and the milder of what servers say of tools.
    pub(crate) fn believes_server(&self) -> bool {
        !self.server.is_empty() || self.hints.any_mild()
    }

    /// The windows that it asks, by name. An expression is taken to ask each that it mentions.
    pub(crate) fn asks_window(&self, name: &str) -> bool {
        self.windows.iter().any(|(asked, _)| asked == name)
            || self.when.as_ref().is_some_and(|when| when.mentions(name))
    }

    /// The windows that its tests name.
    pub(crate) fn window_names(&self) -> impl Iterator<Item = &str> {
        self.windows.iter().map(|(name, _)| name.as_str())
    }

    /// Whether it matches; the cheapest questions first.
    pub(crate) fn ask(&self, question: &Question<'_>) -> Answer {
        let Question { action, assessment, facts, .. } = question;
        let plain = fits(&self.tool, Some(&action.tool))
            && fits(&self.agent, Some(facts.agent))
            && fits(&self.session, action.session.as_deref())
            && fits(&self.server, action.server.as_deref())
            && (self.action_type.is_empty()
                || fits(&self.action_type, action.action_type.as_deref().map(spelled).as_deref()))
            && among(&self.kind, Some(action.kind))
            && among(&self.mode, Some(facts.mode))
            && among(&self.severity, action.predicted_severity)
            && self.hints.fit(action.annotations.as_ref())
            && self.time.as_ref().is_none_or(|time| time.holds(&LocalTime::of(facts.now, question.zone)))
            && self.risk.as_ref().is_none_or(|risks| risks.contains(&assessment.level))
            && (self.finding.is_empty()
                || assessment.findings.iter().any(|found| fits(&self.finding, Some(&found.rule))));
        if !plain {
            return Answer::No;
        }
        let claims = if self.believes_server() && !action.forwarded {
            Answer::Unclear("its server and what is said of the tool are the agent's own word".into())
        } else {
            Answer::Yes
        };
        let arguments = self.arguments.iter().fold(claims, |answer, argument| {
            answer.and(|| match question.args() {
                Some(args) => argument.ask(args),
                None => Answer::Unclear("the arguments cannot be read".into()),
            })
        });
        let windows = self.windows.iter().fold(arguments, |answer, (name, limits)| {
            answer.and(|| match facts.windows.show(name) {
                Ok(millionths) => Answer::of(limits.hold(to_number(millionths))),
                Err(why) => Answer::Unclear(why),
            })
        });
        windows.and(|| self.when.as_ref().map_or(Answer::Yes, |when| when.ask(&question.scene)))
    }
}

fn fits(patterns: &[Glob], name: Option<&str>) -> bool {
    patterns.is_empty() || name.is_some_and(|name| patterns.iter().any(|pattern| pattern.fits(name)))
}

fn among<T: PartialEq>(allowed: &[T], value: Option<T>) -> bool {
    allowed.is_empty() || value.is_some_and(|value| allowed.contains(&value))
}

impl Hints {
    fn any_mild(&self) -> bool {
        let Self { read_only, destructive, idempotent, open_world } = *self;
        read_only == Some(true)
            || destructive == Some(false)
            || idempotent == Some(true)
            || open_world == Some(false)
    }

    /// A hint that a rule asks for has to be given: what a server does not say, nobody assumes.
    fn fit(&self, said: Option<&Annotations>) -> bool {
        let fits = |asked: Option<bool>, said: Option<bool>| asked.is_none() || asked == said;
        fits(self.read_only, said.and_then(|said| said.read_only_hint))
            && fits(self.destructive, said.and_then(|said| said.destructive_hint))
            && fits(self.idempotent, said.and_then(|said| said.idempotent_hint))
            && fits(self.open_world, said.and_then(|said| said.open_world_hint))
    }
}

impl Limits {
    fn hold(&self, value: f64) -> bool {
        self.gt.is_none_or(|limit| value > limit)
            && self.gte.is_none_or(|limit| value >= limit)
            && self.lt.is_none_or(|limit| value < limit)
            && self.lte.is_none_or(|limit| value <= limit)
    }
}

impl RiskRange {
    fn risks(&self) -> Result<Vec<Risk>, String> {
        let text = match self {
            Self::Some(risks) if risks.is_empty() => return Err("can never match: no risk is listed".into()),
            Self::Some(risks) => return Ok(risks.clone()),
            Self::Written(text) => text.trim(),
        };
        let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (operator, name) = text.split_at(split);
        let limit: Risk =
            name.trim().parse().map_err(|error: banksman_core::UnknownNameError| error.to_string())?;
        let holds: fn(&Risk, &Risk) -> bool = match operator.trim() {
            "" | "=" | "==" => |risk, limit| risk == limit,
            ">=" => |risk, limit| risk >= limit,
            ">" => |risk, limit| risk > limit,
            "<=" => |risk, limit| risk <= limit,
            "<" => |risk, limit| risk < limit,
            other => return Err(format!("{other:?} is no comparison of risks: use >=, >, <= or <")),
        };
        let risks: Vec<Risk> = Risk::ALL.iter().copied().filter(|risk| holds(risk, &limit)).collect();
        if risks.is_empty() { Err(format!("no risk is {text}")) } else { Ok(risks) }
    }
}
