//! Whose a resource is, when several servers share one endpoint: that of the server that has listed it. One that only
//! claims to know it, when it is asked, may be serving what others would have said.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A longer address is asked about as if nobody had listed it.
const LONGEST: usize = 2048;

/// So much of one server's addresses is remembered, of either kind.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What the servers behind a gateway have listed. Whoever listed an address first keeps it for as long as it lists it.
#[derive(Default)]
pub(crate) struct Owners(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    uris: HashMap<String, Arc<str>>,
    templates: HashMap<String, Arc<str>>,
}

/// What was listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Uris,
    Templates,
}

impl Owners {
    /// A server has listed these, and no others of their kind.
    pub(crate) fn learn(&self, server: &str, kind: Listed, addresses: impl Iterator<Item = String>) {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match kind {
            Listed::Uris => &mut inside.uris,
            Listed::Templates => &mut inside.templates,
        };
        known.retain(|_, owner| &**owner != server);
        let owner: Arc<str> = server.into();
        let mut bytes = 0;
        for address in addresses.filter(|address| address.len() <= LONGEST) {
            bytes += address.len();
            if bytes > MOST_BYTES {
                return;
            }
            if let Some(first) = known.get(&address).filter(|first| **first != owner) {
                tracing::warn!(?address, %first, second = server, "two MCP servers list the same; the first is asked");
                continue;
            }
            known.insert(address, Arc::clone(&owner));
        }
    }

    /// The server that has listed this resource, or a template that it fits; nobody, if that could be several.
    pub(crate) fn of(&self, address: &str) -> Option<Arc<str>> {
        let inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = inside.uris.get(address).or_else(|| inside.templates.get(address)) {
            return Some(Arc::clone(owner));
        }
        let fitting =
            inside.templates.iter().filter_map(|(template, owner)| Some((fits(template, address)?, owner)));
        let fitting: Vec<(usize, &Arc<str>)> = fitting.collect();
        let closest = fitting.iter().map(|(closeness, _)| *closeness).max()?;
        let mut owners =
            fitting.iter().filter(|(closeness, _)| *closeness == closest).map(|(_, owner)| *owner);
        let owner = owners.next()?;
        owners.all(|other| other == owner).then(|| Arc::clone(owner))
    }
}

/// How much of an address a template says itself, if the address begins and ends as it does. One that does not even say a
/// scheme fits everything, and so says nothing.
fn fits(template: &str, address: &str) -> Option<usize> {
    let (before, rest) = template.split_once('{')?;
    let (_, after) = rest.rsplit_once('}')?;
    let is_between = address.len() >= before.len() + after.len();
    let fits = before.contains(':') && is_between && address.starts_with(before) && address.ends_with(after);
    fits.then_some(before.len() + after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(addresses: &[&str]) -> impl Iterator<Item = String> {
        addresses.iter().map(|address| (*address).to_owned()).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn a_resource_is_that_of_who_listed_it_first_and_still_does() {
        let owners = Owners::default();
        owners.learn("files", Listed::Uris, listed(&["file:///a", "file:///b"]));
        owners.learn("evil", Listed::Uris, listed(&["file:///a", "evil:///x"]));
        assert_eq!(owners.of("file:///a").as_deref(), Some("files"));
        assert_eq!(owners.of("evil:///x").as_deref(), Some("evil"));
        assert_eq!(owners.of("file:///c"), None);
        owners.learn("files", Listed::Uris, listed(&["file:///b"]));
        assert_eq!(owners.of("file:///a"), None);
        owners.learn("evil", Listed::Uris, listed(&["file:///a"]));
        assert_eq!(owners.of("file:///a").as_deref(), Some("evil"));
        assert_eq!(owners.of("evil:///x"), None);
    }

    #[test]
    fn a_template_takes_what_fits_it_alone() {
        let owners = Owners::default();
        owners.learn("files", Listed::Templates, listed(&["file:///{path}", "file:///logs/{day}.txt"]));
        owners.learn("all", Listed::Templates, listed(&["{+anything}", "file:///logs/{day}"]));
        assert_eq!(owners.of("file:///x").as_deref(), Some("files"));
        assert_eq!(owners.of("file:///logs/1.txt").as_deref(), Some("files"));
        assert_eq!(owners.of("file:///logs/1").as_deref(), Some("all"));
        assert_eq!(owners.of("file:///{path}").as_deref(), Some("files"), "a template is asked about, too");
        assert_eq!(owners.of("mail:///x"), None);
        owners.learn("others", Listed::Templates, listed(&["file:///{name}"]));
        assert_eq!(owners.of("file:///x"), None, "two could be meant");
    }
}
