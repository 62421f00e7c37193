//! Commits that need not be on the disk when they are answered.

use std::cell::Cell;

thread_local! {
    static LAZY: Cell<bool> = const { Cell::new(false) };
}

/// Lets what SQLite commits meanwhile on this thread be seen by everyone without waiting for the disk. It is there with the
/// next commit that does wait, or when the log is copied into the database, whichever comes first; until then a machine
/// that loses its power may lose it, and all that was committed after it, but nothing from before it.
///
/// The start of a log is synced all the same: if what follows it could reach the disk without it, the log before this one
/// would be taken for what is committed.
pub fn lazily<T>(work: impl FnOnce() -> T) -> T {
    /// Undone also if the work panics.
    struct Undo(bool);
    impl Drop for Undo {
        fn drop(&mut self) {
            LAZY.set(self.0);
        }
    }
    let _undo = Undo(LAZY.replace(true));
    work()
}

pub(crate) fn is() -> bool {
    LAZY.get()
}
