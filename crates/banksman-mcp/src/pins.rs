//! The definitions of tools as they were first seen, in a file that a restart finds again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

use banksman_core::Digest;
use banksman_core::json::{CanonicalJson, Json};
use serde::{Deserialize, Serialize};

use crate::catalogue::digest;

/// So many tools of one server are remembered, and so many bytes of what it says of them.
const MOST: usize = 10_000;
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Of a longer definition only its digest is remembered: whether it changes, and not how.
const LONGEST: usize = 64 * 1024;

/// How a definition compares with what was first seen.
pub(crate) enum Pinned {
    /// It is what was first seen, or is seen first now.
    Kept,
    /// The server has said something else since.
    Changed {
        change: Change,
        /// What it says now is what was first seen.
        taken_back: bool,
    },
    /// The server has so many tools that this one cannot be remembered.
    Unpinned,
}

/// What a tool was first, and what its server said last that was something else.
pub(crate) struct Change {
    pub(crate) first: CanonicalJson,
    pub(crate) since: CanonicalJson,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pin {
    digest: Digest,
    definition: CanonicalJson,
    /// What the server said last that was something else. It stays when the server says the first again: it may say one
    /// thing to us and another to its clients, so that only an operator can know that it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed: Option<CanonicalJson>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    version: u32,
    servers: BTreeMap<String, BTreeMap<String, Pin>>,
}

/// The pins cannot be had.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} cannot be read: {problem}. It says what the tools of MCP servers were when they were first seen, and without it \
     whatever they say now would be accepted. Let the user that Banksman runs as read it, or put back a copy; only if \
     there is none, remove it",
    path.display()
)]
pub(crate) struct PinsError {
    path: PathBuf,
    problem: String,
}

/// What was first seen.
pub(crate) struct Pins {
    path: Option<PathBuf>,
    file: File,
    /// The file as it was last read, to notice that an operator changed it.
    read: Option<Stamp>,
    /// It is there, and cannot be read: what it holds must not be lost by writing.
    unreadable: bool,
    /// What the file does not have yet, by server and tool.
    unsaved: BTreeSet<(String, String)>,
    /// How much is remembered of each server, in bytes.
    bytes: BTreeMap<String, usize>,
}

/// Which file it is, and when anything of it was changed, its owner and mode among it.
type Stamp = (u64, i64, i64);

