//! JSON for people: indented, exact, and harmless wherever it is shown.

use super::VisibleJson;
use crate::json::{CanonicalJson, Json};

/// The value on several lines. It is still JSON of the same value: an editor may be opened on it.
#[must_use]
pub fn pretty(json: &CanonicalJson) -> String {
    match json.to_json() {
        Ok(value) => {
            let mut out = String::new();
            write_value(&mut out, &value, 0);
            VisibleJson(&out).to_string()
        }
        // Nothing canonical fails to parse; if it does, it is shown as it came.
        Err(_) => one_line(json),
    }
}

/// The value on one line.
#[must_use]
pub fn one_line(json: &CanonicalJson) -> String {
    VisibleJson(json.as_str()).to_string()
}

fn write_value(out: &mut String, value: &Json, depth: usize) {
    match value {
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                next_line(out, position, depth + 1);
                write_value(out, item, depth + 1);
            }
            close(out, ']', depth);
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            for (position, (key, item)) in members.iter().enumerate() {
                next_line(out, position, depth + 1);
                out.push_str(CanonicalJson::of(&Json::String(key.to_owned())).as_str());
                out.push_str(": ");
                write_value(out, item, depth + 1);
            }
            close(out, '}', depth);
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            out.push_str(CanonicalJson::of(value).as_str());
        }
    }
}

fn next_line(out: &mut String, position: usize, depth: usize) {
    if position > 0 {
        out.push(',');
    }
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn close(out: &mut String, bracket: char, depth: usize) {
    next_line(out, 0, depth);
    out.push(bracket);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> CanonicalJson {
        CanonicalJson::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn lines_and_indents() {
        let json = canonical(r#"{"b":[1,{"c":null}],"a":"x","e":[],"f":{}}"#);
        assert_eq!(
            pretty(&json),
            "{\n  \"a\": \"x\",\n  \"b\": [\n    1,\n    {\n      \"c\": null\n    }\n  ],\n  \"e\": [],\n  \"f\": {}\n}"
        );
    }

    #[test]
    fn the_value_stays_exactly_the_same() {
        for text in [
            r#"{"amount":9007199254740993,"tiny":1e-400}"#,
            "{\"name\u{202e}\":\"line\\nbreak \\u001b[2J \u{9b}31m\u{e0041}\"}",
        ] {
            let json = canonical(text);
            let shown = pretty(&json);
            assert_eq!(canonical(&shown), json);
            assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown}");
            assert_eq!(one_line(&json).lines().count(), 1);
        }
    }
}
