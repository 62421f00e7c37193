//! The operating mode (Tinman's): how far the whole installation trusts its agents.

use serde::{Deserialize, Serialize};

use crate::level::named;

/// The operating mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Experiments: nothing real is touched.
    Lab,
    /// Beside the real thing, watching.
    Shadow,
    /// The real thing. A new installation starts here: strict until someone says otherwise.
    Production,
}

named!(Mode, "mode", "lab, shadow, production", {
    Lab => "lab", Shadow => "shadow", Production => "production",
});

/// A change of mode that skips a step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the mode cannot change from {from} to {to}: go through shadow")]
pub struct IllegalModeChangeError {
    from: Mode,
    to: Mode,
}

impl Mode {
    /// Allows lab <-> shadow <-> production, and staying; never lab <-> production in one step.
    pub fn change_to(self, to: Mode) -> Result<Mode, IllegalModeChangeError> {
        match (self, to) {
            (Self::Lab, Self::Production) | (Self::Production, Self::Lab) => {
                Err(IllegalModeChangeError { from: self, to })
            }
            (Self::Lab | Self::Shadow, Self::Lab | Self::Shadow)
            | (Self::Shadow | Self::Production, Self::Production)
            | (Self::Production, Self::Shadow) => Ok(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_from_lab_to_production_in_one_step() {
        assert!(Mode::Lab.change_to(Mode::Production).is_err());
        assert!(Mode::Production.change_to(Mode::Lab).is_err());
        for (from, to) in [
            (Mode::Lab, Mode::Shadow),
            (Mode::Shadow, Mode::Production),
            (Mode::Production, Mode::Shadow),
            (Mode::Shadow, Mode::Lab),
            (Mode::Lab, Mode::Lab),
        ] {
            assert_eq!(from.change_to(to), Ok(to));
        }
    }
}
