//! Cases that a policy is tested with, in YAML beside it.

use std::collections::BTreeMap;

use banksman_config::{ConfigError, Source};
use banksman_core::json::CanonicalJson;
use banksman_core::{Action, Assessment, Finding, Kind, Mode, Risk, Severity, Tier, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::compile::Policy;
use crate::facts::Facts;
use crate::judge::Judgement;

/// A file of cases.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CasesFile {
    /// The cases.
    #[schemars(with = "Vec<Case>")]
    cases: Vec<Spanned<Case>>,
}

/// An action, what is true around it, and what is expected.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What it is about, in a sentence.
    name: String,
    /// The action, as an agent would propose it.
    action: ActionDraft,
    /// What is true around it.
    #[serde(default)]
    facts: FactsDraft,
    /// What policy must say. What is left out may be anything.
    expect: Expectation,
}

/// An action, as far as policy asks about it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ActionDraft {
    /// The tool.
    tool: String,
    /// How its arguments are to be understood: `tool` unless said.
    #[serde(default)]
    kind: Kind,
    /// Its arguments.
    #[serde(default)]
    args: BTreeMap<String, serde_json::Value>,
    /// The session.
    #[serde(default)]
    session: Option<String>,
    /// The action type.
    #[serde(default)]
    action_type: Option<String>,
    /// The severity that the agent predicts.
    #[serde(default)]
    predicted_severity: Option<Severity>,
    /// The cost that the agent estimates, in US dollars.
    #[serde(default)]
    cost_usd: Option<f64>,
}

/// What is true around an action.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct FactsDraft {
    /// The operating mode: production unless said.
    mode: Option<Mode>,
    /// The agent's name: `agent` unless said.
    agent: Option<String>,
    /// The time, in RFC 3339: 1970 unless said.
    #[schemars(with = "Option<String>")]
    now: Option<Timestamp>,
    /// Whether a freeze covers the action.
    frozen: bool,
    /// How many grants the agent has.
    grants: usize,
    /// What windows show, with this action. Those that are not named show nothing but the action itself.
    windows: BTreeMap<String, f64>,
    /// Findings to assume, by id and level, instead of reading the action.
    findings: Option<BTreeMap<String, Risk>>,
}

/// What is expected of a verdict.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Expectation {
    /// The tier.
    tier: Option<Tier>,
    /// The risk.
    risk: Option<Risk>,
    /// The rule that decides.
    rule: Option<String>,
    /// How many people have to approve.
    quorum: Option<u32>,
    /// Of which roles, in order.
    roles: Option<Vec<String>>,
    /// How long a hold lasts.
    timeout_seconds: Option<u64>,
    /// Whether a decision needs a reason.
    require_reason: Option<bool>,
    /// Whether an approval needs the touch of a passkey.
    require_passkey: Option<bool>,
    /// Whether an approval may be remembered.
    allow_remember: Option<bool>,
    /// Rules and findings that have to be among those that match.
    matched: Option<Vec<String>>,
    /// Findings that have to be set aside.
    set_aside: Option<Vec<String>>,
}

/// How one case went.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// The case.
    pub name: String,
    /// Where it stands: file, line, column.
    pub place: String,
    /// What was otherwise than expected; none is good.
    pub differences: Vec<String>,
}

impl Policy {
    /// Runs the cases of a file.
    ///
    /// # Errors
    /// If the file is not one of cases.
    pub fn run_cases(&self, source: &Source) -> Result<Vec<CaseResult>, ConfigError> {
        let file: CasesFile = source.read_as()?;
        file.cases.iter().map(|case| self.run_case(source, case)).collect()
    }

    fn run_case(&self, source: &Source, case: &Spanned<Case>) -> Result<CaseResult, ConfigError> {
        let Case { name, action, facts, expect } = &case.value;
        let action = action.build().map_err(|problem| source.error_at(case, problem))?;
        let assessment = match &facts.findings {
            Some(findings) => Assessment::of(
                findings.iter().map(|(rule, level)| Finding::new(rule.as_str(), *level, "assumed")).collect(),
            ),
            None => self.assessor().assess(&action),
        };
        let around = Facts {
            mode: facts.mode.unwrap_or(Mode::Production),
            frozen: facts.frozen,
            grants: facts.grants,
            ..Facts::plain(facts.agent.as_deref().unwrap_or("agent"), facts.now.unwrap_or_default())
        };
        let windows = self.assumed_windows(&action, &assessment, &around, &facts.windows);
        let around = Facts { windows: &windows, ..around };
        let judged = self.judge(&action, &assessment, &around);
        let place = source.error_at(case, "").place().to_string();
        Ok(CaseResult { name: name.clone(), place, differences: expect.differences(&judged) })
    }
}

impl ActionDraft {
    fn build(&self) -> Result<Action, String> {
        let args = serde_json::to_string(&self.args).map_err(|error| error.to_string())?;
        let args = CanonicalJson::parse(args.as_bytes()).map_err(|error| error.to_string())?;
        let mut action = Action::bare(self.tool.as_str(), self.kind, args);
        action.session.clone_from(&self.session);
        action.action_type.clone_from(&self.action_type);
        action.predicted_severity = self.predicted_severity;
        action.estimate.cost_usd = self.cost_usd;
        Ok(action)
    }
}

impl Expectation {
    fn differences(&self, judged: &Judgement) -> Vec<String> {
        let verdict = &judged.verdict;
        let mut found = Vec::new();
        let mut differ = |name: &str, wanted: String, got: String| {
            if wanted != got {
                found.push(format!("{name}: expected {wanted}, got {got}"));
            }
        };
        if let Some(tier) = self.tier {
            differ("tier", tier.to_string(), verdict.tier.to_string());
        }
        if let Some(risk) = self.risk {
            differ("risk", risk.to_string(), verdict.risk.to_string());
        }
        if let Some(rule) = &self.rule {
            differ("rule", rule.clone(), verdict.rule.clone());
        }
        if let Some(quorum) = self.quorum {
            differ("quorum", quorum.to_string(), verdict.quorum.count().to_string());
        }
        if let Some(roles) = &self.roles {
            differ("roles", roles.join(", "), verdict.quorum.roles().join(", "));
        }
        if let Some(seconds) = self.timeout_seconds {
            differ("timeout_seconds", seconds.to_string(), verdict.timeout_seconds.to_string());
        }
        if let Some(wanted) = self.require_reason {
            differ("require_reason", wanted.to_string(), verdict.require_reason.to_string());
        }
        if let Some(wanted) = self.require_passkey {
            differ("require_passkey", wanted.to_string(), verdict.require_passkey.to_string());
        }
        if let Some(wanted) = self.allow_remember {
            differ("allow_remember", wanted.to_string(), verdict.allow_remember.to_string());
        }
        for wanted in self.matched.iter().flatten() {
            if !verdict.matched.contains(wanted) {
                found.push(format!("matched: expected {wanted} among {}", verdict.matched.join(", ")));
            }
        }
        for wanted in self.set_aside.iter().flatten() {
            if !judged.set_aside.iter().any(|(id, _)| id == wanted) {
                found.push(format!("set_aside: expected {wanted}, and it was not"));
            }
        }
        found
    }
}
