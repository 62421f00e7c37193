//! What the analyser says, by area.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on stops; helpers here are test code too"
)]

mod address;
mod catalogue;
mod javascript;
mod path;
mod python;
mod severity;
mod shell;
mod shell_hidden;
mod shell_properties;
mod sql;
mod tool;

use std::sync::LazyLock;

use banksman_risk::{Assessor, Catalogue};

/// An assessor with the built-in rules.
fn assessor() -> &'static Assessor {
    static ASSESSOR: LazyLock<Assessor> =
        LazyLock::new(|| Assessor::new(Catalogue::builtin().unwrap_or_else(|error| panic!("{error}"))));
    &ASSESSOR
}
