//! That a leaf is in a log: RFC 6962, 2.1.1, and how RFC 9162, 2.1.3.2, checks it.

use banksman_core::Digest;

use crate::{Frontier, node};

/// The hashes beside the way from a leaf to the root, from the bottom up.
#[must_use]
pub fn path(leaves: &[Digest], index: usize) -> Option<Vec<Digest>> {
    leaves.get(index)?;
    let mut path = Vec::new();
    let (mut leaves, mut index) = (leaves, index);
    while leaves.len() > 1 {
        // The left part is the largest power of two that is smaller than all of it.
        let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
        let (own, other) = if index < left.len() { (left, right) } else { (right, left) };
        if index >= left.len() {
            index -= left.len();
        }
        path.push(root(other));
        leaves = own;
    }
    path.reverse();
    Some(path)
}

/// Whether a leaf is in a log of that size and root, and in that place.
#[must_use]
pub fn holds(leaf: &Digest, index: u64, size: u64, path: &[Digest], root: &Digest) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, *leaf);
    for beside in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node(beside, &hash);
            // Where a tree is not full, its last part has nothing beside it on some levels.
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node(&hash, beside);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

fn root(leaves: &[Digest]) -> Digest {
    let mut log = Frontier::default();
    leaves.iter().for_each(|leaf| log.push(*leaf));
    log.root()
}
