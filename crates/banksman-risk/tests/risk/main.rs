//! What the analyser says, by area.

mod path;
