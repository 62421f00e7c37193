//! The data folder: the database, the signing key, the policy, and the lock of the one server that uses it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use banksman_config::{ConfigError, Place, Source};
use banksman_engine::{Clock, Engine, EngineConfig, Signer, SystemClock};
use banksman_policy::{DEFAULT_POLICY, Policy};
use banksman_store::postgres::Lineage;
use banksman_store::sqlite::SqliteStore;
use banksman_store::{Store, StoreError};

use crate::exit::{Exit, stop, stop_telling};

pub(crate) struct Folder {
    path: PathBuf,
}

/// Held by the server that runs on a folder; gone with its process, however that ends.
pub(crate) struct Lock {
    _file: File,
}

impl Folder {
    /// The folder, made if there is none. Nobody else may look inside.
    pub(crate) fn open_or_create(path: &Path) -> anyhow::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(|| {
            format!("cannot make the data folder {}: name another with --data DIR", path.display())
        })?;
        Ok(Self { path: path.to_owned() })
    }

    /// A folder that a server has already made.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let folder = Self::at(path);
        folder.must_not_have_moved()?;
        let found = folder.database().try_exists().map_err(|error| closed(path, &error))?;
        if !found {
            return Err(stop(
                Exit::NotFound,
                format!(
                    "there is no Banksman data in {}: start `banksman serve` there first, or name its folder with --data",
                    path.display()
                ),
            ));
        }
        Ok(folder)
    }

    /// The folder at a place, whatever is there: for those whose data is elsewhere.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("banksman.db")
    }

    /// What the database is called once its content lives elsewhere.
    pub(crate) fn retired_database(&self) -> PathBuf {
        self.path.join("banksman.db.moved")
    }

    /// Puts the database away, so that no server works on the old copy of what others work on now.
    pub(crate) fn retire_database(&self) -> anyhow::Result<()> {
        for beside in banksman_store::sqlite::beside(&self.database()) {
            // What is in there is in the database too, and not read again.
            let _ = fs::remove_file(beside);
        }
        fs::rename(self.database(), self.retired_database())
            .and_then(|()| File::open(&self.path)?.sync_all())
            .with_context(|| {
                format!(
                    "everything was copied, but {} cannot be renamed: do it yourself",
                    self.database().display()
                )
            })
    }

    /// Writes the database as it is at this moment to a new file that only its owner can read.
    pub(crate) fn back_up(&self, file: &Path) -> anyhow::Result<()> {
        let made = private()
            .create_new(true)
            .open(file)
            .with_context(|| format!("cannot make {}", file.display()))?;
        banksman_store::sqlite::back_up(&self.database(), file)
            .and_then(|()| made.sync_all().map_err(|error| StoreError::Failed(error.to_string())))
            .inspect_err(|_| {
                // Half a backup is worse than none.
                let _ = fs::remove_file(file);
            })
            .with_context(|| format!("cannot write {}", file.display()))
    }

    fn must_not_have_moved(&self) -> anyhow::Result<()> {
        if self.retired_database().exists() && !self.database().exists() {
            return Err(stop(
                Exit::Usage,
                format!(
                    "what was in {} was moved to PostgreSQL: say where with --database or BANKSMAN_DATABASE",
                    self.path.display()
                ),
            ));
        }
        Ok(())
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.path.join("signing.key")
    }

    pub(crate) fn policy(&self) -> PathBuf {
        self.path.join("policy.yaml")
    }

    /// Which MCP servers stand behind this one.
    pub(crate) fn mcp(&self) -> PathBuf {
        self.path.join("mcp.yaml")
    }

    /// Which channels there are, and who is reached where.
    pub(crate) fn channels(&self) -> PathBuf {
        self.path.join("channels.yaml")
    }

    /// Which identity provider vouches for people.
    pub(crate) fn identity(&self) -> PathBuf {
        self.path.join("identity.yaml")
    }

    /// What those servers' tools were when they were first seen.
    pub(crate) fn tool_pins(&self) -> PathBuf {
        self.path.join("mcp-tools.json")
    }

    /// What a server that ran on a shared database knew of it, if it ended before it had heeded that.
    fn noted_lineage(&self) -> PathBuf {
        self.path.join("database-lineage.json")
    }

    /// What is known of the shared database from before.
    pub(crate) fn lineage(&self) -> anyhow::Result<Lineage> {
        let path = self.noted_lineage();
        match fs::read_to_string(&path) {
            Ok(note) => Lineage::of_note(&note).with_context(|| {
                format!(
                    "cannot read {}: see \"High availability\" in docs/operations.md, then remove it",
                    path.display()
                )
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Lineage::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Notes it for whoever comes next.
    pub(crate) fn note_lineage(&self, lineage: &Lineage) -> anyhow::Result<()> {
        write_new(&self.noted_lineage(), lineage.noted().as_bytes())
    }

    /// Once it was heeded.
    pub(crate) fn forget_lineage(&self) -> anyhow::Result<()> {
        match fs::remove_file(self.noted_lineage()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context("cannot remove what was noted of the database")
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Where people reach the server that runs on this folder, or ran on it last.
    fn address(&self) -> PathBuf {
        self.path.join("serve.url")
    }

    /// Notes where people reach the server, for commands that hand out links to it.
    pub(crate) fn note_address(&self, url: &str) -> anyhow::Result<()> {
        write_new(&self.address(), url.as_bytes())
    }

    /// What was noted, if anything was.
    pub(crate) fn noted_address(&self) -> Option<String> {
        fs::read_to_string(self.address()).ok().filter(|url| !url.is_empty())
    }

    /// Makes sure that no second server writes here.
    pub(crate) fn lock(&self) -> anyhow::Result<Lock> {
        let path = self.path.join("serve.lock");
        let file = private()
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                bail!("another `banksman serve` is already running on {}", self.path.display())
            }
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }

    /// The key that authorisations are signed with, made if there is none.
    pub(crate) fn signer(&self) -> anyhow::Result<Signer> {
        let path = self.key();
        match fs::read(&path) {
            Ok(bytes) => {
                let secret: [u8; 32] = bytes
                    .try_into()
                    .map_err(|_| anyhow::anyhow!(
                        "{} is not a signing key of 32 bytes: put back the file from a backup (with another key, what was signed \
                         before can no longer be verified)",
                        path.display()
                    ))?;
                Ok(Signer::new(&secret))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut secret = [0u8; 32];
                getrandom::fill(&mut secret).map_err(|error| anyhow::anyhow!("no entropy: {error}"))?;
                write_new(&path, &secret)?;
                Ok(Signer::new(&secret))
            }
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes the default policy if there is none.
    pub(crate) fn ensure_policy(&self) -> anyhow::Result<PathBuf> {
        let path = self.policy();
        if !path.exists() {
            write_new(&path, DEFAULT_POLICY.as_bytes())?;
        }
        Ok(path)
    }

    /// The database in this folder, which keeps time by this clock.
    pub(crate) fn store(&self, clock: Arc<dyn Clock>) -> anyhow::Result<Arc<SqliteStore>> {
        self.must_not_have_moved()?;
        let path = self.database();
        if !path.exists() {
            // SQLite would make the file readable to everyone that the umask allows.
            private()
                .create(true)
                .truncate(false)
                .open(&path)
                .with_context(|| format!("cannot make {}", path.display()))?;
        }
        let store = SqliteStore::open_with_clock(&path, move || clock.now())
            .with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Arc::new(store))
    }

    /// An engine over a store with this folder's key, without workers, beside a server or without one.
    pub(crate) async fn engine(&self, store: Arc<dyn Store>) -> anyhow::Result<Arc<Engine>> {
        let policy = Policy::parse("the default policy", DEFAULT_POLICY)?;
        let engine = Engine::new(
            store,
            Arc::new(policy),
            Arc::new(SystemClock),
            self.signer()?,
            EngineConfig::default(),
        );
        Ok(engine.await?)
    }
}

/// The files of a policy: itself, or every YAML file right in a folder, in the order of their names.
pub(crate) fn policy_files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| is_yaml(path))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(stop(Exit::Usage, format!("there is no policy in {}: no *.yaml", path.display())));
    }
    Ok(files)
}

/// The texts of a policy.
pub(crate) fn policy_sources(path: &Path) -> anyhow::Result<Vec<Source>> {
    policy_files(path)?
        .iter()
        .map(|file| {
            let text = fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
            Ok(Source::new(file.display().to_string(), text))
        })
        .collect()
}

/// What is not ours to look into is not missing.
fn closed(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let path = path.display();
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        let words = format!("cannot look into {path}: only its owner may read it: run this as that user");
        return stop(Exit::NotAllowed, words);
    }
    stop(Exit::Failure, format!("cannot look into {path}: {error}"))
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    stop(Exit::Usage, format!("cannot read the policy {}: {error}", path.display()))
}

/// Cases to test a policy with lie beside it, and are no part of it.
fn is_yaml(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    (name.ends_with(".yaml") || name.ends_with(".yml")) && !name.contains(".test.") && !name.starts_with('.')
}

/// Reads a policy; a policy that cannot be read is no policy.
pub(crate) fn read_policy(path: &Path) -> anyhow::Result<Policy> {
    let sources = policy_sources(path)?;
    Policy::compile(&sources).map_err(|error| {
        let words = format!("the policy {} cannot be used:\n{error}", path.display());
        stop_telling(Exit::Usage, words, where_it_is_wrong(&error))
    })
}

/// For programs: that it is no policy, and the places to look at.
fn where_it_is_wrong(error: &ConfigError) -> serde_json::Map<String, serde_json::Value> {
    let Place { file, line, column } = error.place();
    let place =
        serde_json::json!({ "file": file, "line": line, "column": column, "problem": error.problem() });
    [("ok".to_owned(), false.into()), ("errors".to_owned(), vec![place].into())].into_iter().collect()
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Writes a new file that survives a crash, whole or not at all. Half a key or an empty policy would keep every
/// later start from succeeding.
fn write_new(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut draft = path.to_owned().into_os_string();
    draft.push(".new");
    let write = || {
        // One that was left behind by a crash is written over.
        let mut file = private().create(true).truncate(true).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        // The name has to survive too, and names are kept in the folder.
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Whether others than the owner may read a file.
pub(crate) fn is_shared(path: &Path) -> std::io::Result<bool> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_it_is_private() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::open_or_create(&parent.path().join("data")).unwrap();
        folder.signer().unwrap();
        folder.ensure_policy().unwrap();
        folder.store(Arc::new(SystemClock)).unwrap();
        for path in [folder.path().to_owned(), folder.key(), folder.policy(), folder.database()] {
            assert!(!is_shared(&path).unwrap(), "{}", path.display());
        }
    }

    #[test]
    fn what_is_closed_to_us_is_not_called_missing() {
        let error = closed(Path::new("/srv/data"), &std::io::ErrorKind::PermissionDenied.into());
        assert!(error.to_string().contains("run this as that user"), "{error}");
        assert_eq!(crate::exit::exit_of(&error), Exit::NotAllowed);
    }

    #[test]
    fn one_server_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::open_or_create(parent.path()).unwrap();
        let lock = folder.lock().unwrap();
        assert!(folder.lock().is_err());
        drop(lock);
        assert!(folder.lock().is_ok());
    }

    #[test]
    fn the_key_stays_the_same() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::open_or_create(parent.path()).unwrap();
        assert_eq!(folder.signer().unwrap().jwks(), folder.signer().unwrap().jwks());
        fs::write(folder.key(), b"short").unwrap();
        assert!(folder.signer().is_err());
    }

    #[test]
    fn what_a_crash_left_half_written_is_no_key_and_no_policy() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::open_or_create(parent.path()).unwrap();
        for path in [folder.key(), folder.policy()] {
            let mut draft = path.into_os_string();
            draft.push(".new");
            fs::write(draft, b"half a").unwrap();
        }
        folder.signer().unwrap();
        let policy = folder.ensure_policy().unwrap();
        assert_eq!(fs::read(folder.key()).unwrap().len(), 32);
        assert_eq!(fs::read_to_string(policy).unwrap(), DEFAULT_POLICY);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
    }
}
