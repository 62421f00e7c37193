//! Where the operator keeps a secret. It is never in the file itself, which people read, copy and commit.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// `{env: NAME}` or `{file: PATH}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretPlace {
    #[serde(default)]
    env: Option<String>,
    #[serde(default)]
    file: Option<PathBuf>,
}

/// How secrets are found.
pub(super) enum Keyring<'a> {
    /// Where the file says; paths count from this folder.
    Real(&'a Path),
    /// Not at all: only whether the file makes sense is asked.
    Blank,
}

/// Stands for any secret where none is read. It has the form of a webhook's key.
const BLANK: &str = "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw";

impl Keyring<'_> {
    /// The secret.
    pub(super) fn read(&self, place: &SecretPlace) -> Result<String, String> {
        let text = match (&place.env, &place.file) {
            (Some(_), None) | (None, Some(_)) if matches!(self, Self::Blank) => BLANK.to_owned(),
            (Some(name), None) => {
                std::env::var(name).map_err(|_| format!("the environment variable {name} is not set"))?
            }
            (None, Some(path)) => {
                let path = self.folder().join(path);
                std::fs::read_to_string(&path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err("say where the secret is: {env: NAME} or {file: PATH}".into());
            }
        };
        let text = text.trim().to_owned();
        if text.is_empty() { Err("the secret is empty".into()) } else { Ok(text) }
    }

    /// Reads a file that is no secret.
    pub(super) fn read_file(&self, path: &Path) -> Result<Option<Vec<u8>>, String> {
        match self {
            Self::Blank => Ok(None),
            Self::Real(folder) => {
                let path = folder.join(path);
                std::fs::read(&path)
                    .map(Some)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))
            }
        }
    }

    fn folder(&self) -> &Path {
        match self {
            Self::Real(folder) => folder,
            Self::Blank => Path::new(""),
        }
    }
}
