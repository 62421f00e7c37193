//! Where the operator keeps a secret. It is never in the file itself, which people read, copy and commit.

use std::path::PathBuf;

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

impl SecretPlace {
    /// The secret.
    pub(super) fn read(&self) -> Result<String, String> {
        let text = match (&self.env, &self.file) {
            (Some(name), None) => {
                std::env::var(name).map_err(|_| format!("the environment variable {name} is not set"))?
            }
            (None, Some(path)) => std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?,
            (Some(_), Some(_)) | (None, None) => {
                return Err("say where the secret is: {env: NAME} or {file: PATH}".into());
            }
        };
        let text = text.trim().to_owned();
        if text.is_empty() { Err("the secret is empty".into()) } else { Ok(text) }
    }
}
