//! The reference of the language, written from its schema: what the types say is what the page says.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::schema::Document;

/// The reference as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = Page {
        text: "# Policy reference\n\n\
               Every key of a policy and of its test cases. This page is made from the types that read them; \
               [policy.md](policy.md) explains how they work together.\n"
            .to_owned(),
        written: Vec::new(),
    };
    for (document, heading) in [(Document::Policy, "policy.yaml"), (Document::Cases, "policy.test.yaml")] {
        let schema = document.schema();
        let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
        page.object(heading, &schema, &definitions);
        page.referenced(&schema, &definitions);
    }
    page.text
}

struct Page {
    text: String,
    /// The definitions that have their section already.
    written: Vec<String>,
}

impl Page {
    /// Sections for everything that this refers to, in the order in which it does.
    fn referenced(&mut self, schema: &Value, definitions: &Map<String, Value>) {
        let mut names = Vec::new();
        collect(schema.get("properties").unwrap_or(&Value::Null), &mut names);
        for key in ["anyOf", "oneOf", "items", "additionalProperties"] {
            collect(schema.get(key).unwrap_or(&Value::Null), &mut names);
        }
        for name in names {
            let Some(definition) = definitions.get(&name) else { continue };
            if self.written.contains(&name) {
                continue;
            }
            self.written.push(name.clone());
            // What is `x` or `[x, y]`, and names as keys, need no section.
            if !is_plain(&name) {
                self.section(&name, definition, definitions);
            }
            self.referenced(definition, definitions);
        }
    }

    fn section(&mut self, name: &str, definition: &Value, definitions: &Map<String, Value>) {
        if definition.get("properties").is_some() {
            return self.object(name, definition, definitions);
        }
        self.heading(name, definition);
        let choices = definition.get("oneOf").or_else(|| definition.get("anyOf")).and_then(Value::as_array);
        for choice in choices.into_iter().flatten() {
            let words = described(choice);
            let _ = writeln!(
                self.text,
                "- {}{}",
                kind(choice),
                if words.is_empty() { words } else { format!(": {words}") }
            );
        }
        for value in definition.get("enum").and_then(Value::as_array).into_iter().flatten() {
            let _ = writeln!(self.text, "- `{}`", value.as_str().unwrap_or_default());
        }
        if let Some(pattern) = definition.get("pattern").and_then(Value::as_str) {
            let _ = writeln!(self.text, "A text of the form `{pattern}`.");
        }
    }

    fn object(&mut self, name: &str, definition: &Value, _: &Map<String, Value>) {
        self.heading(name, definition);
        self.text.push_str("| key | value | meaning |\n|---|---|---|\n");
        let required: Vec<&str> = definition
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (key, property) in definition.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let needed = if required.contains(&key.as_str()) { " (required)" } else { "" };
            let _ = writeln!(
                self.text,
                "| `{key}`{needed} | {} | {} |",
                cell(&kind(property)),
                cell(&described(property))
            );
        }
    }

    fn heading(&mut self, name: &str, definition: &Value) {
        let _ = write!(self.text, "\n## {name}\n\n");
        let words = described(definition);
        if !words.is_empty() {
            let _ = write!(self.text, "{words}\n\n");
        }
    }
}

fn is_plain(name: &str) -> bool {
    name.starts_with("OneOrMany") || matches!(name, "SeverityName" | "ModeName" | "Glob")
}

/// The names that a schema refers to, each once.
fn collect(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (key, member) in members {
                match (key.as_str(), member.as_str()) {
                    ("$ref", Some(target)) => {
                        let name = target.rsplit('/').next().unwrap_or_default().to_owned();
                        if !names.contains(&name) {
                            names.push(name);
                        }
                    }
                    _ => collect(member, names),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What may stand there, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return linked(target.rsplit('/').next().unwrap_or_default());
    }
    if let Some(value) = schema.get("const") {
        return format!("`{}`", value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let all: Vec<String> =
            values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
        return all.join(", ");
    }
    let choices = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    if let Some(choices) = choices {
        let all: Vec<String> = choices.iter().map(kind).filter(|choice| choice != "nothing").collect();
        return all.join(" or ");
    }
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        other => other.and_then(Value::as_str),
    };
    match types {
        Some("array") => {
            format!("list of {}", schema.get("items").map_or_else(|| "anything".to_owned(), kind))
        }
        Some("object") => match schema.get("properties").and_then(Value::as_object) {
            Some(members) => {
                let all: Vec<String> =
                    members.iter().map(|(key, member)| format!("`{key}`: {}", kind(member))).collect();
                format!("{{{}}}", all.join(", "))
            }
            None => match schema.get("additionalProperties").filter(|of| of.is_object()) {
                Some(of) => format!("table of {}", kind(of)),
                None => "table".to_owned(),
            },
        },
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("integer") => "whole number".to_owned(),
        Some("number") => "number".to_owned(),
        Some("string") => "text".to_owned(),
        Some("null") => "nothing".to_owned(),
        Some(_) | None => "anything".to_owned(),
    }
}

/// The name of a definition, linked to its section; what has none is said in words.
fn linked(name: &str) -> String {
    match name.strip_prefix("OneOrMany") {
        Some("String" | "string") => "text, or a list".to_owned(),
        Some(of) => format!("{}, or a list", linked(of)),
        None if name == "Glob" => "name or pattern".to_owned(),
        None if name.ends_with("Name") => linked(name.trim_end_matches("Name")),
        None => format!("[{name}](#{})", name.to_ascii_lowercase()),
    }
}

fn described(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ")
}

/// A text in a cell of a table, which a bar would end.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
