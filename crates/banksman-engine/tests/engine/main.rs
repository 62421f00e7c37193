//! The engine over a real store.
