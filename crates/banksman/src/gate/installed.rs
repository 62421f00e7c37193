//! What `banksman setup` has written down: where the hook asks, and how to undo the change to the host's settings.

use std::fs;
use std::path::{Path, PathBuf};

use banksman_core::Digest;
use serde::{Deserialize, Serialize};

use crate::cli::DEFAULT_URL;
use crate::exit::{Exit, stop};

/// One installed hook. The file is its owner's alone: it may hold an agent's token.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Installed {
    /// Of this format.
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<PathBuf>,
    pub(crate) settings: Settings,
}

/// The host's settings file, before and after.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) path: PathBuf,
    /// What was in it, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// What names what was written.
    pub(crate) after: Digest,
}

impl Installed {
    const VERSION: u32 = 1;

    pub(crate) fn new(settings: Settings) -> Self {
        Self { version: Self::VERSION, url: None, token: None, policy: None, settings }
    }

    /// Reads it; what cannot be read is an error, never a reason to go on without it.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let wrong = |problem: String| {
            let again = "run `banksman setup` again";
            stop(Exit::Usage, format!("cannot use {}: {problem}; {again}", path.display()))
        };
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let installed: Self = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if installed.version != Self::VERSION {
            return Err(wrong(format!("it is of version {}, and this reads version 1", installed.version)));
        }
        Ok(installed)
    }

    /// The server to ask, if one was named.
    pub(crate) fn server(&self) -> anyhow::Result<Option<(&str, &str)>> {
        match (self.url.as_deref(), self.token.as_deref()) {
            (None, None) => Ok(None),
            (url, Some(token)) => Ok(Some((url.unwrap_or(DEFAULT_URL), token))),
            (Some(_), None) => Err(stop(
                Exit::NotAllowed,
                "the hook knows a server, but no token to show it: run `banksman setup` again with an agent's in BANKSMAN_TOKEN",
            )),
        }
    }
}
