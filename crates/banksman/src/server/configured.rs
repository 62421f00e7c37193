//! What the files say that a server goes by: read once, before anything is made.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use banksman_policy::Policy;

use crate::channels;
use crate::commands::serve::Args;
use crate::exit::{Exit, stop};
use crate::folder::{Folder, read_policy};

/// What the files said, and which policy is in force since.
pub(crate) struct Configured {
    pub(super) policy: PolicyFile,
    pub(super) mcp: Option<banksman_mcp::Config>,
    pub(super) channels: Option<banksman_outbox::Config>,
    pub(super) identity: Option<banksman_oidc::Config>,
}

/// A policy's file, and what was last read there that could be used.
#[derive(Clone)]
pub(crate) struct PolicyFile {
    path: PathBuf,
    in_force: Arc<Mutex<Arc<Policy>>>,
}

impl Configured {
    /// Reads the files that were named, or the usual ones in the data folder.
    pub(crate) fn read(args: &Args, folder: &Folder) -> anyhow::Result<Self> {
        let path = match &args.policy {
            Some(path) => path.clone(),
            None => folder.ensure_policy()?,
        };
        Ok(Self {
            policy: PolicyFile::read(path)?,
            mcp: read_mcp(args.mcp.as_deref(), folder)?,
            channels: channels::read(args.channels.as_deref(), folder, args.listen)?,
            identity: read_identity(args.identity.as_deref(), folder)?,
        })
    }
}

impl PolicyFile {
    fn read(path: PathBuf) -> anyhow::Result<Self> {
        let policy = read_policy(&path)?;
        Ok(Self { path, in_force: Arc::new(Mutex::new(Arc::new(policy))) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The policy that is in force, whatever the file says by now.
    pub(crate) fn in_force(&self) -> Arc<Policy> {
        Arc::clone(&self.in_force.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on this one is.
    pub(crate) fn replace(&self, policy: Arc<Policy>) {
        *self.in_force.lock().unwrap_or_else(PoisonError::into_inner) = policy;
    }
}

/// Who vouches for people: the provider of the file that was named, or of the one in the data folder.
fn read_identity(named: Option<&Path>, folder: &Folder) -> anyhow::Result<Option<banksman_oidc::Config>> {
    let Some((shown, text)) = read_beside(named, &folder.identity())? else { return Ok(None) };
    banksman_oidc::Config::parse(&shown, &text).map(Some).map_err(|error| {
        stop(Exit::Usage, format!("the identity provider of {shown} cannot be used:\n{error}"))
    })
}

/// A file that was named, or the usual one, if it is there: its name and its text.
fn read_beside(named: Option<&Path>, usual: &Path) -> anyhow::Result<Option<(String, String)>> {
    let path = match named {
        Some(path) => path,
        None if usual.exists() => usual,
        None => return Ok(None),
    };
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| stop(Exit::Usage, format!("cannot read {shown}: {error}")))?;
    Ok(Some((shown, text)))
}

/// The MCP servers behind this one: those of the file that was named, or of the one in the data folder.
fn read_mcp(named: Option<&Path>, folder: &Folder) -> anyhow::Result<Option<banksman_mcp::Config>> {
    let Some((shown, text)) = read_beside(named, &folder.mcp())? else { return Ok(None) };
    banksman_mcp::Config::parse(&shown, &text)
        .map(Some)
        .map_err(|error| stop(Exit::Usage, format!("the MCP servers of {shown} cannot be used:\n{error}")))
}
