//! Turns the built-in rules into JSON.
//!
//! A hook starts thousands of times a day, and reading the YAML took ten times as long as everything else it
//! does. The rules stay YAML for people; the binary carries the same content in a form that is read in a
//! millisecond. Their examples, a quarter of it, are kept apart: nothing is judged by them. A test compares the two.

use std::path::Path;
use std::{env, fs, io};

use serde_json::{Map, Value, json};

/// A file per subject, in the order of the catalogue.
const FILES: &[&str] = &[
    "unread",
    "code",
    "files",
    "git",
    "system",
    "packages",
    "containers",
    "cloud",
    "databases",
    "network",
    "secrets",
    "persistence",
    "self",
    "python",
    "javascript",
    "sql",
    "paths",
    "addresses",
    "tools",
    "programs",
    "programs-services",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=rules");
    let mut rules = Vec::new();
    let mut programs = Map::new();
    for name in FILES {
        let file = format!("rules/{name}.yaml");
        let wrong = |problem: String| io::Error::other(format!("{file}: {problem}"));
        let text = fs::read_to_string(&file)?;
        let part: Value = serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let Value::Object(part) = part else { return Err(wrong("no mapping".into())) };
        for (key, value) in part {
            match (key.as_str(), value) {
                ("rules", Value::Array(own)) => rules.extend(own),
                ("programs", Value::Object(own)) => programs.extend(own),
                (key, _) => return Err(wrong(format!("{key} does not belong here"))),
            }
        }
    }
    let mut examples = Map::new();
    for rule in &mut rules {
        let own = rule
            .as_object_mut()
            .and_then(|rule| rule.insert("examples".to_owned(), json!({"matches": [], "differs": []})));
        if let (Some(id), Some(own)) = (rule.get("id").and_then(Value::as_str), own) {
            examples.insert(id.to_owned(), own);
        }
        if let Some(when) = rule.get_mut("when") {
            mark_expressions(when);
        }
    }
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    let write = |name: &str, value: Value| fs::write(Path::new(&folder).join(name), value.to_string());
    write("examples.json", Value::Object(examples))?;
    write("rules.json", json!({ "programs": programs, "rules": rules }))
}

/// Says of regular expressions that they need not be compiled to know that they can be: tests do.
fn mark_expressions(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let (1, Some(Value::String(_))) = (members.len(), members.get("regex"))
                && let Some(expression) = members.remove("regex")
            {
                members.insert("proven_regex".to_owned(), expression);
                return;
            }
            members.values_mut().for_each(mark_expressions);
        }
        Value::Array(items) => items.iter_mut().for_each(mark_expressions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
