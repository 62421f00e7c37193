//! What the analyser says, by area.

mod address;
mod catalogue;
mod javascript;
mod path;
mod python;
mod severity;
mod shell;
mod shell_properties;
mod sql;
mod tool;
