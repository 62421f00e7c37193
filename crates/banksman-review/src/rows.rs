//! Arguments, value by value.

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::visible::one_line;

/// A value inside the arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// How people write where it is: `to[0].name`, with quotes around keys that could pass for more than one name. No
    /// two values have the same.
    pub path: String,
    /// How findings write it: `/to/0/name`.
    pub pointer: String,
    /// The value: a scalar, or something empty.
    pub value: &'a Json,
}

/// Every value inside the arguments, in order. Arguments that are an empty object have none.
#[must_use]
pub fn rows(args: &Json) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    flatten(args, String::new(), String::new(), &mut rows);
    rows
}

fn flatten<'a>(value: &'a Json, path: String, pointer: String, rows: &mut Vec<Row<'a>>) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            for (key, item) in members.iter() {
                let path = below(&path, key);
                let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                flatten(item, path, pointer, rows);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for (position, item) in items.iter().enumerate() {
                flatten(item, format!("{path}[{position}]"), format!("{pointer}/{position}"), rows);
            }
        }
        Json::Object(_) if pointer.is_empty() => {}
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            rows.push(Row { path, pointer, value });
        }
    }
}

/// How people write where a member is, given where its object is.
pub(crate) fn below(path: &str, key: &str) -> String {
    let name = member(key);
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// A key; in quotes, as JSON, if it could pass for anything but one name.
fn member(key: &str) -> String {
    let is_plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_plain { key.to_owned() } else { one_line(&CanonicalJson::of(&Json::String(key.to_owned()))) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use banksman_core::json::Object;

    use super::*;

    fn paths(args: &str) -> Vec<String> {
        let args = CanonicalJson::parse(args.as_bytes()).unwrap().to_json().unwrap();
        rows(&args).into_iter().map(|row| row.path).collect()
    }

    #[test]
    fn plain_names_stay_plain_and_odd_ones_are_quoted() {
        for (args, path) in [
            (r#"{"to":[{"full_name":1}]}"#, "to[0].full_name"),
            (r#"{"dry-run":1}"#, "dry-run"),
            (r#"{"options":{"dry_run":1}}"#, "options.dry_run"),
            (r#"{"options.dry_run":1}"#, r#""options.dry_run""#),
            (r#"{"to[0]":1}"#, r#""to[0]""#),
            (r#"{"":{"a":1}}"#, r#""".a"#),
            ("{\"a\u{202e}\":1}", r#""a\u202e""#),
            (r#"{"a\\u202e":1}"#, r#""a\\u202e""#),
            (r#"{"\"a\"":1}"#, r#""\"a\"""#),
        ] {
            assert_eq!(paths(args), [path], "{args}");
        }
    }

    /// Objects of one and of two members, and lists, of everything in `values`.
    fn around(values: &[Json]) -> Vec<Json> {
        let keys = ["a", "b", "a.b", "a[0]", "[0]", "", ".", "\"a\"", "\"", "\\", "a\u{202e}", "a\\u202e"];
        let object = |members: Vec<(&str, &Json)>| {
            let members = members.into_iter().map(|(key, value)| (key.to_owned(), value.clone()));
            Json::Object(Object::from_members(members.collect()).unwrap())
        };
        let mut all = Vec::new();
        for (position, value) in values.iter().enumerate() {
            all.push(Json::Array(vec![value.clone()]));
            all.extend(keys.iter().map(|key| object(vec![(key, value)])));
            let other = &values[(position + 1) % values.len()];
            all.push(Json::Array(vec![value.clone(), other.clone()]));
            for (first, key) in keys.iter().enumerate() {
                all.extend(
                    keys[first + 1..].iter().map(|second| object(vec![(key, value), (second, other)])),
                );
            }
        }
        all
    }

    #[test]
    fn no_two_arguments_have_the_same_rows() {
        let scalars = ["null", "0", "\"\"", "\"0\"", "[]", "{}"]
            .map(|text| CanonicalJson::parse(text.as_bytes()).unwrap().to_json().unwrap());
        let once = around(&scalars);
        let twice = around(&once);
        let mut seen: HashMap<Vec<(String, String)>, CanonicalJson> = HashMap::new();
        for args in scalars.iter().chain(&once).chain(&twice) {
            let shown = rows(args)
                .into_iter()
                .map(|row| (row.path, CanonicalJson::of(row.value).as_str().to_owned()))
                .collect();
            let args = CanonicalJson::of(args);
            if let Some(other) = seen.insert(shown, args.clone()) {
                panic!("{} and {} look alike", args.as_str(), other.as_str());
            }
        }
        assert!(seen.len() > 10_000);
    }
}
