//! `cargo xtask check`: what a change must pass besides its tests.

use crate::test::cargo;

pub(crate) fn run() -> anyhow::Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?;
    cargo(&["test", "--package", "xtask", "--quiet", "tidy"])
}
