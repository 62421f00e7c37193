//! Arguments, as a table and as the exact text.

use std::collections::BTreeSet;

use banksman_core::json::{CanonicalJson, Json, Object};
use banksman_core::redact::{REDACTED, redacted};
use banksman_core::visible::{one_line, pretty};
use banksman_review::{Numbered, Oddity, Row, oddities, reads_like, rows};
use maud::{Markup, html};

use crate::marks::{folds, marked};
use crate::text::{Foreign, ForeignLines, Letters};

/// How many values a page shows; what is left out has to be seen before it is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// In a batch, whose items share a page.
    Shared,
    /// As many as a page of one action loads at once.
    Usual,
    /// Every one, for someone who is about to decide about very many.
    Whole,
}

impl Extent {
    fn most(self) -> usize {
        match self {
            Self::Shared => 200,
            Self::Usual => 1000,
            Self::Whole => usize::MAX,
        }
    }
}

/// How many of the last values stay in sight, however many there are.
const LAST: usize = 50;

/// A value that is shown, or how many are not.
enum Part<'a> {
    Shown(&'a Row<'a>),
    LeftOut(usize),
}

/// The first values, the last ones, and between them those in which something was found.
fn parts<'a>(rows: &'a [Row<'a>], findings: &[Numbered<'_>], extent: Extent) -> Vec<Part<'a>> {
    let (first, last) =
        if rows.len() <= extent.most() { (rows.len(), 0) } else { (extent.most() - LAST, rows.len() - LAST) };
    let mut parts = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let is_shown = position < first
            || position >= last
            || findings.iter().any(|found| found.finding.argument.as_deref() == Some(&row.pointer));
        match parts.last_mut() {
            _ if is_shown => parts.push(Part::Shown(row)),
            Some(Part::LeftOut(count)) => *count += 1,
            Some(Part::Shown(_)) | None => parts.push(Part::LeftOut(1)),
        }
    }
    parts
}

/// Whether a table of this extent leaves values out.
pub(crate) fn leaves_out(args: &CanonicalJson, extent: Extent) -> bool {
    args.to_json().is_ok_and(|json| rows(&json).len() > extent.most())
}

/// Whether a table folds a text in the middle.
pub(crate) fn has_folds(args: &CanonicalJson) -> bool {
    args.to_json().is_ok_and(|json| rows(&json).iter().any(|row| row.value.as_str().is_some_and(folds)))
}

/// Where policy keeps a value from people, as pointers. What is written `[redacted]` elsewhere is the agent's own word.
fn kept_back(args: &Json, redact: &[String]) -> BTreeSet<String> {
    let Ok(black) = redacted(&CanonicalJson::of(&unlike_redacted(args)), redact).to_json() else {
        return BTreeSet::new();
    };
    rows(&black).into_iter().filter(|row| is_redacted(row)).map(|row| row.pointer).collect()
}

