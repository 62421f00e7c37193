//! What reading an action found out about its risk.

use serde::{Deserialize, Serialize};

use crate::Risk;

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
}

impl Assessment {
    /// An assessment whose level is that of its worst finding.
    #[must_use]
    pub fn of(findings: Vec<Finding>) -> Self {
        let level = findings.iter().map(|finding| finding.level).max().unwrap_or(Risk::None);
        Self { level, findings }
    }
}
