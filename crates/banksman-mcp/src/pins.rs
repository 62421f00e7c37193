//! The definitions of tools as they were first seen, in a file that a restart finds again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use banksman_core::Digest;
use banksman_core::json::CanonicalJson;
use serde::{Deserialize, Serialize};

use crate::catalogue::digest;

/// More than this is no set of tools.
const MOST: usize = 100_000;

/// How a definition compares with what was first seen.
pub(crate) enum Pinned {
    Same,
    New,
    Was(CanonicalJson),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pin {
    digest: Digest,
    definition: CanonicalJson,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    version: u32,
    servers: BTreeMap<String, BTreeMap<String, Pin>>,
}

/// What was first seen.
pub(crate) struct Pins {
    path: Option<PathBuf>,
    file: File,
    /// When the file was last read, to notice that an operator changed it.
    read_at: Option<std::time::SystemTime>,
}

impl Pins {
    /// The pins in a file; none if there is no file yet. Without a path they live as long as the program.
    pub(crate) fn open(path: Option<PathBuf>) -> Self {
        let mut pins = Self { path, file: File::default(), read_at: None };
        pins.follow();
        pins
    }

    /// Takes up what was changed in the file since.
    pub(crate) fn follow(&mut self) {
        let Some(path) = &self.path else { return };
        let changed = fs::metadata(path).and_then(|meta| meta.modified()).ok();
        if changed.is_none() || changed == self.read_at {
            return;
        }
        match fs::read(path).map_err(|error| error.to_string()).and_then(|bytes| read(&bytes)) {
            Ok(file) => self.file = file,
            // What is known in memory stays: forgetting it would accept whatever servers say now.
            Err(error) => tracing::error!(path = %path.display(), error, "the pinned tools cannot be read"),
        }
        self.read_at = changed;
    }

    /// Compares a definition with the one that was first seen, and remembers it if there was none.
    pub(crate) fn compare(&mut self, server: &str, tool: &str, definition: &CanonicalJson) -> Pinned {
        let known: usize = self.file.servers.values().map(BTreeMap::len).sum();
        let tools = self.file.servers.entry(server.to_owned()).or_default();
        match tools.get(tool) {
            Some(pin) if pin.digest == digest(definition) => Pinned::Same,
            Some(pin) => Pinned::Was(pin.definition.clone()),
            None => {
                if known < MOST {
                    let pin = Pin { digest: digest(definition), definition: definition.clone() };
                    tools.insert(tool.to_owned(), pin);
                }
                Pinned::New
            }
        }
    }

    /// Writes what is new to the file.
    pub(crate) fn save(&mut self) {
        let Some(path) = self.path.clone() else { return };
        if let Err(error) = write(&path, &self.file) {
            tracing::error!(path = %path.display(), %error, "the pinned tools cannot be written");
        }
        self.read_at = fs::metadata(&path).and_then(|meta| meta.modified()).ok();
    }
}

fn read(bytes: &[u8]) -> Result<File, String> {
    let file: File = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if file.version == 1 { Ok(file) } else { Err(format!("version {} is not known here", file.version)) }
}

/// Whole or not at all, and only for us.
fn write(path: &Path, file: &File) -> std::io::Result<()> {
    let draft = path.with_extension("new");
    let text = serde_json::to_vec_pretty(&File { version: 1, servers: file.servers.clone() })?;
    let mut options = fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(options.write(true).create(true).truncate(true), 0o600);
    let mut written = options.open(&draft)?;
    written.write_all(&text)?;
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
