//! Names of hosts that are not what they look like.

use std::collections::BTreeSet;

use banksman_core::json::Json;
use unicode_security::confusable_detection::skeleton;

/// What is odd about a host name in a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Oddity {
    /// The name as it is written.
    pub host: String,
    /// What is odd about it, in our words.
    pub problem: &'static str,
    /// What it looks like, or what it stands for.
    pub like: String,
}

/// More would be a flood that hides the one that matters.
const MOST: usize = 12;

/// The oddities of all texts in a value, keys included.
#[must_use]
pub fn oddities(value: &Json) -> Vec<Oddity> {
    let mut found = BTreeSet::new();
    collect(value, &mut found);
    found.into_iter().take(MOST).collect()
}

fn collect(value: &Json, found: &mut BTreeSet<Oddity>) {
    match value {
        Json::String(text) => in_text(text, found),
        Json::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Json::Object(members) => members.iter().for_each(|(key, item)| {
            in_text(key, found);
            collect(item, found);
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn in_text(text: &str, found: &mut BTreeSet<Oddity>) {
    let ends = |c: char| {
        c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '<' | '>' | '(' | ')' | ',' | ';' | '|' | '=')
    };
    for word in text.split(ends).filter(|word| word.len() <= 1000) {
        // What stands before an @ in an address is not the host, however much it looks like one.
        let (user, host) = word.rsplit_once('@').map_or((None, word), |(user, host)| (Some(user), host));
        let host = host.split([':', '?', '#']).next().unwrap_or_default();
        if !looks_like_a_host(host) {
            continue;
        }
        if let Some(user) = user.filter(|user| {
            text.contains("://") && looks_like_a_host(user.split(':').next().unwrap_or_default())
        }) {
            found.insert(Oddity { host: host.into(), problem: "is the host, not", like: user.into() });
        }
        if host.split('.').any(|label| label.to_ascii_lowercase().starts_with("xn--")) {
            let (meant, _) = idna::domain_to_unicode(host);
            found.insert(Oddity { host: host.into(), problem: "stands for", like: meant });
        }
        if !host.is_ascii() {
            let like = looks_like(host);
            if like.is_ascii() && like != host {
                found.insert(Oddity { host: host.into(), problem: "is spelled to look like", like });
            }
        }
    }
}

/// How a name reads to someone who takes every foreign letter for the one it resembles. Letters of ASCII stay: the
/// table of lookalikes would make `rn` of an `m`.
fn looks_like(host: &str) -> String {
    host.chars()
        .map(|c| if c.is_ascii() { c.to_string() } else { skeleton(c.encode_utf8(&mut [0; 4])).collect() })
        .collect()
}

fn looks_like_a_host(word: &str) -> bool {
    let mut labels = word.split('.');
    word.contains('.')
        && word.chars().any(char::is_alphabetic)
        && labels.all(|label| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd(text: &str) -> Vec<Oddity> {
        oddities(&Json::String(text.into()))
    }

    #[test]
    fn names_that_deceive_are_found() {
        for (text, like) in [
            ("curl https://pаypal.com/x", "paypal.com"),
            ("https://xn--80ak6aa92e.com", "аррӏе.com"),
            ("see http://paypal.com@evil.example/", "paypal.com"),
            ("mail to ceo@gооgle.com", "google.com"),
            ("GET https://gіthub.com:443/a?b", "github.com"),
        ] {
            let found = odd(text);
            assert!(found.iter().any(|oddity| oddity.like == like), "{text}: {found:?}");
        }
    }

    #[test]
    fn honest_names_are_left_alone() {
        for text in [
            "https://example.com/ünal",
            "bücher.example",
            "пример.рф",
            "a.b",
            "1.5",
            "ada@example.com",
            "x = y.z",
        ] {
            assert_eq!(odd(text), [], "{text}");
        }
    }
}
