//! Batches: many actions under one pair of eyes, bound to exactly the items that were shown.

use std::fmt::Write as _;

use crate::{ActionId, Digest};

/// The digest of the exact ordered items: `{"items":[{"digest":…,"id":…},…]}` in canonical form.
///
/// An item added, removed, reordered or edited after the reviewer looked gives another digest.
#[must_use]
pub fn batch_digest<'a>(items: impl IntoIterator<Item = (&'a ActionId, &'a Digest)>) -> Digest {
    let mut text = String::from("{\"items\":[");
    for (position, (id, digest)) in items.into_iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        // Ids and digests need no escaping, and writing to a String cannot fail.
        let _ = write!(text, "{{\"digest\":\"{digest}\",\"id\":\"{id}\"}}");
    }
    text.push_str("]}");
    Digest::of(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_of_the_items_changes_the_digest() {
        let (a, b) = (ActionId::from_parts(1, 1), ActionId::from_parts(1, 2));
        let (x, y) = (Digest::of(b"x"), Digest::of(b"y"));
        let reviewed = batch_digest([(&a, &x), (&b, &y)]);
        assert_ne!(reviewed, batch_digest([(&b, &y), (&a, &x)]));
        assert_ne!(reviewed, batch_digest([(&a, &x)]));
        assert_ne!(reviewed, batch_digest([(&a, &x), (&b, &x)]));
        assert_eq!(reviewed, batch_digest([(&a, &x), (&b, &y)]));
    }
}
