//! A disk that is small, so that it can be full.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A file system of its own, gone with this value.
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// A disk of so many megabytes. `None` where that is not ours to make: it takes root.
    #[must_use]
    pub fn of(megabytes: u32) -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("banksman-disk-").tempdir().ok()?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=755"), "none"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self { folder })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Fills it to the last byte.
    ///
    /// # Errors
    /// If that fails for another reason than that it is full.
    pub fn fill(&self) -> std::io::Result<()> {
        let mut ballast = File::options().create(true).append(true).open(self.ballast())?;
        // Large pieces first, then what fits in between.
        for size in [64 * 1024, 1] {
            let piece = vec![0; size];
            loop {
                match ballast.write_all(&piece) {
                    Ok(()) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::StorageFull => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Clears away what it was filled with.
    ///
    /// # Errors
    /// If it was not filled.
    pub fn clear(&self) -> std::io::Result<()> {
        fs::remove_file(self.ballast())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: what was in use there goes when it is let go of.
        let _ = Command::new("umount").arg("-l").arg(self.path()).output();
    }
}