/// The value with another word wherever it says `[redacted]`, so that only policy makes it say that again.
fn unlike_redacted(value: &Json) -> Json {
    match value {
        Json::String(text) if text == REDACTED => Json::String(String::new()),
        Json::Array(items) => Json::Array(items.iter().map(unlike_redacted).collect()),
        Json::Object(members) => {
            let members = members.iter().map(|(key, item)| (key.to_owned(), unlike_redacted(item)));
            Object::from_members(members.collect()).map_or(Json::Null, Json::Object)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
    }
}

fn is_redacted(row: &Row<'_>) -> bool {
    row.value.as_str() == Some(REDACTED)
}

/// Whether the agent wrote a value that reads as if policy kept it from people.
pub(crate) fn poses_as_redacted(args: &CanonicalJson, redact: &[String]) -> bool {
    args.to_json().is_ok_and(|json| {
        let kept_back = kept_back(&json, redact);
        rows(&json).iter().any(|row| is_redacted(row) && !kept_back.contains(&row.pointer))
    })
}

/// The arguments as a table, one row a value, with what was found underlined; `redact` is what policy keeps from people.
pub(crate) fn table(
    args: &CanonicalJson,
    redact: &[String],
    findings: &[Numbered<'_>],
    extent: Extent,
) -> Markup {
    let Ok(json) = args.to_json() else {
        return html! { pre { (Foreign(args.as_str())) } };
    };
    let rows = rows(&json);
    let odd = oddities(&json);
    let kept_back = kept_back(&json, redact);
    html! {
        @if rows.is_empty() {
            p.quiet { "No arguments." }
        } @else {
            table.args {
                thead.away { tr { th scope="col" { "Argument" } th scope="col" { "Value" } } }
                tbody {
                    @for part in parts(&rows, findings, extent) {
                        @match part {
                            Part::Shown(row) if is_redacted(row) && kept_back.contains(&row.pointer) => tr { th scope="row" { (Foreign(&row.path)) } td { span.kept-back { "Kept from you by policy" } } },
                            Part::Shown(row) => tr { th scope="row" { (Foreign(&row.path)) } td { (cell(row, findings)) } },
                            Part::LeftOut(count) => tr { th scope="row" { "⋯" } td { p.caution { (count) " more values here are left out." } } },
                        }
                    }
                }
            }
        }
        (odd_hosts(&odd))
    }
}

fn cell(row: &Row<'_>, findings: &[Numbered<'_>]) -> Markup {
    match row.value {
        Json::String(text) => {
            let here: Vec<Numbered<'_>> = findings
                .iter()
                .filter(|found| found.finding.argument.as_deref() == Some(&row.pointer))
                .copied()
                .collect();
            let quote = if needs_quotes(text) { "\"" } else { "" };
            html! { div.value { (quote) (marked(text, &here)) (quote) } }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            html! { div.value.literal { (Foreign(CanonicalJson::of(row.value).as_str())) } }
        }
    }
}

/// Whether a text without quotes would pass for another value, or for another text.
fn needs_quotes(text: &str) -> bool {
    let is_edge = |c: char| c == '"' || c.is_whitespace();
    text.is_empty()
        || text == REDACTED
        || text.starts_with(is_edge)
        || text.ends_with(is_edge)
        || is_like_a_literal(text)
        || (text.len() <= LONGEST_LOOKALIKE && reads_like(text).is_some_and(|like| is_like_a_literal(&like)))
}

/// Nobody takes a longer text in foreign letters for a number or a word of JSON.
const LONGEST_LOOKALIKE: usize = 200;

/// Whether a text reads like one of the values that the table shows in literal form.
fn is_like_a_literal(text: &str) -> bool {
    match CanonicalJson::parse(text.as_bytes()).and_then(|json| json.to_json()) {
        Ok(Json::Null | Json::Bool(_) | Json::Number(_)) => true,
        Ok(Json::Array(items)) => items.is_empty(),
        Ok(Json::Object(members)) => members.is_empty(),
        Ok(Json::String(_)) | Err(_) => false,
    }
}

/// What to say about host names that are not what they look like.
pub(crate) fn odd_hosts(found: &[Oddity]) -> Markup {
    html! {
        @if !found.is_empty() {
            ul.caution {
                @for oddity in found {
                    li {
                        "Look closely" @if !oddity.argument.is_empty() { " at " code { (Foreign(&oddity.argument)) } } ": "
                        code { (Letters(&oddity.host)) } " " (oddity.problem) " " code { (Letters(&oddity.like)) }
                    }
                }
            }
        }
    }
}

/// The exact canonical text that the digest is made of.
pub(crate) fn canonical(args: &CanonicalJson) -> Markup {
    html! { pre.exact tabindex="0" { (ForeignLines(&one_line(args))) } }
}

/// A value on several lines.
pub(crate) fn block(value: &CanonicalJson) -> Markup {
    let text = pretty(value);
    html! { div.value.literal { (marked(&text, &[])) } }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use banksman_core::{Finding, Risk};
    use banksman_review::numbered;

    use super::*;

    /// So many small values, and one at the end that matters.
    fn wide(count: usize) -> CanonicalJson {
        let small: String = (0..count).map(|n| format!("\"a{n:05}\":{n},")).collect();
        CanonicalJson::parse(format!("{{{small}\"zz_to\":\"attacker@example.com\"}}").as_bytes()).unwrap()
    }

    fn shown(args: &CanonicalJson, findings: &[Finding], extent: Extent) -> String {
        table(args, &[], &numbered(findings), extent).0
    }

    #[test]
    fn what_policy_keeps_back_is_not_what_an_agent_calls_redacted() {
        let args = |text: &str| CanonicalJson::parse(text.as_bytes()).unwrap();
        let both = args(r#"{"card":"[redacted]","list":[{"pin":"[redacted]"}],"note":"[redacted]"}"#);
        let redact = ["card".to_owned(), "**.pin".to_owned()];
        let page = table(&both, &redact, &[], Extent::Usual).0;
        assert_eq!(page.matches("Kept from you by policy").count(), 2, "{page}");
        assert!(page.contains("<div class=\"value\">&quot;<bdi>[redacted]</bdi>&quot;</div>"), "{page}");
        assert!(
            poses_as_redacted(&both, &redact)
                && !poses_as_redacted(&args(r#"{"card":"[redacted]"}"#), &redact)
        );
        assert!(poses_as_redacted(&args(r#"{"card":"[redacted]"}"#), &[]));
    }

    #[test]
    fn a_lookalike_is_spelled_letter_by_letter_and_its_argument_named() {
        let args = CanonicalJson::parse("{\"to\":[\"https://g\u{43e}ogle.com\"]}".as_bytes()).unwrap();
        let page = shown(&args, &[], Extent::Usual);
        let host = "g\u{43e}<span class=\"unseen\">U+043E</span>ogle.com";
        assert!(page.contains("Look closely at <code><bdi>to[0]</bdi></code>"), "{page}");
        assert!(page.contains(host), "{page}");
    }

    #[test]
    fn the_end_is_in_sight_however_much_there_is() {
        for count in [0, 1, 199, 210, 999, 1000, 5000] {
            for extent in [Extent::Shared, Extent::Usual, Extent::Whole] {
                let (args, page) = (wide(count), shown(&wide(count), &[], extent));
                assert!(page.contains("attacker@example.com"), "{count} {extent:?}");
                let all = (0..count).all(|n| page.contains(&format!("a{n:05}")));
                assert_eq!(all, !leaves_out(&args, extent), "{count} {extent:?}");
                assert_eq!(page.contains("left out"), leaves_out(&args, extent), "{count} {extent:?}");
            }
        }
        assert!(!leaves_out(&wide(210), Extent::Usual));
        assert!(leaves_out(&wide(5000), Extent::Usual) && !leaves_out(&wide(5000), Extent::Whole));
    }

    /// What a reader sees of a table: no markup, but what is spelled out stands out.
    fn read(markup: &str) -> String {
        let text = markup
            .replace("<span class=\"unseen\">", "⟦")
            .replace("</tr>", "\u{1}")
            .replace("</th>", "\u{2}");
        text.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect()
    }

    #[test]
    fn no_two_values_look_alike() {
        let texts = [
            "",
            "\"",
            "\"\"",
            "\"a\"",
            "\"a",
            "a\"",
            "a",
            "a ",
            " a",
            "a\n",
            "false",
            "\"false\"",
            "false ",
            "0",
            "-1.5e3",
            "1E400",
            "null",
            "[]",
            "{}",
            "[ ]",
            "[1]",
            "{\"a\":1}",
            "empty text",
            "U+202E",
            "\u{202e}",
            "\\n",
            "\r",
            "\\r",
            "&quot;",
            "a\u{a0}",
            "a\u{3000}",
            "a\tb",
            "a    b",
            "a   b",
            "a\nb",
            "a\n\n\n\n\nb",
            "a⋯ 4 empty lines\nb",
            "a\n⋯ 4 empty lines\nb",
            "[redacted]",
            "\"[redacted]\"",
        ];
        let texts = texts.map(|text| CanonicalJson::of(&Json::String(text.to_owned())));
        let others = [
            "null",
            "true",
            "false",
            "0",
            "-1500",
            "1e400",
            "[]",
            "{}",
            "[1]",
            "[\"1\"]",
            "{\"a\":1}",
            "{\"a\":\"1\"}",
        ]
        .map(|text| CanonicalJson::parse(text.as_bytes()).unwrap());
        let mut seen: HashMap<String, String> = HashMap::new();
        for value in texts.iter().chain(&others) {
            for key in ["force", "force.a", "force[0]", "\\\"force\\\"", ""] {
                let args = format!("{{\"{key}\":{}}}", value.as_str());
                let page = shown(&CanonicalJson::parse(args.as_bytes()).unwrap(), &[], Extent::Usual);
                if let Some(other) = seen.insert(read(&page), args.clone()) {
                    panic!("{args} and {other} look alike");
                }
            }
        }
    }

    #[test]
    fn a_text_has_quotes_only_where_it_would_pass_for_something_else() {
        for text in ["bob", "78291a", "rm -rf /srv", "True", "say \"hi\" to bob", "[1]", "a\nb", "2026-11-16"]
        {
            assert!(!needs_quotes(text), "{text:?}");
        }
        // The last ones are spelled with letters of other writing.
        for text in
            ["", " ", "78291", "true", "null", "1e5", "\"bob\"", "bob\n", "{}", "f\u{430}lse", "nu\u{217c}l"]
        {
            assert!(needs_quotes(text), "{text:?}");
        }
    }

    #[test]
    fn what_was_found_is_in_sight_wherever_it_is() {
        let found = Finding { argument: Some("/a03000".into()), ..Finding::new("rule", Risk::High, "why") };
        let page = shown(&wide(5000), &[found], Extent::Usual);
        assert!(page.contains("a03000") && !page.contains("a02999") && !page.contains("a03001"));
        let counts: usize = page
            .split(" more values here are left out")
            .filter_map(|before| before.rsplit('>').next()?.parse::<usize>().ok())
            .sum();
        assert_eq!(counts, 5001 - 1000 - 1);
    }
}
