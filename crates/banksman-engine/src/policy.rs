//! What an action demands: a table from tool to verdict.
//!
//! This is the seam that the policy crate will fill: [`Judge`] is what the engine asks, [`PolicyTable`] is a
//! table read from a small YAML file. What the table does not know is high risk and held, and so is what reading
//! finds to be of high risk, whatever the table says of the tool.

use std::collections::HashMap;
use std::sync::Arc;

use banksman_core::{Action, Assessment, Digest, Finding, Mode, Quorum, Risk, Tier, Timestamp, Verdict};
use banksman_risk::{Assessor, Catalogue, RuleSet};
use serde::Deserialize;

/// What is true around a proposal.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The time.
    pub now: Timestamp,
    /// The operating mode.
    pub mode: Mode,
}

/// Assesses and judges actions. Values in, values out.
pub trait Judge: Send + Sync + 'static {
    /// How risky the action looks.
    fn assess(&self, action: &Action) -> Assessment;

    /// What it demands.
    fn judge(&self, action: &Action, assessment: &Assessment, facts: &Facts) -> Verdict;

    /// The digest of the policy's text, for the audit log.
    fn digest(&self) -> Digest;
}

/// A policy that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// Not the YAML that a policy is made of; the message says where.
    #[error("{0}")]
    Syntax(String),
    /// It says something that no policy may say.
    #[error("{place}: {problem}")]
    Meaning {
        /// Which entry.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// Its rules of risk cannot be used.
    #[error("risk: {0}")]
    Risk(#[from] banksman_risk::CatalogueError),
}

/// A table from tool to verdict.
#[derive(Debug, Clone)]
pub struct PolicyTable {
    tools: HashMap<String, Verdict>,
    unknown: Verdict,
    assessor: Assessor,
    digest: Digest,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(default)]
    defaults: Defaults,
    #[serde(default)]
    unknown: Option<Entry>,
    #[serde(default)]
    tools: HashMap<String, Entry>,
    #[serde(default)]
    risk: RuleSet,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Defaults {
    timeout: Span,
    claim_within: Span,
    lease: Span,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { timeout: Span(3600), claim_within: Span(900), lease: Span(600) }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    risk: Risk,
    tier: Tier,
    #[serde(default)]
    quorum: Option<u32>,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    timeout: Option<Span>,
    #[serde(default)]
    claim_within: Option<Span>,
    #[serde(default)]
    lease: Option<Span>,
    #[serde(default)]
    require_reason: bool,
    #[serde(default)]
    allow_remember: bool,
}

/// A time span in seconds, written as `90`, `"90s"`, `15m`, `1h` or `7d`.
#[derive(Debug, Clone, Copy)]
struct Span(u64);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Seconds(u64),
            Text(String),
        }
        let seconds = match Written::deserialize(deserializer)? {
            Written::Seconds(seconds) => Some(seconds),
            Written::Text(text) => parse_span(&text),
        };
        seconds.filter(|seconds| (1..=366 * 86_400).contains(seconds)).map(Self).ok_or_else(|| {
            serde::de::Error::custom("expected a time span from 1s to 366d, such as 90s, 15m, 1h or 7d")
        })
    }
}

fn parse_span(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text.get(digits.len()..)? {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

impl PolicyTable {
    /// The policy of a new installation: everything is held.
    pub const DEFAULT: &'static str = include_str!("default-policy.yaml");

    /// Reads a policy.
    ///
    /// # Errors
    /// If it is not valid. A policy that was half understood would let the other half through.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let file: File =
            serde_saphyr::from_str(text).map_err(|error| PolicyError::Syntax(error.to_string()))?;
        if file.version != 1 {
            return Err(meaning("version", format!("is {}, and this program knows version 1", file.version)));
        }
        let unknown = match &file.unknown {
            Some(entry) if entry.tier < Tier::Approve => {
                return Err(meaning(
                    "unknown",
                    "what is not known must be held or blocked: use approve or more".into(),
                ));
            }
            Some(entry) => verdict("unknown", entry, &file.defaults)?,
            None => verdict("unknown", &Entry::held(), &file.defaults)?,
        };
        let tools = file
            .tools
            .iter()
            .map(|(tool, entry)| Ok((tool.clone(), verdict(tool, entry, &file.defaults)?)))
            .collect::<Result<_, PolicyError>>()?;
        let assessor = Assessor::new(Catalogue::with_rules(file.risk)?);
        Ok(Self { tools, unknown, assessor, digest: Digest::of(text.as_bytes()) })
    }

    /// The rules of risk: the built-in ones, with what the policy adds, replaces and disables.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.assessor.shared_catalogue()
    }
}

impl Entry {
    fn held() -> Self {
        Self {
            risk: Risk::High,
            tier: Tier::Approve,
            quorum: None,
            roles: Vec::new(),
            timeout: None,
            claim_within: None,
            lease: None,
            require_reason: false,
            allow_remember: false,
        }
    }
}

fn meaning(place: &str, problem: String) -> PolicyError {
    PolicyError::Meaning { place: place.to_owned(), problem }
}

