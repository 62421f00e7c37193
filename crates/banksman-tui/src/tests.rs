//! What holds for the whole of it.

mod flow;
mod hostile;
pub(crate) mod sample;
