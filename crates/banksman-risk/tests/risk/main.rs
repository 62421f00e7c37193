//! What the analyser says, by area.

mod javascript;
mod path;
mod python;
