//! Reads a policy's text, and knows where its keys belong.

use banksman_config::{ConfigError, Source};

use crate::file::PolicyFile;

/// Keys of `match` that people write beside it.
const MATCHED: &[&str] = &[
    "tool",
    "agent",
    "session",
    "kind",
    "finding",
    "action_type",
    "severity",
    "mode",
    "server",
    "annotations",
    "window",
    "time",
    "args",
];

/// Reads one file of a policy.
///
/// # Errors
/// If it is not YAML, or not a policy.
pub(crate) fn read(source: &Source) -> Result<PolicyFile, ConfigError> {
    source.read_with_hint(|written, keys| {
        let misplaced = keys.contains(&"match") && MATCHED.contains(&written);
        misplaced.then(|| format!("it belongs under `match`, as in `match: {{{written}: ...}}`; "))
    })
}
