//! What policies mean, from the outside.

mod docs;
mod meaning;
mod mistakes;
mod strictness;
