//! What the shell does itself.
