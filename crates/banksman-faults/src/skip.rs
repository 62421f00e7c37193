//! Tests that cannot run here, said aloud: a test that returns early is counted as passed, and then nobody knows that
//! nothing was tested.

use std::path::PathBuf;

/// Where this is set, as `.ci/run` does, every test has to run, and one that cannot fails.
pub const NO_SKIPS: &str = "BANKSMAN_NO_SKIPS";

/// Where `cargo xtask test` says that it has installed programs by other hands.
const PACKAGES: &str = "BANKSMAN_MCP_PACKAGES";

/// Says that the test that calls this has nothing to run with, and why. The test returns after it.
///
/// # Panics
/// If [`NO_SKIPS`] is set.
#[track_caller]
#[expect(clippy::panic, reason = "it fails the test that calls it")]
pub fn skip(reason: &str) {
    if std::env::var_os(NO_SKIPS).is_some() {
        panic!("this test cannot run here: {reason} ({NO_SKIPS} is set, so it has to)");
    }
    eprintln!("skipped: {reason}");
}

/// The same for what takes the right to mount a disk, which only root has, and in a container not even root: the one
/// thing that may be missing wherever tests run, so this fails nowhere.
pub fn skip_without_small_disk() {
    eprintln!("skipped: only root can make a disk that is small enough to fill");
}

/// Where the programs and libraries by other hands are that `cargo xtask test` installs. `None`, and said so, where it
/// has not.
///
/// # Panics
/// As [`skip`].
#[must_use]
#[track_caller]
pub fn packages() -> Option<PathBuf> {
    let folder = std::env::var_os(PACKAGES).map(PathBuf::from);
    if folder.is_none() {
        skip(&format!("`cargo xtask test` installs what this needs and sets {PACKAGES}"));
    }
    folder
}

/// Whether curl is installed; said so if it is not.
///
/// # Panics
/// As [`skip`].
#[must_use]
#[track_caller]
pub fn has_curl() -> bool {
    let has = std::process::Command::new("curl").arg("--version").output().is_ok();
    if !has {
        skip("there is no curl here");
    }
    has
}
