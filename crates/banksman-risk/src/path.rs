//! Reads paths: what they normalise to, and what kind of place that is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::inspection::Inspection;

/// A kind of place that a path can lead to. A path can be in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The root of the file system, or everything right below it (`/`, `/*`).
    Root,
    /// A home directory itself, or everything right below it (`~`, `$HOME/*`, `/home/x`).
    Home,
    /// Inside a home directory.
    InHome,
    /// The system's own: `/etc`, `/usr`, `/boot`, `/var/lib`, `C:\Windows`.
    System,
    /// A device that holds data: `/dev/sda`, not `/dev/null`.
    Device,
    /// Keys, passwords, tokens: `~/.ssh/id_rsa`, `.env`, `/etc/shadow`, `~/.aws/credentials`.
    Secret,
    /// What runs by itself later: shell rc files, cron, systemd units, `authorized_keys`, git hooks.
    Persistence,
    /// Banksman's own files.
    Banksman,
    /// The settings of coding agents and their hooks: `.claude/`, `.codex/`, `.mcp.json`.
    AgentSettings,
    /// A repository's own store: `.git`.
    VersionControl,
    /// The working directory itself, or everything right below it (`.`, `*`, `./*`).
    Here,
    /// Below the working directory.
    Project,
    /// Made to be thrown away: below `/tmp`, `node_modules`, `target`, `dist`, `__pycache__`, `.cache`.
    Scratch,
    /// Reached by `..`, out of the working directory.
    Outside,
    /// A sink or source without content: `/dev/null`, `/dev/stdout`.
    Stream,
    /// Not known before it runs.
    Unknown,
}

/// Every kind of place that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Places(u32);

impl Places {
    /// The places of a path, relative to a working directory if that is known.
    pub(crate) fn of(_path: &str, _base: Option<&str>) -> Self {
        Self(0)
    }

    pub(crate) fn has(self, place: Place) -> bool {
        self.0 & (1 << place as u32) != 0
    }

    pub(crate) fn has_any(&self, places: &[Place]) -> bool {
        places.iter().any(|place| self.has(*place))
    }
}

/// A path without `.`, `..` and doubled slashes, as far as that can be done without looking at the disk.
pub(crate) fn normalise<'p>(path: &'p str, _base: Option<&str>) -> Cow<'p, str> {
    Cow::Borrowed(path)
}

/// States what an action of kind `file` would do, given as `METHOD PATH` or just a path.
pub(crate) fn inspect_text(_inspection: &mut Inspection<'_>, _text: &str) {}
