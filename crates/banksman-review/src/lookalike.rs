//! Names of hosts that are not what they look like.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use banksman_core::json::Json;
use banksman_core::visible::is_hidden;
use unicode_security::confusable_detection::skeleton;

use crate::hosts::{Named, hosts, percent_decoded};
use crate::rows::below;

/// What is odd about a host name in a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Oddity {
    /// The name as it is written.
    pub host: String,
    /// What is odd about it, in our words.
    pub problem: &'static str,
    /// What it looks like, or what it stands for.
    pub like: String,
    /// Where it is, as people write it; the first place, if it is in several.
    pub argument: String,
}

/// What was found: the name, what is odd, what it is like; and where it was first.
type Found = BTreeMap<(String, &'static str, String), String>;

/// More would be a flood that hides the one that matters.
const MOST: usize = 12;

/// Names that many people trust at a glance, to which ASCII alone has lookalikes: `rn` for `m`, a digit for a letter. A
/// longer list would find more and be wrong more often.
const FAMOUS: &str = "\
    adobe airbnb alibaba amazon amazonaws anthropic apple atlassian binance bitbucket bitcoin bloomberg \
    chatgpt claude cloudflare coinbase debian digitalocean docker dropbox ebay facebook github \
    githubusercontent gitlab gmail google googleapis hotmail huggingface icloud instagram kraken \
    kubernetes linkedin live mastercard metamask microsoft microsoftonline mongodb mozilla netflix npmjs \
    okta openai oracle outlook paypal pypi reddit revolut rubygems salesforce signal slack spotify \
    stripe telegram twilio twitter ubuntu visa wellsfargo whatsapp wikipedia yahoo youtube zoom";

/// The same, each with how it looks.
static FAMOUS_LOOKS: LazyLock<Vec<(String, &str)>> =
    LazyLock::new(|| FAMOUS.split(' ').map(|name| (looks(name), name)).collect());

/// The oddities of all texts in a value, keys included.
#[must_use]
pub fn oddities(value: &Json) -> Vec<Oddity> {
    let mut found = Found::new();
    collect(value, "", &mut found);
    let found = found.into_iter().take(MOST);
    found.map(|((host, problem, like), argument)| Oddity { host, problem, like, argument }).collect()
}

fn collect(value: &Json, at: &str, found: &mut Found) {
    match value {
        Json::String(text) => in_text(text, at, found),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(position, item)| collect(item, &format!("{at}[{position}]"), found)),
        Json::Object(members) => members.iter().for_each(|(key, item)| {
            let at = below(at, key);
            in_text(key, &at, found);
            collect(item, &at, found);
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn in_text(text: &str, at: &str, found: &mut Found) {
    hosts(text).for_each(|named| judge(&named, at, found));
    if let Some(read) = percent_decoded(text) {
        hosts(&read).for_each(|named| judge(&named, at, found));
    }
}

fn judge(named: &Named<'_>, at: &str, found: &mut Found) {
    let mut say = |problem, like: &str| {
        let odd = (named.written.to_owned(), problem, like.to_owned());
        found.entry(odd).or_insert_with(|| at.to_owned());
    };
    // What stands before an @ in an address is not the host, however much it looks like one.
    if let Some(user) = named.posing {
        say("is the host, not", user);
    }
    if named.by_place && named.written.chars().any(is_hidden) {
        say("holds what cannot be seen, and looks like", &named.name);
    }
    if named.labels().any(|label| label.to_ascii_lowercase().starts_with("xn--")) {
        say("stands for", &idna::domain_to_unicode(&named.name).0);
    }
    if named.name.is_ascii() {
        if let Some(like) = famous(named) {
            say("is spelled to look like", &like);
        }
        // What is not shown is spelled on the page; what is left are dots of other writing.
        let has_other_dots = named.written.chars().any(|c| !c.is_ascii() && !is_hidden(c));
        if has_other_dots && ends_like_a_host(named) {
            say("stands for", &named.name);
        }
        return;
    }
    // Circled, wide and other letters that a resolver takes for plain ones.
    let meant = idna::domain_to_unicode(&named.name).0;
    if meant.is_ascii() {
        say("stands for", &meant);
    } else if reads_as_another(named) {
        say("is spelled to look like", &plain(&named.name));
    }
}

/// What a person's name reads like in plain letters, if it is spelled with others that pass for them.
#[must_use]
pub fn reads_like(name: &str) -> Option<String> {
    // What shows nothing is spelled wherever a name is shown.
    let name: String = name.chars().filter(|c| !is_hidden(*c)).collect();
    let like = plain(&name);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == ' ' || c.is_ascii_punctuation();
    (!name.is_ascii() && (like.chars().all(is_word) || name.split(' ').any(mixes))).then_some(like)
}

/// Whether foreign letters make a name read like one in ASCII: all of it; a label under an ASCII ending; or part of a
/// label that is otherwise ASCII.
fn reads_as_another(named: &Named<'_>) -> bool {
    let ascii_ending = named.labels().last().is_some_and(str::is_ascii);
    let reads = |label: &str| !label.is_ascii() && plain(label).is_ascii();
    plain(&named.name).is_ascii()
        || named.labels().any(|label| mixes(label) || (ascii_ending && reads(label)))
}

/// Whether letters of ASCII stand beside foreign ones that pass for some.
fn mixes(word: &str) -> bool {
    // Beyond the Latin letters, whose marks are seen.
    let passes = |c: char| c > '\u{24f}' && plain_letter(c).chars().all(|c| c.is_ascii_alphabetic());
    word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(passes)
}

/// How a name reads to someone who takes every foreign letter for the one it resembles. Letters of ASCII stay: the
/// table of lookalikes would make `rn` of an `m`.
fn plain(name: &str) -> String {
    name.chars().map(plain_letter).collect()
}

fn plain_letter(c: char) -> String {
    if c.is_ascii() { c.to_string() } else { skeleton(c.encode_utf8(&mut [0; 4])).collect() }
}

/// How a label in ASCII looks, whatever it is spelled with.
fn looks(label: &str) -> String {
    skeleton(label).collect::<String>().to_ascii_lowercase()
}

/// The name with the label replaced that only looks like a famous one.
fn famous(named: &Named<'_>) -> Option<String> {
    let like = |label: &str| {
        // Only these are taken for something else, and most labels hold none of them.
        if !(label.contains(['0', '1', 'I']) || label.contains("rn")) {
            return None;
        }
        let lower = label.to_ascii_lowercase();
        if FAMOUS_LOOKS.iter().any(|(_, name)| *name == lower) {
            return None;
        }
        let (as_written, as_resolved) = (looks(label), looks(&lower));
        FAMOUS_LOOKS
            .iter()
            .find(|(look, _)| *look == as_written || *look == as_resolved)
            .map(|(_, name)| *name)
    };
    let labels: Vec<(&str, Option<&str>)> = named.labels().map(|label| (label, like(label))).collect();
    labels
        .iter()
        .any(|(_, like)| like.is_some())
        .then(|| labels.iter().map(|(label, like)| like.unwrap_or(label)).collect::<Vec<_>>().join("."))
}

/// A sentence may end in a wide full stop and another begin behind it: an address ends in letters.
fn ends_like_a_host(named: &Named<'_>) -> bool {
    named
        .labels()
        .last()
        .is_some_and(|label| label.len() > 1 && label.chars().all(|c| c.is_ascii_alphabetic()))
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
            ("http://paypal.com:x&y=1@evil.example/", "paypal.com"),
            ("mail to ceo@gооgle.com", "google.com"),
            ("GET https://gіthub.com:443/a?b", "github.com"),
            ("ftp://exаmple_a.com", "example_a.com"),
            ("https://pаypal", "paypal"),
            ("https://pаypal。com", "paypal.com"),
            ("https://paypal。com", "paypal.com"),
            ("https://ⓟaypal.com", "paypal.com"),
            ("https://p%D0%B0ypal.com/", "paypal.com"),
            ("https://paypal.com⁄x.evil.example", "paypal.com/x.evil.example"),
            ("https://pаypal-вход.com", "paypal-ʙxoд.com"),
            ("https://раураl.вход.com", "paypal.ʙxoд.com"),
            ("https://pay\u{200b}pal.com", "paypal.com"),
            ("rnicrosoft.com", "microsoft.com"),
            ("https://paypa1.com", "paypal.com"),
            ("https://login.paypaI.com/", "login.paypal.com"),
            ("git clone git@gith\u{fe0f}ub.com:x/y", "github.com"),
            ("www.g00gle.com", "www.google.com"),
        ] {
            let found = odd(text);
            assert!(found.iter().any(|oddity| oddity.like == like), "{text}: {found:?}");
        }
    }

    #[test]
    fn an_oddity_says_where_it_is() {
        let args =
            "{\"to\":[\"x\",{\"a.b\":\"https://p\u{430}ypal.com\"}],\"zz\":\"https://p\u{430}ypal.com\"}";
        let args = banksman_core::json::parse(args.as_bytes()).unwrap();
        let found = oddities(&args);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].argument, r#"to[1]."a.b""#);
    }

    #[test]
    fn nothing_around_a_name_hides_it() {
        let ends = [
            "",
            "!",
            "`",
            "}",
            "&&true",
            "&x",
            "%2fx",
            ".",
            "\\x",
            "。",
            "]",
            "*",
            "$x",
            "^",
            "~",
            "…",
            "”",
            "\0",
            "\u{1b}[0m",
            "|x",
            "\u{a0}",
        ];
        for end in ends {
            for start in ["", "`", "{", "[", "curl -s ", "$(", "“", "=", "\u{a0}"] {
                let text = format!("{start}https://pаypal.com{end}");
                assert!(
                    odd(&text).iter().any(|oddity| oddity.like.starts_with("paypal.com")),
                    "{text:?}: {:?}",
                    odd(&text)
                );
            }
        }
    }

    #[test]
    fn names_of_people_that_pass_for_others_are_told() {
        for (name, like) in [
            ("аnn", Some("ann")),
            ("Аnn Lee", Some("Ann Lee")),
            ("ann", None),
            ("Анна", None),
            ("Zoë", None),
            ("李明", None),
        ] {
            assert_eq!(reads_like(name), like.map(str::to_owned), "{name}");
        }
    }

    #[test]
    fn honest_names_are_left_alone() {
        for text in [
            "https://example.com/ünal",
            "bücher.example",
            "пример.рф",
            "сор.рф",
            "a.b",
            "1.5",
            "ada@example.com",
            "x = y.z",
            "example.com’s site",
            "请访问example.com。谢谢",
            "使用 API。V2 也可以",
            "https://日本go.example",
            "microsoft.com google.com paypal.com PayPal.com",
            "s3.amazonaws.com/learn.modern.io10",
            "el niño.txt",
            "отчёт.doc",
            "import numpy.core as np; m1.run(0.1)",
            "@decorator def f(): pass",
            "invoice\u{202e}fdp.exe",
            "✅\u{fe0f}example.com\u{200b} is up",
            "see https://example.com:80/a b/@user.name",
        ] {
            assert_eq!(odd(text), [], "{text}");
        }
    }
}
