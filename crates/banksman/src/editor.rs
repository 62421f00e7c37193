//! Lets a person change a text in the editor of their choice.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::exit::{Exit, stop};

/// Opens `$VISUAL` or `$EDITOR` on the text and returns what was saved.
pub(crate) fn edit(text: &str) -> anyhow::Result<String> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
        .ok_or_else(|| {
            stop(Exit::Usage, "set EDITOR to edit the arguments, or give them with --args or --set")
        })?;
    edit_with(&editor, text)
}

fn edit_with(editor: &str, text: &str) -> anyhow::Result<String> {
    let scratch = Scratch::new(text)?;
    // "code --wait" is usual, a path with spaces is not.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Command::new(program)
        .args(words)
        .arg(&scratch.path)
        .status()
        .with_context(|| format!("cannot start the editor {program}"))?;
    if !status.success() {
        return Err(stop(Exit::Failure, "the editor ended with an error; nothing was sent"));
    }
    scratch.read()
}

/// A file that only its owner can read, because arguments may hold secrets; gone when dropped.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new(text: &str) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir();
        for attempt in 0..100 {
            let path = folder.join(format!("banksman-{}-{attempt}.json", std::process::id()));
            match create(&path) {
                Ok(mut file) => {
                    let scratch = Self { path };
                    writeln!(file, "{text}").context("cannot write the arguments for the editor")?;
                    return Ok(scratch);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| format!("cannot create {}", path.display())),
            }
        }
        anyhow::bail!("cannot create a file in {}", folder.display())
    }

    /// By path and not by handle: many editors replace the file instead of writing into it.
    fn read(&self) -> anyhow::Result<String> {
        std::fs::read_to_string(&self.path).context("cannot read what the editor saved")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: the folder is for files that nobody misses.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Fails if the path is taken, also by a link that someone put there to have us write elsewhere.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// An editor that runs `script` with the file as `$1`.
    fn editor(folder: &Path, script: &str) -> String {
        let path = folder.join("editor.sh");
        std::fs::write(&path, script).unwrap();
        format!("sh {}", path.display())
    }

    #[test]
    fn what_was_saved_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        // Replaces the file, as many editors do.
        let editor = editor(folder.path(), "sed s/1/2/ \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"");
        assert_eq!(edit_with(&editor, r#"{"a": 1}"#).unwrap(), "{\"a\": 2}\n");
    }

    #[test]
    fn the_file_is_private_and_gone_afterwards() {
        let scratch = Scratch::new("{}").unwrap();
        let path = scratch.path.clone();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(create(&path).is_err(), "an existing file is never taken over");
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn an_editor_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(edit_with(&editor(folder.path(), "exit 1"), "{}").is_err());
        assert!(edit_with("/no/such/editor", "{}").is_err());
    }
}
