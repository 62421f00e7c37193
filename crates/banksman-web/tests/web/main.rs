//! The pages, drawn with everything that a hostile agent could write.

mod gallery;
mod markup;
mod pages;
mod snapshot;