impl Pins {
    /// The pins in a file; none if there is no file yet. Without a path they live as long as the program.
    ///
    /// # Errors
    /// If there is a file that cannot be read.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, PinsError> {
        let mut pins = Self {
            path,
            file: File::default(),
            read: None,
            unreadable: false,
            unsaved: BTreeSet::new(),
            bytes: BTreeMap::new(),
        };
        pins.take_up()?;
        Ok(pins)
    }

    /// Takes up what was changed in the file since. If it cannot be read, what is known stays: forgetting it would accept
    /// whatever servers say now.
    pub(crate) fn follow(&mut self) {
        let taken_up = self.take_up();
        if let (Err(error), false) = (&taken_up, self.unreadable) {
            tracing::error!(%error, "the pinned tools stay as they are, and nothing is saved");
        }
        self.unreadable = taken_up.is_err();
    }

    fn take_up(&mut self) -> Result<(), PinsError> {
        let Some(path) = &self.path else { return Ok(()) };
        let failed = |problem: String| PinsError { path: path.clone(), problem };
        let stamp = match fs::metadata(path) {
            Ok(meta) => Some((meta.ino(), meta.ctime(), meta.ctime_nsec())),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error.to_string())),
        };
        if stamp.is_none() || stamp == self.read {
            return Ok(());
        }
        // Until it is read, it is looked at each time.
        self.read = None;
        let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
        let file = read(&bytes).map_err(failed)?;
        let before = std::mem::replace(&mut self.file, file);
        self.read = stamp;
        self.keep_unsaved(before);
        let weigh =
            |tools: &BTreeMap<String, Pin>| tools.iter().map(|(tool, pin)| tool.len() + pin.bytes()).sum();
        self.bytes = self.file.servers.iter().map(|(server, tools)| (server.clone(), weigh(tools))).collect();
        Ok(())
    }

    /// What was found out while nothing could be saved holds on, too.
    fn keep_unsaved(&mut self, mut before: File) {
        for (server, tool) in &self.unsaved {
            let Some(pin) = before.servers.get_mut(server).and_then(|tools| tools.remove(tool)) else {
                continue;
            };
            let tools = self.file.servers.entry(server.clone()).or_default();
            match tools.get_mut(tool) {
                Some(saved) => saved.changed = saved.changed.take().or(pin.changed),
                None => drop(tools.insert(tool.clone(), pin)),
            }
        }
    }

    /// Compares a definition with the one that was first seen, and remembers it if there was none.
    pub(crate) fn compare(&mut self, server: &str, tool: &str, definition: &CanonicalJson) -> Pinned {
        let bytes = self.bytes.entry(server.to_owned()).or_default();
        let tools = self.file.servers.entry(server.to_owned()).or_default();
        let count = tools.len();
        let digest = digest(definition);
        let fits = |before: usize, text: &CanonicalJson| before + text.as_str().len() <= MOST_BYTES;
        let kept =
            if definition.as_str().len() > LONGEST { by_digest(definition) } else { definition.clone() };
        let Some(pin) = tools.get_mut(tool) else {
            if count >= MOST || !fits(*bytes + tool.len(), &kept) {
                return Pinned::Unpinned;
            }
            let pin = Pin { digest, definition: kept, changed: None };
            *bytes += tool.len() + pin.bytes();
            tools.insert(tool.to_owned(), pin);
            self.unsaved.insert((server.to_owned(), tool.to_owned()));
            return Pinned::Kept;
        };
        if pin.digest != digest {
            let others = bytes.saturating_sub(pin.changed_bytes());
            // That it has changed is remembered in any case.
            let kept = if fits(others, &kept) { kept } else { by_digest(definition) };
            if pin.changed.as_ref() != Some(&kept) {
                pin.changed = Some(kept);
                *bytes = others + pin.changed_bytes();
                self.unsaved.insert((server.to_owned(), tool.to_owned()));
            }
        }
        let taken_back = pin.digest == digest;
        pin.change().map_or(Pinned::Kept, |change| Pinned::Changed { change, taken_back })
    }

    /// What was something else than first seen, by server and tool.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&str, &str, Change)> {
        self.file.servers.iter().flat_map(|(server, tools)| {
            tools.iter().filter_map(move |(tool, pin)| Some((server.as_str(), tool.as_str(), pin.change()?)))
        })
    }

    /// Writes what is new to the file.
    pub(crate) fn save(&mut self) {
        let Some(path) = self.path.clone().filter(|_| !self.unreadable && !self.unsaved.is_empty()) else {
            return;
        };
        match write(&path, &self.file) {
            Ok(()) => self.unsaved.clear(),
            Err(error) => {
                tracing::error!(path = %path.display(), %error, "the pinned tools cannot be written")
            }
        }
    }
}

