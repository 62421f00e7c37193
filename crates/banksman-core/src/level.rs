//! Risk and tier: what an action could do, and what policy demands of it.
//!
//! Both are ordered, and combining two of either takes the stricter one ([`Ord::max`]); nothing combines
//! downwards.

use serde::{Deserialize, Serialize};

/// A name that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {name:?}: expected one of {expected}")]
pub struct UnknownNameError {
    what: &'static str,
    name: String,
    expected: &'static str,
}

impl UnknownNameError {
    pub(crate) fn new(what: &'static str, name: &str, expected: &'static str) -> Self {
        Self { what, name: name.chars().take(64).collect(), expected }
    }
}

/// Gives a field-less enum its names: `ALL`, `as_str`, `Display`, `FromStr`.
macro_rules! named {
    ($name:ident, $what:literal, $expected:literal, { $($variant:ident => $text:literal),+ $(,)? }) => {
        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire, in stores and in policy files.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::level::UnknownNameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err($crate::level::UnknownNameError::new($what, text, $expected)),
                }
            }
        }
    };
}
pub(crate) use named;

/// How much harm an action could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Cannot harm.
    None,
    /// Read-only or isolated.
    Low,
    /// A change that is easily undone.
    Medium,
    /// Hard to undo, or outward-facing. Unknown tools count as this.
    High,
    /// Irreversible, or a loss of data, money or trust.
    Critical,
}

named!(Risk, "risk", "none, low, medium, high, critical", {
    None => "none", Low => "low", Medium => "medium", High => "high", Critical => "critical",
});

/// What policy demands before an action may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Runs at once.
    Auto,
    /// Runs at once, and a person is told.
    Notify,
    /// Held until an authorised person approves.
    Approve,
    /// Held until several authorised people approve.
    Escalate,
    /// Never runs; nobody can override it.
    Block,
}

named!(Tier, "tier", "auto, notify, approve, escalate, block", {
    Auto => "auto", Notify => "notify", Approve => "approve", Escalate => "escalate", Block => "block",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_wins() {
        assert_eq!(Tier::Auto.max(Tier::Block), Tier::Block);
        assert!(Tier::ALL.is_sorted() && Risk::ALL.is_sorted());
    }

    #[test]
    fn names_read_back_and_others_are_refused() {
        for tier in Tier::ALL {
            assert_eq!(tier.as_str().parse(), Ok(*tier));
        }
        for risk in Risk::ALL {
            assert_eq!(risk.as_str().parse(), Ok(*risk));
        }
        assert!("BLOCK".parse::<Tier>().is_err());
    }
}
