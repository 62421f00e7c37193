//! A Merkle log over the audit log, so that nobody can change, remove or insert an event unnoticed.
//!
//! Each event is a leaf, in the order of the log. The hashes are those of RFC 6962 (Certificate Transparency), and a
//! checkpoint is a signed note (C2SP `tlog-checkpoint`): what others have written to watch such logs can watch ours.
//! Nothing here reads a clock, a file or a database.

mod checkpoint;
mod frontier;
mod pages;
mod proof;

#[cfg(test)]
mod tests;

pub use checkpoint::{Checkpoint, NoteError, NoteKey};
pub use frontier::Frontier;
pub use pages::{PAGE, page_hash, path_to, root_at};
pub use proof::{holds, path};

use banksman_core::Digest;

/// The hash of one event, from its bytes as they are stored.
#[must_use]
pub fn leaf(event: &[u8]) -> Digest {
    Digest::of_leaf(event)
}

/// The hash of two hashes.
#[must_use]
pub fn node(left: &Digest, right: &Digest) -> Digest {
    let mut bytes = [1; 65];
    let (_, hashes) = bytes.split_at_mut(1);
    let (first, second) = hashes.split_at_mut(32);
    first.copy_from_slice(left.as_bytes());
    second.copy_from_slice(right.as_bytes());
    Digest::of(&bytes)
}