/// Stands for a definition that is too long to be kept.
fn by_digest(definition: &CanonicalJson) -> CanonicalJson {
    let (bytes, digest) = (definition.as_str().len(), digest(definition));
    let text = format!(r#"{{"its definition is too long to be kept":"{bytes} bytes, {digest}"}}"#);
    CanonicalJson::parse(text.as_bytes()).unwrap_or_else(|_| CanonicalJson::of(&Json::Null))
}

impl Pin {
    fn bytes(&self) -> usize {
        self.definition.as_str().len() + self.changed_bytes()
    }

    fn changed_bytes(&self) -> usize {
        self.changed.as_ref().map_or(0, |changed| changed.as_str().len())
    }

    fn change(&self) -> Option<Change> {
        let since = self.changed.clone()?;
        Some(Change { first: self.definition.clone(), since })
    }
}

fn read(bytes: &[u8]) -> Result<File, String> {
    let file: File = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if file.version == 1 { Ok(file) } else { Err(format!("version {} is not known here", file.version)) }
}

/// Whole or not at all, and for whom the file was before: an operator is often root, and the server is not.
fn write(path: &Path, file: &File) -> std::io::Result<()> {
    // Root writes in a folder of another here: nothing that lies there already is written to, or followed.
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    if let Err(error) = fs::remove_file(&draft)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    let text = serde_json::to_vec_pretty(&File { version: 1, servers: file.servers.clone() })?;
    let mut written = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    written.write_all(&text)?;
    if let Ok(before) = fs::metadata(path) {
        // Only root may give a file away. If it is not kept, its reader says so and forgets nothing.
        let _ = fchown(&written, Some(before.uid()), Some(before.gid()));
        written.set_permissions(before.permissions())?;
    }
    written.sync_all()?;
    fs::rename(&draft, path)
}

/// Accepts what servers say now: forgets what was first seen of a server's tools, or of one of them.
///
/// # Errors
/// If the file cannot be read or written.
pub fn accept(path: &Path, server: &str, tool: Option<&str>) -> Result<usize, String> {
    let mut file = read(&fs::read(path).map_err(|error| error.to_string())?)?;
    let Some(tools) = file.servers.get_mut(server) else { return Ok(0) };
    let before = tools.len();
    match tool {
        Some(tool) => drop(tools.remove(tool)),
        None => tools.clear(),
    }
    let forgotten = before - tools.len();
    write(path, &file).map_err(|error| error.to_string())?;
    Ok(forgotten)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const PINNED: &str = r#"{"version":1,"servers":{"mail":{}}}"#;

    #[test]
    fn a_file_that_cannot_be_read_is_no_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins.json");
        assert!(Pins::open(Some(path.clone())).is_ok(), "there is none yet");
        for text in ["", "{", r#"{"version":2,"servers":{}}"#] {
            fs::write(&path, text).unwrap();
            let error = Pins::open(Some(path.clone())).err().unwrap().to_string();
            assert!(error.contains("pins.json cannot be read"), "{error}");
            assert!(error.contains("Let the user that Banksman runs as read it"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        // A folder in its place stands for what may not be read: whoever runs this may read all files, if it is root.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(Pins::open(Some(path)).is_err());
    }

    #[test]
    fn what_is_remembered_of_a_server_has_a_bound_and_a_change_is_remembered_all_the_same() {
        let text = |letter: char, length: usize| {
            CanonicalJson::of(&Json::String(std::iter::repeat_n(letter, length).collect()))
        };
        let mut pins = Pins::open(None).unwrap();
        let kept = |pins: &Pins| pins.bytes["mail"];
        // Of one that is too long, the digest is enough to see that it changes.
        assert!(matches!(pins.compare("mail", "long", &text('a', LONGEST)), Pinned::Kept));
        assert!(matches!(pins.compare("mail", "long", &text('a', LONGEST)), Pinned::Kept));
        assert!(kept(&pins) < 300, "{}", kept(&pins));
        let changed = pins.compare("mail", "long", &text('b', LONGEST));
        assert!(matches!(changed, Pinned::Changed { taken_back: false, .. }));
        let again = pins.compare("mail", "long", &text('a', LONGEST));
        assert!(matches!(again, Pinned::Changed { taken_back: true, .. }));
        let mut pinned = Vec::new();
        while matches!(pins.compare("mail", &pinned.len().to_string(), &text('x', 60_000)), Pinned::Kept) {
            pinned.push(pinned.len().to_string());
        }
        assert!((200..MOST_BYTES / 60_000 + 1).contains(&pinned.len()), "{}", pinned.len());
        for tool in &pinned {
            let changed = pins.compare("mail", tool, &text('y', 60_000));
            assert!(matches!(changed, Pinned::Changed { taken_back: false, .. }));
        }
        assert!(kept(&pins) <= MOST_BYTES + 200 * pinned.len(), "{}", kept(&pins));
        let whole: usize = pins.file.servers["mail"].iter().map(|(tool, pin)| tool.len() + pin.bytes()).sum();
        assert_eq!(kept(&pins), whole);
    }

    #[test]
    fn accepting_keeps_whose_the_file_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins.json");
        fs::write(&path, PINNED).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        // Only root may give files away, and so try this.
        let given = std::os::unix::fs::chown(&path, Some(4321), Some(4322)).is_ok();
        // What lies in the way is not written through.
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "untouched").unwrap();
        let draft = path.with_extension(format!("{}.new", std::process::id()));
        std::os::unix::fs::symlink(&elsewhere, draft).unwrap();
        assert_eq!(accept(&path, "mail", None).unwrap(), 0);
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o640);
        if given {
            assert_eq!((meta.uid(), meta.gid()), (4321, 4322));
        }
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched");
    }
}
