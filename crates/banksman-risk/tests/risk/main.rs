//! What the analyser says, by area.

mod path;
mod shell;
mod shell_properties;
