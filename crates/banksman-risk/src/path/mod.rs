//! Reads paths: what they normalise to, and what kind of place that is.

mod known;
mod normal;
mod places;
mod project;
mod secret;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::fact::{Access, Fact, PathUse, Word};
use crate::inspection::Inspection;
use crate::origin::Origin;

pub(crate) use normal::normalise;
pub(crate) use project::{project_folder, within_project};

/// A kind of place that a path can lead to. A path can be in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The root of the file system, or everything right below it (`/`, `/*`, `C:\`).
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
    /// What runs by itself later: shell rc files, cron, systemd units, `authorized_keys`, git hooks, `~/.local/bin`.
    Persistence,
    /// What a forge or build server runs by itself: `.github/`, `.gitlab-ci.yml`, `Jenkinsfile`.
    Pipeline,
    /// Banksman's own files.
    Banksman,
    /// The settings of coding agents and their hooks: `.claude/`, `.codex/`, `.mcp.json`.
    AgentSettings,
    /// What coding agents are told at the outset: `CLAUDE.md`, `AGENTS.md`, `.cursorrules`.
    AgentInstructions,
    /// A repository's own store: `.git`.
    VersionControl,
    /// The working directory itself, or everything right below it (`.`, `*`, `./*`).
    Here,
    /// Below the working directory.
    Project,
    /// Made to be thrown away: below `/tmp`, `node_modules`, `target`, `dist`, `__pycache__`, `.cache`.
    Scratch,
    /// The folder for temporary files itself, which others use as well: `/tmp`, `/tmp/*`.
    Temp,
    /// Out of the working directory: reached by `..`, or an absolute path of which nothing else is known.
    Outside,
    /// A system place, reached by `..` from a place that is none: `/tmp/../etc/passwd`.
    Detour,
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
    pub(crate) fn of(path: &str, base: Option<&str>) -> Self {
        let normal = normalise(path, base);
        let mut found = places::classify(&normal);
        if found.has(Place::System) && normal::is_detour(path, &normal) {
            found.add(Place::Detour);
        }
        found
    }

    pub(crate) fn has(self, place: Place) -> bool {
        self.0 & (1 << place as u32) != 0
    }

    pub(crate) fn has_any(&self, places: &[Place]) -> bool {
        places.iter().any(|place| self.has(*place))
    }

    fn add(&mut self, place: Place) {
        self.0 |= 1 << place as u32;
    }
}

/// States what an action of kind `file` would do, given as `ACCESS PATH` or just a path.
///
/// What is done with a bare path is not said, so it is judged as if it were read and as if it were written.
pub(crate) fn inspect_text(inspection: &mut Inspection<'_>, text: &str) {
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    let (accesses, path): (&[Access], &str) = match trimmed.split_once(char::is_whitespace) {
        Some((verb, rest)) => match access_named(verb) {
            Some(access) => (access, rest.trim_start()),
            None => (UNSAID, trimmed),
        },
        None => (UNSAID, trimmed),
    };
    let at = start + (trimmed.len() - path.len());
    let span = Origin::whole(text).span(at..at + path.len());
    if path.is_empty() {
        inspection.signal("unreadable", Origin::whole(text).span(0..text.len()));
        return;
    }
    for access in accesses {
        state(inspection, *access, Word::known(path, span));
    }
}

/// States that a path is used.
pub(crate) fn state(inspection: &mut Inspection<'_>, access: Access, path: Word<'_>) {
    let span = path.span;
    inspection.touch("file", &normalise(&path.text, None).replace(Word::HOLE, "?"));
    inspection.state(&Fact::Path(PathUse { access, path, base: None }), span);
}

/// What is done with a path if nobody says.
pub(crate) const UNSAID: &[Access] = &[Access::Read, Access::Truncate];

/// What a verb does with a path.
pub(crate) fn access_named(verb: &str) -> Option<&'static [Access]> {
    Some(match verb.to_ascii_lowercase().as_str() {
        "read" | "get" | "open" | "view" | "cat" | "load" | "show" | "fetch" => &[Access::Read],
        "append" | "create" | "add" | "mkdir" | "touch" => &[Access::Write],
        "write" | "put" | "edit" | "update" | "save" | "overwrite" | "truncate" | "replace" | "modify"
        | "patch" => &[Access::Truncate],
        "delete" | "remove" | "unlink" | "rm" | "erase" => &[Access::Delete],
        "rmdir" | "delete_tree" | "rmtree" | "purge" | "wipe" => &[Access::DeleteTree],
        "chmod" | "chown" | "permissions" => &[Access::Permissions],
        "execute" | "run" => &[Access::Execute],
        "move" | "rename" => &[Access::Read, Access::Delete],
        "copy" => &[Access::Read],
        _ => return None,
    })
}
