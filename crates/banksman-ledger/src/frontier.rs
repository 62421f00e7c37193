//! A log so far, as small as it can be kept and still grow.

use banksman_core::Digest;

use crate::node;

/// The roots of the complete trees that a log consists of, the largest first: one for each bit of its size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    trees: Vec<Digest>,
}

impl Frontier {
    /// How many leaves there are.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Adds a leaf.
    pub fn push(&mut self, leaf: Digest) {
        self.push_tree(leaf, 0);
    }

    /// Adds a complete tree of two to the power of `height` leaves. What is there already has to be a multiple of that.
    pub fn push_tree(&mut self, root: Digest, height: u32) {
        debug_assert!(self.size.trailing_zeros() >= height || self.size == 0);
        let mut tree = root;
        // As in adding one: each full place is carried into the next.
        let carried = (self.size >> height).trailing_ones();
        for _ in 0..carried {
            if let Some(left) = self.trees.pop() {
                tree = node(&left, &tree);
            }
        }
        self.trees.push(tree);
        self.size += 1 << height;
    }

    /// The root of all of it. That of an empty log is the hash of nothing.
    #[must_use]
    pub fn root(&self) -> Digest {
        let mut trees = self.trees.iter().rev();
        let Some(last) = trees.next() else { return Digest::of(&[]) };
        trees.fold(*last, |right, left| node(left, &right))
    }
}
