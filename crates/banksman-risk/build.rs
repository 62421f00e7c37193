//! Packs the built-in rules.
//!
//! A hook starts thousands of times a day, and reading the YAML took ten times as long as everything else it does; even
//! as JSON it took half of it. The rules stay YAML for people; the binary carries the same content as lines that are read
//! when a command asks for them: `rules.txt` a rule each, `names.txt` which clauses are about what, `programs.txt` how
//! arguments are read. Their examples are kept apart: nothing is judged by them. Tests compare all of it with what the
//! rules themselves say.

use std::collections::BTreeMap;
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
    let write = |name: &str, text: String| fs::write(Path::new(&folder).join(name), text);
    write("examples.json", Value::Object(examples).to_string())?;
    write("names.txt", names(&rules)?)?;
    write("rules.txt", rules.iter().map(|rule| format!("{rule}\n")).collect())?;
    write("programs.txt", packed_programs(&programs))
}

/// Which clauses are about what: a line for each sort of clause and each name, with the places of the clauses
/// (`12.0 13.1`: a rule, and a clause of it).
fn names(rules: &[Value]) -> io::Result<String> {
    let mut places: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for (rule_at, rule) in rules.iter().enumerate() {
        let clauses = rule.get("when").and_then(Value::as_array).into_iter().flatten();
        for (clause_at, clause) in clauses.enumerate() {
            let clause = clause.as_object().filter(|clause| clause.len() == 1);
            let (sort, about) = clause
                .and_then(|clause| clause.iter().next())
                .ok_or_else(|| io::Error::other(format!("{rule}: no clause")))?;
            let named = match sort.as_str() {
                "command" => about.get("program"),
                "call" => about.get("function"),
                "statement" => about.get("verb"),
                "signal" => Some(about),
                _ => None,
            };
            let named: Vec<String> = match named {
                Some(Value::Array(names)) => names.iter().map(pattern).collect(),
                Some(name) => vec![pattern(name)],
                None => vec![String::new()],
            };
            for name in named {
                places.entry((sort, name)).or_default().push(format!("{rule_at}.{clause_at}"));
            }
        }
    }
    Ok(places
        .iter()
        .map(|((sort, name), places)| format!("{sort}\t{name}\t{}\n", places.join(" ")))
        .collect())
}

/// A name as it is, or an expression as JSON.
fn pattern(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A line for each program and subcommand, those of one program after each other, with the program that it is like.
fn packed_programs(programs: &Map<String, Value>) -> String {
    let sorted: BTreeMap<&String, &Value> = programs.iter().collect();
    sorted
        .iter()
        .map(|(name, spec)| {
            let like = spec.get("like").and_then(Value::as_str).unwrap_or_default();
            format!("{name}\t{spec}\t{like}\n")
        })
        .collect()
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
