//! What policies mean, from the outside.

mod meaning;
mod mistakes;
mod strictness;
