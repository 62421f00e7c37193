//! What the analyser says, by area.

mod catalogue;
mod path;
