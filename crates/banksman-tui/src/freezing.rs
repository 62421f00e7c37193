//! The dialog of the kill switch.

use banksman_core::FreezeId;
use banksman_core::wire::{FreezeBody, FreezeView};

use crate::input::Input;
use crate::paint::foreign;

/// What to freeze.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    Agent(String),
    Tool(String),
}

impl Scope {
    /// In words, made visible.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Everything => "EVERYTHING".into(),
            Self::Agent(name) => format!("the agent {}", foreign(name)),
            Self::Tool(name) => format!("the tool {}", foreign(name)),
        }
    }

    pub(crate) fn body(&self, reason: Option<String>) -> FreezeBody {
        let body = FreezeBody { reason, ..FreezeBody::default() };
        match self.clone() {
            Self::Everything => FreezeBody { everything: true, ..body },
            Self::Agent(name) => FreezeBody { agent: Some(name), ..body },
            Self::Tool(name) => FreezeBody { tool: Some(name), ..body },
        }
    }
}

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// What is frozen, and what could be.
    List,
    /// Why to freeze this.
    Why(Scope, Input),
    /// Sure?
    Freeze(Scope, Option<String>),
    /// Sure?
    Lift(FreezeId),
    Sending,
}

#[derive(Debug)]
pub(crate) struct Freezing {
    pub(crate) stage: Stage,
    pub(crate) cursor: usize,
    /// Of the action under the cursor, if there is one.
    pub(crate) agent: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) problem: Option<String>,
}

/// What a freeze covers, made visible.
pub(crate) fn covers(freeze: &FreezeView) -> String {
    match &freeze.name {
        Some(name) => format!("{} {}", freeze.scope, foreign(name)),
        None => freeze.scope.clone(),
    }
}
