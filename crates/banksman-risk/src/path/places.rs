//! What kinds of places a normalised path leads to.

use std::borrow::Cow;

use super::known::{
    DISKS, PIPELINE_FILES, PIPELINE_FOLDERS, SCRATCH_ENDINGS, SCRATCH_FOLDERS, STARTED, STREAMS, SYSTEM,
    WINDOWS,
};
use super::secret::is_secret;
use super::{Place, Places};
use crate::fact::Word;

/// The places of a path that [`normalise`](super::normalise) made.
pub(super) fn classify(normal: &str) -> Places {
    let lower: Cow<'_, str> = if normal.bytes().any(|b| b.is_ascii_uppercase()) {
        // File systems of two of the three common systems ignore case, so `/ETC/Shadow` may well be the real one.
        Cow::Owned(normal.to_ascii_lowercase())
    } else {
        Cow::Borrowed(normal)
    };
    let mut found = Places::default();
    let whole = without_everything(&lower);
    let original = normal.get(..whole.len()).unwrap_or_default();
    match Anchor::of(whole) {
        Anchor::Unknown => found.add(Place::Unknown),
        Anchor::Root(below) => below_root(&mut found, whole, below),
        Anchor::Home(below) => below_home(&mut found, below),
        Anchor::Drive(below) => below_drive(&mut found, below),
        Anchor::Here(below) => below_here(&mut found, below),
    }
    let name = whole.rsplit('/').next().unwrap_or_default();
    by_name(&mut found, whole, name);
    if is_scratch(original, &found) {
        found.add(Place::Scratch);
    }
    found
}

