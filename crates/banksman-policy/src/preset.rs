//! Ready-made stances: RLM Code's six approval policies and Tinman's four approval modes.

use banksman_core::{Risk, Tier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A ready-made stance. None of them lets a block through, and none is milder than having none, except that
/// `auto_approve` answers in a person's place what would have been held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Whatever would be held is approved at once, on the record.
    AutoApprove,
    /// Whatever would be held is refused at once (RLM Code's name).
    AutoDeny,
    /// Whatever would be held is refused at once (Tinman's name; also the lockdown).
    AutoReject,
    /// A person sees everything.
    ConfirmAll,
    /// A person sees what is high or critical.
    ConfirmHighRisk,
    /// A person sees what is medium or more.
    ConfirmMediumAndUp,
    /// The rules of the file, and nothing else.
    Custom,
    /// A person answers while the agent waits. Banksman holds either way; this is the default by another name.
    Interactive,
    /// A person answers later. Banksman holds either way; this is the default by another name.
    Async,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 9] = [
        Self::AutoApprove,
        Self::AutoDeny,
        Self::AutoReject,
        Self::ConfirmAll,
        Self::ConfirmHighRisk,
        Self::ConfirmMediumAndUp,
        Self::Custom,
        Self::Interactive,
        Self::Async,
    ];

    /// The name in policy files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AutoApprove => "auto_approve",
            Self::AutoDeny => "auto_deny",
            Self::AutoReject => "auto_reject",
            Self::ConfirmAll => "confirm_all",
            Self::ConfirmHighRisk => "confirm_high_risk",
            Self::ConfirmMediumAndUp => "confirm_medium_and_up",
            Self::Custom => "custom",
            Self::Interactive => "interactive",
            Self::Async => "async",
        }
    }

    /// What it demands at least of a risk.
    #[must_use]
    pub fn floor(self, risk: Risk) -> Tier {
        let seen_from = match self {
            Self::ConfirmAll => Risk::None,
            Self::ConfirmMediumAndUp => Risk::Medium,
            // A finding of high risk is never waved through for want of a rule.
            Self::AutoApprove
            | Self::AutoDeny
            | Self::AutoReject
            | Self::ConfirmHighRisk
            | Self::Custom
            | Self::Interactive
            | Self::Async => Risk::High,
        };
        if risk >= seen_from { Tier::Approve } else { Tier::Auto }
    }

    /// Whether it refuses what would be held.
    #[must_use]
    pub const fn refuses(self) -> bool {
        matches!(self, Self::AutoDeny | Self::AutoReject)
    }

    /// Whether it approves what would be held.
    #[must_use]
    pub const fn approves(self) -> bool {
        matches!(self, Self::AutoApprove)
    }
}