fn verdict(tool: &str, entry: &Entry, defaults: &Defaults) -> Result<Verdict, PolicyError> {
    let usual = if entry.tier == Tier::Escalate { 2 } else { 1 };
    let count = entry.quorum.unwrap_or(usual);
    if !(1..=16).contains(&count) || entry.roles.len() > 16 {
        return Err(meaning(tool, "a quorum is 1 to 16 people".into()));
    }
    if entry.quorum.is_some_and(|count| usize::try_from(count).is_ok_and(|count| count < entry.roles.len())) {
        return Err(meaning(
            tool,
            "the quorum is smaller than the number of roles, each of which needs a person".into(),
        ));
    }
    if entry.allow_remember && entry.tier != Tier::Approve {
        return Err(meaning(tool, "allow_remember goes only with tier approve".into()));
    }
    Ok(Verdict {
        tier: entry.tier,
        risk: entry.risk,
        rule: if tool == "unknown" { "unknown".into() } else { format!("tools.{tool}") },
        matched: Vec::new(),
        quorum: Quorum::new(count, entry.roles.clone()),
        timeout_seconds: entry.timeout.unwrap_or(defaults.timeout).0,
        claim_within_seconds: entry.claim_within.unwrap_or(defaults.claim_within).0,
        lease_seconds: entry.lease.unwrap_or(defaults.lease).0,
        require_reason: entry.require_reason,
        allow_remember: entry.allow_remember,
    })
}

impl Judge for PolicyTable {
    fn assess(&self, action: &Action) -> Assessment {
        match self.tools.get(&action.tool) {
            Some(verdict) => Assessment { level: verdict.risk, ..Assessment::of(Vec::new()) },
            None => {
                Assessment::of(vec![Finding::new("unknown_tool", Risk::High, "no policy names this tool")])
            }
        }
    }

    fn judge(&self, action: &Action, assessment: &Assessment, _facts: &Facts) -> Verdict {
        let mut verdict = self.tools.get(&action.tool).unwrap_or(&self.unknown).clone();
        verdict.risk = verdict.risk.max(assessment.level);
        // What reads as dangerous is seen by a person, however harmless the tool is said to be.
        if assessment.findings.iter().any(|finding| finding.level >= Risk::High) {
            verdict.tier = verdict.tier.max(Tier::Approve);
        }
        verdict.matched = vec![verdict.rule.clone()];
        verdict
    }

    fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use banksman_core::Kind;
    use banksman_core::json::CanonicalJson;

    use super::*;

    fn judge(policy: &str, tool: &str) -> Verdict {
        let table = PolicyTable::parse(policy).unwrap();
        let action = Action::bare(tool, Kind::Tool, CanonicalJson::parse(b"{}").unwrap());
        let facts = Facts { now: Timestamp::default(), mode: Mode::Production };
        table.judge(&action, &table.assess(&action), &facts)
    }

    #[test]
    fn the_default_policy_holds_everything() {
        let verdict = judge(PolicyTable::DEFAULT, "anything");
        assert_eq!((verdict.tier, verdict.risk), (Tier::Approve, Risk::High));
    }

    #[test]
    fn the_example_policy_says_what_its_comments_say() {
        let policy = include_str!("../../../examples/policy.yaml");
        for (tool, tier, people) in [
            ("look_up_order", Tier::Auto, 1),
            ("draft_reply", Tier::Notify, 1),
            ("send_email", Tier::Approve, 1),
            ("process_refund", Tier::Escalate, 2),
            ("delete_customer", Tier::Block, 1),
            ("anything_else", Tier::Approve, 1),
        ] {
            let verdict = judge(policy, tool);
            assert_eq!((verdict.tier, verdict.quorum.count()), (tier, people), "{tool}");
        }
    }

    #[test]
    fn escalate_means_two_unless_said_otherwise() {
        let policy = "version: 1\ntools:\n  a: {risk: critical, tier: escalate}\n  b: {risk: critical, tier: escalate, quorum: 3, timeout: 30m}\n";
        assert_eq!(judge(policy, "a").quorum.count(), 2);
        assert_eq!(judge(policy, "b").quorum.count(), 3);
        assert_eq!(judge(policy, "b").timeout_seconds, 1800);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for wrong in [
            "",
            "tools: {}",
            "version: 2",
            "version: 1\nunknown: {risk: low, tier: auto}",
            "version: 1\ntols: {}",
            "version: 1\ntools: {a: {risk: low, tier: auto, qurom: 2}}",
            "version: 1\ntools: {a: {risk: low, tier: maybe}}",
            "version: 1\ntools: {a: {risk: high, tier: approve, quorum: 0}}",
            "version: 1\ntools: {a: {risk: high, tier: approve, quorum: 1, roles: [x, y]}}",
            "version: 1\ntools: {a: {risk: high, tier: approve, timeout: soon}}",
            "version: 1\ntools: {a: {risk: high, tier: block, allow_remember: true}}",
            "version: 1\ntools: {a: {risk: low, tier: auto}, a: {risk: high, tier: block}}",
        ] {
            assert!(PolicyTable::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
