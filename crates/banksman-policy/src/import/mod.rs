//! Policies of other systems, read into this language: harombe's rules and risk policies, Tinman's approval settings,
//! automaton's table of time limits.
//!
//! Where a document leaves something open, or disagrees with itself, the strictest reading holds. What has no equal
//! here is told, and never dropped in a way that lets more through.

mod automaton;
mod draft;
mod harombe;
mod tinman;

use banksman_config::{ConfigError, Source};
use serde_json::Value;

use crate::compile::Policy;
use draft::Draft;

/// A policy that was made from another system's document.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The system whose document it was.
    pub system: &'static str,
    /// The policy, with comments on how it was read.
    pub policy: String,
    /// What has no equal here, or was read in one of several ways.
    pub warnings: Vec<String>,
}

impl Imported {
    /// Reads a document of another system.
    ///
    /// # Errors
    /// If it is none that is known, or what comes of it is no valid policy.
    pub fn from(source: &Source) -> Result<Self, ConfigError> {
        let unknown = |problem: &str| source.error(serde_saphyr::Location::UNKNOWN, problem);
        let (system, draft): (_, Draft) = if let Some(rows) = automaton::table(source.text()) {
            ("automaton", automaton::read(&rows))
        } else {
            let document: Value = source.read_as()?;
            if let Some(hitl) = document.pointer("/security/hitl") {
                ("harombe", harombe::read(hitl))
            } else if let Some(approval) = document.get("approval") {
                ("Tinman", tinman::read(approval))
            } else {
                return Err(unknown(
                    "is no document that can be imported: expected `security: {hitl: ...}` (harombe), \
                     `approval: ...` (Tinman), or a table of default TTLs (automaton)",
                ));
            }
        };
        let (policy, warnings) = draft.finish(system, source.name());
        // What could not be loaded would be of no use to anyone.
        Policy::parse("the imported policy", &policy)?;
        Ok(Self { system, policy, warnings })
    }
}