/// What a path is relative to, and what is below that.
enum Anchor<'p> {
    Unknown,
    Root(&'p str),
    Home(&'p str),
    Drive(&'p str),
    Here(&'p str),
}

impl<'p> Anchor<'p> {
    fn of(path: &'p str) -> Self {
        let below = |at: usize| path.get(at..).unwrap_or_default().trim_start_matches('/');
        match path.as_bytes() {
            [0, ..] => Self::Unknown,
            [b'/', ..] => Self::Root(below(1)),
            // The directory before or after `cd`, wherever that is.
            [b'~', b'+' | b'-', ..] => Self::Unknown,
            [b'~', ..] => Self::Home(below(path.find('/').unwrap_or(path.len()))),
            [drive, b':', ..] if drive.is_ascii_alphabetic() => Self::Drive(below(2)),
            _ => Self::Here(path),
        }
    }
}

/// A path without the parts at its end that stand for everything: `~` of `~/*`, `/` of `/*/*`.
fn without_everything(path: &str) -> &str {
    let mut rest = path;
    while let Some((before, last)) = rest.rsplit_once('/') {
        if !is_everything(last) {
            return rest;
        }
        if before.is_empty() {
            return "/";
        }
        rest = before;
    }
    if is_everything(rest) { "." } else { rest }
}

/// `*`, `.*`, `*.*`, `.[!.]*`, `{*,.*}`: all that there is.
fn is_everything(part: &str) -> bool {
    part.contains('*')
        && part
            .bytes()
            .all(|b| matches!(b, b'*' | b'.' | b'?' | b'[' | b']' | b'!' | b'^' | b'{' | b'}' | b','))
}

fn below_root(found: &mut Places, path: &str, below: &str) {
    let (top, rest) = split_first(below);
    if top.is_empty() {
        found.add(Place::Root);
        return;
    }
    if top.contains(Word::HOLE) || top.contains(['*', '?', '[']) {
        // `/$X` is `/` when X is empty; `/*bin` is whatever is there.
        found.add(if top.contains(Word::HOLE) { Place::Unknown } else { Place::System });
        if rest.is_empty() {
            found.add(Place::Root);
        }
        return;
    }
    match top {
        "tmp" => temporary(found, rest),
        "home" | "users" => {
            let (_, inside) = split_first(rest);
            found.add(if inside.is_empty() { Place::Home } else { Place::InHome });
        }
        "root" => {
            found.add(if rest.is_empty() { Place::Home } else { Place::InHome });
            // Root's own settings, not every project that somebody works on as root in a container.
            if rest.is_empty() || (rest.starts_with('.') && !rest.contains('/')) {
                found.add(Place::Secret);
            }
        }
        "dev" => device(found, rest),
        "var" => match split_first(rest) {
            ("tmp", inside) => temporary(found, inside),
            ("folders", inside) if !inside.is_empty() => found.add(Place::Scratch),
            _ => found.add(Place::System),
        },
        "library" if path.starts_with("/library/launch") => {
            found.add(Place::System);
            found.add(Place::Persistence);
        }
        _ if SYSTEM.contains(&top) => found.add(Place::System),
        _ => found.add(Place::Outside),
    }
    if is_system_persistence(path) {
        found.add(Place::Persistence);
    }
}

fn temporary(found: &mut Places, rest: &str) {
    found.add(if rest.is_empty() { Place::Temp } else { Place::Scratch });
}

fn below_home(found: &mut Places, below: &str) {
    if below.is_empty() {
        found.add(Place::Home);
        return;
    }
    found.add(Place::InHome);
    if split_first(below).0.starts_with(Word::HOLE) {
        found.add(Place::Unknown);
    }
}

fn below_drive(found: &mut Places, below: &str) {
    let (top, rest) = split_first(below);
    match top {
        "" => found.add(Place::Root),
        "users" => {
            let (_, inside) = split_first(rest);
            if inside.starts_with("appdata/local/temp/") {
                found.add(Place::Scratch);
            }
            found.add(if inside.is_empty() { Place::Home } else { Place::InHome });
        }
        _ if top.contains(['*', '?']) => found.add(Place::Root),
        _ if WINDOWS.contains(&top) => found.add(Place::System),
        _ if top.contains(Word::HOLE) => found.add(Place::Unknown),
        _ => found.add(Place::Outside),
    }
}

fn below_here(found: &mut Places, path: &str) {
    let (top, rest) = split_first(path);
    if top == "." {
        found.add(Place::Here);
        return;
    }
    if top == ".." {
        found.add(Place::Outside);
        let mut named = rest.split('/').filter(|part| !matches!(*part, "" | ".."));
        match named.next() {
            // The folder above holds this one too.
            None => found.add(Place::Here),
            Some(first) if first.contains(Word::HOLE) => found.add(Place::Unknown),
            // As many `..` as it takes: `../../../etc/passwd`.
            Some(first) if rest.starts_with("..") && SYSTEM.contains(&first) && is_unmistakable(first) => {
                found.add(Place::System);
            }
            Some(_) => {}
        }
        return;
    }
    // A hole behind some text is a name like `log-$N`; one at the start may be anything.
    found.add(Place::Project);
}

/// Whether a folder of this name is the system's even when it is reached by `..`; many projects have a `lib` or `bin`.
fn is_unmistakable(top: &str) -> bool {
    matches!(top, "etc" | "proc" | "usr" | "boot" | "sys" | "dev" | "var")
}

fn device(found: &mut Places, rest: &str) {
    let (name, inside) = split_first(rest);
    if name == "shm" && !inside.is_empty() {
        found.add(Place::Scratch);
    } else if STREAMS.contains(&name)
        || matches!(name, "fd" | "pts" | "tcp" | "udp")
        || name.starts_with("tty")
    {
        found.add(Place::Stream);
    } else if name == "std\0" {
        found.add(Place::Unknown);
    } else if DISKS.iter().any(|disk| name.starts_with(disk))
        || name.is_empty()
        || name.contains(['*', '?', '[', Word::HOLE])
    {
        found.add(Place::Device);
        found.add(Place::System);
    } else {
        found.add(Place::System);
    }
}

/// What the parts of a path say, wherever it is.
fn by_name(found: &mut Places, path: &str, name: &str) {
    if is_secret(path, name) {
        found.add(Place::Secret);
    }
    if is_banksmans(path, name) {
        found.add(Place::Banksman);
    }
    if is_pipeline(path) {
        found.add(Place::Pipeline);
    }
    let mut parts = path.split('/').peekable();
    let mut previous = "";
    while let Some(part) = parts.next() {
        match part {
            ".git" => {
                found.add(Place::VersionControl);
                if matches!(parts.peek(), Some(&"hooks" | &"config")) {
                    found.add(Place::Persistence);
                }
            }
            ".hg" | ".svn" | ".jj" | ".bzr" => found.add(Place::VersionControl),
            ".claude" | ".codex" | ".cursor" | ".gemini" | ".windsurf" | ".continue" | ".opencode"
            | ".roo" | ".cline" | ".kiro" | ".amp" | ".aider" | ".factory" | ".goose"
                // Agents keep whole working copies in there; those are projects like any other, with settings of their own.
                if !matches!(parts.peek(), Some(&"worktrees")) =>
            {
                found.add(Place::AgentSettings);
            }
            // Where an administrator keeps what no user may change.
            "managed-settings.d" => found.add(Place::AgentSettings),
            "claude-code" | "claudecode" | "codex"
                if matches!(previous, "etc" | "application support" | "programdata" | "program files") =>
            {
                found.add(Place::AgentSettings);
            }
            ".githooks" | ".husky" => found.add(Place::Persistence),
            "launchagents" | "launchdaemons" | "startupitems" if previous == "library" => {
                found.add(Place::Persistence)
            }
            "autostart" | "autostart-scripts" | "environment.d" | "fish" if previous == ".config" => {
                found.add(Place::Persistence);
            }
            "git" if previous == ".config" => found.add(Place::Persistence),
            // What is put there runs instead of the program of that name.
            "bin" if matches!(previous, ".local" | ".cargo") => found.add(Place::Persistence),
            ".cargo" if matches!(parts.peek(), Some(&"config" | &"config.toml")) => {
                found.add(Place::Persistence);
            }
            ".vscode" if matches!(parts.peek(), Some(&"tasks.json" | &"launch.json")) => {
                found.add(Place::Persistence);
            }
            "user" if previous == "systemd" => found.add(Place::Persistence),
            "startup" if previous == "programs" => found.add(Place::Persistence),
            _ => {}
        }
        previous = part;
    }
    match name {
        ".bashrc"
        | ".bash_profile"
        | ".bash_login"
        | ".bash_logout"
        | ".bash_aliases"
        | ".profile"
        | ".zshrc"
        | ".zprofile"
        | ".zshenv"
        | ".zlogin"
        | ".zlogout"
        | ".kshrc"
        | ".cshrc"
        | ".tcshrc"
        | ".login"
        | ".logout"
        | ".xinitrc"
        | ".xprofile"
        | ".xsession"
        | ".xsessionrc"
        | ".inputrc"
        | ".pam_environment"
        | ".gitconfig"
        | "authorized_keys"
        | "authorized_keys2"
        | "crontab"
        | "sitecustomize.py"
        | "usercustomize.py"
        | "microsoft.powershell_profile.ps1"
        | "profile.ps1"
        | ".forward"
        | ".procmailrc"
        | ".mcp-startup"
        | ".screenrc"
        | ".tmux.conf"
        | ".exrc"
        | ".gdbinit"
        | ".pythonrc"
        | ".irbrc" => found.add(Place::Persistence),
        "config" | "rc" | "environment"
            if path.ends_with("/.ssh/config")
                || path.ends_with("/.ssh/rc")
                || path.ends_with("/.ssh/environment") =>
        {
            found.add(Place::Persistence);
        }
        ".mcp.json"
        | "mcp.json"
        | "mcp_settings.json"
        | ".claude.json"
        | "claude_desktop_config.json"
        | "opencode.json"
        | "opencode.jsonc"
        | ".aider.conf.yml"
        | "managed-settings.json"
        | "managed-mcp.json" => found.add(Place::AgentSettings),
        "claude.md"
        | "claude.local.md"
        | "agents.md"
        | "agent.md"
        | "gemini.md"
        | ".cursorrules"
        | ".windsurfrules"
        | ".clinerules"
        | ".goosehints"
        | "copilot-instructions.md" => found.add(Place::AgentInstructions),
        _ => {}
    }
}

/// What a forge or build server runs. A backslash may be a separator to whoever writes the file.
fn is_pipeline(path: &str) -> bool {
    let mut parts = path.split(['/', '\\']).rev();
    let name = parts.next().unwrap_or_default();
    PIPELINE_FILES.iter().any(|file| name.starts_with(file))
        || PIPELINE_FOLDERS.contains(&name)
        || parts.any(|part| PIPELINE_FOLDERS.contains(&part))
}

/// Banksman's own: its data folder wherever that is, its policies, its program.
fn is_banksmans(path: &str, name: &str) -> bool {
    let own_folder = path.split('/').any(|part| matches!(part, "banksman-data" | ".banksman"));
    let policy = matches!(
        name,
        "banksman.yaml"
            | "banksman.yml"
            | "banksman.toml"
            | "banksman.db"
            | "banksman.db-wal"
            | "banksman.db-shm"
            | "banksman.service"
            | "banksman.sock"
    ) || name.ends_with(".banksman.yaml")
        || name.starts_with("banksman-policy")
        || name.starts_with("banksman.policy");
    own_folder
        || policy
        || [
            "/share/banksman",
            "/etc/banksman",
            "/var/lib/banksman",
            "/bin/banksman",
            "/bin/banksman-shell",
            "/run/banksman",
        ]
        .iter()
        .any(|known| has_folder(path, known))
        // Named from the home directory, too: what hooks were let run, and what tools were when they were first seen.
        || [".config/banksman", "state/banksman"].iter().any(|known| has_folder(path, known))
}

/// Whether a part of a path is this, and ends where a name ends. Without a slash in front, it begins where one begins.
fn has_folder(path: &str, known: &str) -> bool {
    path.match_indices(known).any(|(at, _)| {
        let begins =
            known.starts_with('/') || at == 0 || path.get(..at).is_some_and(|before| before.ends_with('/'));
        begins && matches!(path.as_bytes().get(at + known.len()), None | Some(b'/'))
    })
}

/// What a system runs by itself: at start, at a time, at a login.
fn is_system_persistence(path: &str) -> bool {
    STARTED.iter().any(|start| path.starts_with(start))
}

fn is_scratch(path: &str, found: &Places) -> bool {
    if found.has(Place::Scratch) {
        return true;
    }
    if found.has_any(&[Place::Unknown]) && path.contains("..") {
        return false;
    }
    if found.has(Place::System) {
        // Package managers' downloads and lists, which image builds delete all the time.
        return ["/var/cache/", "/var/lib/apt/lists"].iter().any(|start| path.starts_with(start));
    }
    // A folder right below the root (`/build`, `/target`) is somebody's place, not a build's.
    let inside = if path.starts_with('/') { split_first(path.get(1..).unwrap_or_default()).1 } else { path };
    let name = inside.rsplit('/').next().unwrap_or_default();
    inside.split('/').any(is_scratch_folder)
        || (found.has_any(&[Place::Project, Place::Outside])
            && SCRATCH_ENDINGS.iter().any(|ending| name.ends_with(ending)))
}

fn is_scratch_folder(part: &str) -> bool {
    SCRATCH_FOLDERS.contains(&part)
        || part.starts_with("cmake-build-")
        || part.starts_with("bazel-")
        || part.ends_with(".egg-info")
}

fn split_first(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or((path, ""))
}
