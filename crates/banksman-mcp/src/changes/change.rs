//! What a server says has changed.

use std::sync::Arc;

use super::LONGEST_URI;
use crate::raw::{Members, quoted};

/// Of longer words only the address is told: many of them may wait for a client that does not read.
const LONGEST_WORDS: usize = 16 * 1024;

/// Which list it is. How a client asks to hear of it, and what it hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
}

pub(super) const LISTS: [List; 3] = [List::Tools, List::Prompts, List::Resources];

const UPDATED: &str = "notifications/resources/updated";

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

impl List {
    pub(super) fn wish(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources => "resourcesListChanged",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    List(List),
    Resource {
        uri: Arc<str>,
        /// All that was said of it, as JSON.
        said: Arc<str>,
    },
}

impl Change {
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        let message = Members::read_bytes(message)?;
        let method = message.text("method")?;
        if method == UPDATED {
            let mut params = Members::read(message.get("params")?)?;
            let uri: Arc<str> = params.text("uri").filter(|uri| uri.len() <= LONGEST_URI)?.into();
            // Which subscription of ours it belongs to says nothing to anybody else.
            let meta = params.get("_meta").and_then(Members::read).map(|mut meta| {
                meta.remove(SUBSCRIPTION);
                meta.write()
            });
            match meta {
                Some(meta) if meta != "{}" => params.set("_meta", meta),
                Some(_) | None => params.remove("_meta"),
            }
            let said = params.write();
            let is_short = said.len() <= LONGEST_WORDS;
            return Some(if is_short { Self::Resource { uri, said: said.into() } } else { Self::of(&uri) });
        }
        LISTS.into_iter().find(|list| list.method() == method).map(Self::List)
    }

    /// Of a resource of which nobody knows what became of it.
    pub(super) fn of(uri: &Arc<str>) -> Self {
        let said = format!(r#"{{"uri":{}}}"#, quoted(uri)).into();
        Self::Resource { uri: Arc::clone(uri), said }
    }

    /// Whether it is a change of this resource, or of one beneath it: who subscribed to the one hears of the other.
    pub(super) fn is_of(&self, wanted: &str) -> bool {
        let Self::Resource { uri, .. } = self else { return false };
        uri.strip_prefix(wanted)
            .is_some_and(|rest| rest.is_empty() || wanted.ends_with('/') || rest.starts_with(['/', '?', '#']))
    }

    /// As a client with a session hears it.
    pub(super) fn message(&self) -> String {
        match self {
            Self::List(list) => format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, list.method()),
            Self::Resource { said, .. } => {
                format!(r#"{{"jsonrpc":"2.0","method":"{UPDATED}","params":{said}}}"#)
            }
        }
    }

    /// As the client of a subscription hears it.
    pub(super) fn message_to(&self, subscription: &str) -> String {
        let (method, said) = match self {
            Self::List(list) => (list.method(), "{}"),
            Self::Resource { said, .. } => (UPDATED, &**said),
        };
        let mut params = Members::read(said).unwrap_or_default();
        let mut meta = params.get("_meta").and_then(Members::read).unwrap_or_default();
        meta.set(SUBSCRIPTION, subscription);
        let meta = meta.write();
        params.set("_meta", meta);
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{}}}"#, params.write())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(uri: &str) -> Change {
        Change::of(&uri.into())
    }

    #[test]
    fn what_a_server_says_of_a_resource_goes_on_as_it_is_under_the_clients_own_name() {
        let said = br#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b","size":12345678901234567890,"_meta":{"io.modelcontextprotocol/subscriptionId":"ours","x":1}}}"#;
        let change = Change::read(said).unwrap();
        assert_eq!(
            change.message(),
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b","size":12345678901234567890,"_meta":{"x":1}}}"#
        );
        assert_eq!(
            change.message_to("7"),
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b","size":12345678901234567890,"_meta":{"x":1,"io.modelcontextprotocol/subscriptionId":7}}}"#
        );
        assert_eq!(update("a\"b").message().matches(r#"{"uri":"a\"b"}"#).count(), 1);
    }

    #[test]
    fn of_long_words_the_address_is_told_and_of_long_addresses_nothing() {
        let update = |uri: &str, more: usize| {
            let more = "x".repeat(more);
            format!(
                r#"{{"method":"notifications/resources/updated","params":{{"uri":"{uri}","more":"{more}"}}}}"#
            )
        };
        assert_eq!(Change::read(update("a:b", 20_000).as_bytes()), Some(Change::of(&"a:b".into())));
        assert_ne!(Change::read(update("a:b", 2).as_bytes()), Some(Change::of(&"a:b".into())));
        assert_eq!(Change::read(update(&"a".repeat(3000), 0).as_bytes()), None);
    }

    #[test]
    fn a_list_has_changed_for_everyone_alike() {
        let said = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let change = Change::read(said).unwrap();
        assert_eq!(change, Change::List(List::Tools));
        assert_eq!(change.message().as_bytes(), said);
        assert_eq!(
            change.message_to("\"x\""),
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"x"}}}"#
        );
        assert!(!change.is_of(""));
    }

    #[test]
    fn a_resource_has_changed_with_what_is_beneath_it_and_with_nothing_beside_it() {
        for (updated, wanted) in
            [("f:/a", "f:/a"), ("f:/a/b", "f:/a"), ("f:/a/b", "f:/a/"), ("f:/a#x", "f:/a")]
        {
            assert!(update(updated).is_of(wanted), "{updated} {wanted}");
        }
        for (updated, wanted) in [("f:/a", "f:/a/b"), ("f:/ab", "f:/a"), ("f:/b", "f:/a"), ("g:/a", "f:/a")] {
            assert!(!update(updated).is_of(wanted), "{updated} {wanted}");
        }
    }
}
