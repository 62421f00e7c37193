//! What is kept of a log's hashes: one for each full page of it. The rest is made anew where it is needed.

use banksman_core::Digest;

use crate::{Frontier, proof};

/// How many events make a page.
pub const PAGE: u64 = 256;

/// The height of the tree over a page.
const HEIGHT: u32 = PAGE.trailing_zeros();

/// The hash of a page of leaves, if it is full.
#[must_use]
pub fn page_hash(leaves: &[Digest]) -> Option<Digest> {
    let full = u64::try_from(leaves.len()) == Ok(PAGE);
    full.then(|| {
        let mut page = Frontier::default();
        leaves.iter().for_each(|leaf| page.push(*leaf));
        page.root()
    })
}

/// The log of these full pages and the leaves after them.
#[must_use]
pub fn root_at(pages: &[Digest], rest: &[Digest]) -> Frontier {
    let mut log = Frontier::default();
    pages.iter().for_each(|page| log.push_tree(*page, HEIGHT));
    rest.iter().for_each(|leaf| log.push(*leaf));
    log
}

/// The hashes that prove leaf `index` to be in a log of these full pages and the leaves after them. `own` are the leaves of
/// the page that it is in, or of the rest.
#[must_use]
pub fn path_to(index: u64, own: &[Digest], pages: &[Digest], rest: &[Digest]) -> Option<Vec<Digest>> {
    let full = u64::try_from(pages.len()).ok()?;
    let within = usize::try_from(index % PAGE).ok()?;
    let page = index / PAGE;
    let remainder = (!rest.is_empty()).then(|| root_at(&[], rest).root());
    let all: Vec<Digest> = pages.iter().copied().chain(remainder).collect();
    if page > full || (page == full && rest.is_empty()) {
        return None;
    }
    let mut path = proof::path(own, within)?;
    path.extend(proof::path(&all, usize::try_from(page).ok()?)?);
    Some(path)
}
