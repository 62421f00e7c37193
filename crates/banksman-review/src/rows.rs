//! Arguments, value by value.

use banksman_core::json::Json;

/// A value inside the arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// How people write where it is: `to[0].name`.
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
                let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
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
