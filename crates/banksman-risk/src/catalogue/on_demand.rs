//! What the build packed is read when it is first asked for: a process that judges one command needs few of the rules.

use std::sync::OnceLock;

/// What can be packed into the binary.
pub(super) trait Packed: Sized {
    /// Reads it.
    fn unpack(text: &'static str) -> Option<Self>;

    /// What to use if it cannot be read, which no build that passed its tests has.
    fn unreadable() -> Self;
}

/// A value, or what it is to be read from.
#[derive(Debug, Clone)]
pub(super) struct OnDemand<T> {
    packed: &'static str,
    /// In a box, because most are never read.
    read: OnceLock<Box<T>>,
}

impl<T: Packed> OnDemand<T> {
    pub(super) const fn packed(packed: &'static str) -> Self {
        Self { packed, read: OnceLock::new() }
    }

    pub(super) fn get(&self) -> &T {
        self.read.get_or_init(|| Box::new(T::unpack(self.packed).unwrap_or_else(T::unreadable)))
    }
}

impl<T> From<T> for OnDemand<T> {
    fn from(value: T) -> Self {
        Self { packed: "", read: OnceLock::from(Box::new(value)) }
    }
}
