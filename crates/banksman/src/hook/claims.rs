//! What this machine's hosts were let run and have not reported yet: a small file per call.
//!
//! A host names a call twice, before and after, in two processes of ours. What it says is not trusted with a file
//! name: names are digests.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use banksman_core::{ActionId, Digest};
use serde::{Deserialize, Serialize};

use super::Host;

/// Files of calls that never ended are kept for so long.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3_600);
/// For so long after it was let run a host may ask for leave to run a call. Later it is another matter.
const LIVE: Duration = Duration::from_secs(15 * 60);
/// Larger files are none of ours.
const MAX_BYTES: u64 = 4_096;

/// A call that was let run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claimed {
    pub(crate) action: ActionId,
    /// What names what it does.
    pub(crate) deed: Digest,
}

pub(crate) struct Claims {
    folder: PathBuf,
    host: Host,
}

impl Claims {
    /// In the user's state folder; `None` if there is no such place.
    pub(crate) fn of_user(host: Host) -> Option<Self> {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
        Some(Self { folder: state.join("banksman/hooks"), host })
    }

    /// Remembers a call until it is reported.
    pub(crate) fn put(&self, session: Option<&str>, id: &str, claimed: &Claimed) -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let path = self.path(session, id);
        let draft = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(serde_json::to_string(claimed)?.as_bytes())?;
        fs::rename(&draft, &path)?;
        self.tidy(&path);
        Ok(())
    }

    /// Forgets a call, and tells what it was.
    pub(crate) fn take(&self, session: Option<&str>, id: &str) -> Option<Claimed> {
        let path = self.path(session, id);
        let claimed = read(&path)?;
        // Whoever removes it reports it: of two reports of one call, one finds nothing.
        fs::remove_file(&path).ok()?;
        let _ = fs::remove_file(asked(&path));
        Some(claimed)
    }

    /// The call of this session that does exactly this, was let run a moment ago and has not ended. Told once for each:
    /// a host that asks again asks for something else.
    ///
    /// Whoever may write files here may have written this one: whether it is so, the server knows.
    pub(crate) fn asked_about(&self, session: Option<&str>, deed: Digest) -> Option<ActionId> {
        let prefix = self.session_prefix(session);
        fs::read_dir(&self.folder).ok()?.filter_map(Result::ok).find_map(|entry| {
            let path = entry.path();
            let ours = entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.starts_with(&prefix) && name.ends_with(".json"));
            let fresh = || age(&path).is_some_and(|age| age < LIVE);
            let claimed = (ours && fresh()).then(|| read(&path))?.filter(|claimed| claimed.deed == deed)?;
            // Of two that ask at once, one makes the file.
            let first =
                || OpenOptions::new().write(true).create_new(true).mode(0o600).open(asked(&path)).is_ok();
            first().then_some(claimed.action)
        })
    }

    fn path(&self, session: Option<&str>, id: &str) -> PathBuf {
        let name = hex(Digest::of(id.as_bytes()), 48);
        self.folder.join(format!("{}{name}.json", self.session_prefix(session)))
    }

    fn session_prefix(&self, session: Option<&str>) -> String {
        let named = format!("{}\n{}", self.host.as_str(), session.unwrap_or_default());
        format!("{}-", hex(Digest::of(named.as_bytes()), 24))
    }

    /// Now and then, removes what nobody will ask for any more.
    fn tidy(&self, just_written: &Path) {
        let now_and_then =
            just_written.to_string_lossy().bytes().rev().nth(5).is_some_and(|byte| byte == b'0');
        if !now_and_then {
            return;
        }
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.filter_map(Result::ok) {
            if age(&entry.path()).is_some_and(|age| age > KEEP) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// What says that the host has asked about a call already.
fn asked(path: &Path) -> PathBuf {
    path.with_extension("asked")
}

/// How long ago a file was written; one from the future has no age.
fn age(path: &Path) -> Option<Duration> {
    fs::symlink_metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

fn read(path: &Path) -> Option<Claimed> {
    let data = fs::symlink_metadata(path).ok()?;
    if !data.is_file() || data.len() > MAX_BYTES {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn hex(digest: Digest, length: usize) -> String {
    digest.as_bytes().iter().flat_map(|byte| [byte >> 4, byte & 15]).take(length).map(digit).collect()
}

fn digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    fn claims(folder: &Path, host: Host) -> Claims {
        Claims { folder: folder.join("hooks"), host }
    }

    fn claimed() -> Claimed {
        Claimed { action: "act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB".parse().unwrap(), deed: Digest::of(b"ls") }
    }

    #[test]
    fn a_call_is_reported_once_and_only_by_its_own_session_and_host() {
        let folder = tempfile::tempdir().unwrap();
        let claude = claims(folder.path(), Host::ClaudeCode);
        claude.put(Some("s"), "t", &claimed()).unwrap();
        assert_eq!(claude.take(Some("other"), "t"), None);
        assert_eq!(claude.take(Some("s"), "other"), None);
        assert_eq!(claims(folder.path(), Host::Codex).take(Some("s"), "t"), None);
        let action = Some(claimed().action);
        assert_eq!(claude.asked_about(Some("s"), Digest::of(b"rm")), None);
        assert_eq!(claude.asked_about(Some("other"), Digest::of(b"ls")), None);
        assert_eq!(claude.asked_about(Some("s"), Digest::of(b"ls")), action);
        assert_eq!(claude.asked_about(Some("s"), Digest::of(b"ls")), None, "once for each call");
        claude.put(Some("s"), "u", &claimed()).unwrap();
        assert_eq!(claude.asked_about(Some("s"), Digest::of(b"ls")), action, "another call");
        assert_eq!(claude.take(Some("s"), "t"), Some(claimed()));
        assert_eq!(claude.take(Some("s"), "t"), None);
        assert_eq!(claude.take(Some("s"), "u"), Some(claimed()));
        assert_eq!(claude.asked_about(Some("s"), Digest::of(b"ls")), None);
        assert_eq!(fs::read_dir(folder.path().join("hooks")).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn leave_is_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let claude = claims(folder.path(), Host::ClaudeCode);
        claude.put(Some("s"), "t", &claimed()).unwrap();
        let file = File::options().write(true).open(claude.path(Some("s"), "t")).unwrap();
        file.set_modified(SystemTime::now() - LIVE).unwrap();
        assert_eq!(claude.asked_about(Some("s"), Digest::of(b"ls")), None);
        file.set_modified(SystemTime::now() + LIVE).unwrap();
        assert_eq!(claude.asked_about(Some("s"), Digest::of(b"ls")), None, "nor from the future");
        assert_eq!(claude.take(Some("s"), "t"), Some(claimed()), "its end is reported all the same");
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let claude = claims(folder.path(), Host::ClaudeCode);
        for id in ["../../etc/passwd", "/etc/passwd", "", ".", "a/b", "\0", "x\ny", &"x".repeat(100_000)] {
            claude.put(Some(id), id, &claimed()).unwrap();
            assert_eq!(claude.take(Some(id), id), Some(claimed()), "{id:?}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside the folder");
        assert_eq!(fs::read_dir(folder.path().join("hooks")).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn what_others_put_there_is_no_claim() {
        let folder = tempfile::tempdir().unwrap();
        let claude = claims(folder.path(), Host::ClaudeCode);
        claude.put(Some("s"), "t", &claimed()).unwrap();
        let path = claude.path(Some("s"), "t");
        for text in ["", "{", "{}", r#"{"action":"act_x"}"#, &"x".repeat(10_000)] {
            fs::write(&path, text).unwrap();
            assert_eq!(claude.take(Some("s"), "t"), None, "{text}");
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert_eq!(claude.take(Some("s"), "t"), None);
    }
}
