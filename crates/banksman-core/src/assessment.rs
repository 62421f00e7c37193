//! What reading an action found out about its risk.

use serde::{Deserialize, Serialize};

use crate::{Risk, Tier};

/// A stretch of the text that was read, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

/// One thing that an analyser noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Finding {
    /// The rule that noticed it.
    pub rule: String,
    /// How bad it is.
    pub level: Risk,
    /// Why, in plain words.
    pub reason: String,
    /// Which argument it was noticed in, as a JSON pointer; absent when it is about the action as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Where in that argument's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

impl Finding {
    /// A finding about the action as a whole.
    #[must_use]
    pub fn new(rule: impl Into<String>, level: Risk, reason: impl Into<String>) -> Self {
        Self { rule: rule.into(), level, reason: reason.into(), argument: None, span: None }
    }
}

/// The risk of an action, and what it is based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Assessment {
    /// The highest level of all findings.
    pub level: Risk,
    /// Everything that was noticed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What it touches, such as `file:/etc/passwd`, `table:users` or `host:example.org`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Whether nothing was noticed that could not be undone.
    #[serde(default = "undoable")]
    pub reversible: bool,
    /// What could happen, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<String>,
    /// What would be safer, or should be looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recommendations: Vec<String>,
    /// What an evaluator outside said, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triage: Option<Triage>,
}

/// What an evaluator outside said. It has read what the agent wrote, so its words are as little to be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Triage {
    /// The tier that it wants at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// The risk that it sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Whether it denies the action.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// How soon people should look, from 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Its reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Why there is no answer, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Triage {
    /// No answer, and why.
    #[must_use]
    pub fn failed(problem: impl Into<String>) -> Self {
        Self { problem: Some(problem.into()), ..Self::default() }
    }
}

const fn undoable() -> bool {
    true
}

impl Assessment {
    /// An assessment whose level is that of its worst finding.
    #[must_use]
    pub fn of(findings: Vec<Finding>) -> Self {
        let level = findings.iter().map(|finding| finding.level).max().unwrap_or(Risk::None);
        Self {
            level,
            findings,
            resources: Vec::new(),
            reversible: true,
            impact: None,
            recommendations: Vec::new(),
            triage: None,
        }
    }

    /// The highest risk that anyone saw, the evaluator outside included.
    #[must_use]
    pub fn worst(&self) -> Risk {
        self.triage.as_ref().and_then(|triage| triage.risk).map_or(self.level, |risk| risk.max(self.level))
    }

    /// The same with one more finding; the level only ever rises.
    #[must_use]
    pub fn with(mut self, finding: Finding) -> Self {
        self.level = self.level.max(finding.level);
        self.findings.push(finding);
        self
    }
}
