//! Where an operator keeps a secret. Best not in the configuration file itself, which people read, copy and commit.
//!
//! Every file of ours names secrets in the same way, and paths in it count from the folder that the file is in.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// `{env: NAME}` or `{file: PATH}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretPlace {
    #[serde(default)]
    env: Option<String>,
    #[serde(default)]
    file: Option<PathBuf>,
}

/// A secret's place or, where a file may hold it itself, the secret. Whatever prints it does not print what it is.
#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected a text, {env: NAME} or {file: PATH}")]
pub enum SecretText {
    /// The secret.
    Plain(String),
    /// Where it is.
    Kept(SecretPlace),
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// How secrets are found.
#[derive(Debug, Clone, Copy)]
pub enum Keyring<'a> {
    /// Where the file says; paths count from this folder.
    Real(&'a Path),
    /// Not at all: only whether the file makes sense is asked.
    Blank,
}

/// Stands for any secret where none is read. It has the form of a webhook's key.
const BLANK: &str = "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw";

impl<'a> Keyring<'a> {
    /// For a configuration file of this name.
    #[must_use]
    pub fn beside(name: &'a str) -> Self {
        Self::Real(Path::new(name).parent().unwrap_or(Path::new("")))
    }

    /// The secret, without the line end that files have.
    ///
    /// # Errors
    /// If it is not there, as a phrase for the operator.
    pub fn read(&self, place: &SecretPlace) -> Result<String, String> {
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

    /// The same where the file may hold it itself, and then exactly what is there.
    ///
    /// # Errors
    /// As [`Keyring::read`].
    pub fn read_text(&self, secret: &SecretText) -> Result<String, String> {
        match secret {
            SecretText::Plain(text) => Ok(text.clone()),
            SecretText::Kept(place) => self.read(place),
        }
    }

    /// Reads a file that is no secret, if any is read.
    ///
    /// # Errors
    /// As [`Keyring::read`].
    pub fn read_file(&self, path: &Path) -> Result<Option<Vec<u8>>, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> SecretPlace {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn paths_count_from_the_folder_of_the_file_that_names_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("keys")).unwrap();
        std::fs::write(folder.path().join("keys/one"), " hidden\n").unwrap();
        std::fs::write(folder.path().join("keys/none"), "\n").unwrap();
        let name = folder.path().join("mcp.yaml").display().to_string();
        let keys = Keyring::beside(&name);
        assert_eq!(keys.read(&place(r#"{"file": "keys/one"}"#)).unwrap(), "hidden");
        let whole = folder.path().join("keys/one").display().to_string();
        assert_eq!(keys.read(&place(&format!(r#"{{"file": "{whole}"}}"#))).unwrap(), "hidden");
        assert_eq!(keys.read_file(Path::new("keys/one")).unwrap().unwrap(), b" hidden\n");
        for (written, said) in [
            (r#"{"file": "keys/none"}"#, "the secret is empty"),
            (r#"{"file": "keys/two"}"#, "cannot read"),
            (r#"{"env": "BANKSMAN_NO_SUCH_VARIABLE"}"#, "BANKSMAN_NO_SUCH_VARIABLE is not set"),
            (r#"{"env": "HOME", "file": "keys/one"}"#, "say where the secret is"),
            ("{}", "say where the secret is"),
        ] {
            let problem = keys.read(&place(written)).unwrap_err();
            assert!(problem.contains(said), "{written}: {problem}");
        }
    }

    #[test]
    fn nothing_is_read_where_only_the_form_is_asked_for() {
        assert_eq!(Keyring::Blank.read(&place(r#"{"file": "/no/such/file"}"#)).unwrap(), BLANK);
        assert!(Keyring::Blank.read(&place("{}")).is_err());
        assert_eq!(Keyring::Blank.read_file(Path::new("/no/such/file")).unwrap(), None);
    }

    #[test]
    fn what_a_file_holds_itself_is_taken_as_it_is_and_never_shown() {
        let plain: SecretText = serde_json::from_str(r#"" hidden ""#).unwrap();
        assert_eq!(Keyring::Blank.read_text(&plain).unwrap(), " hidden ");
        assert_eq!(format!("{plain:?}"), "[secret]");
        let kept: SecretText = serde_json::from_str(r#"{"env": "X"}"#).unwrap();
        assert_eq!(Keyring::Blank.read_text(&kept).unwrap(), BLANK);
        for wrong in [r#"{"env": "X", "fiel": "y"}"#, "7"] {
            let error = serde_json::from_str::<SecretText>(wrong).unwrap_err().to_string();
            assert!(error.contains("expected a text, {env: NAME} or {file: PATH}"), "{error}");
        }
    }
}
