//! What changed between two policies, entry by entry and field by field, and which way.

use std::collections::BTreeMap;

use banksman_config::{ConfigError, Seconds, Source};
use banksman_core::{Risk, Tier};
use serde_json::Value;

/// One thing that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The entry: `rules.large-refunds`, `tools.read`, `defaults`.
    pub entry: String,
    /// The field in it; none if the whole entry came or went.
    pub field: Option<String>,
    /// What it was; none if it is new.
    pub old: Option<String>,
    /// What it is; none if it is gone.
    pub new: Option<String>,
    /// Which way that goes.
    pub effect: Effect,
}

/// Which way a change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It can only demand more.
    Stricter,
    /// It can demand less.
    Milder,
    /// It depends on the action.
    Depends,
    /// Only words for people.
    Words,
}

impl Effect {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stricter => "stricter",
            Self::Milder => "milder",
            Self::Depends => "depends",
            Self::Words => "words",
        }
    }

    fn reversed(self) -> Self {
        match self {
            Self::Stricter => Self::Milder,
            Self::Milder => Self::Stricter,
            Self::Depends | Self::Words => self,
        }
    }
}

/// Everything that differs, in the order of the entries' names.
///
/// # Errors
/// If one of the texts is no YAML. That they are policies is for the caller to know.
pub fn differences(old: &[Source], new: &[Source]) -> Result<Vec<Difference>, ConfigError> {
    let (old, new) = (entries(old)?, entries(new)?);
    let mut found = Vec::new();
    for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
        match (old.get(name), new.get(name)) {
            (Some(before), Some(after)) if before != after => compare(&mut found, name, before, after),
            (Some(before), None) => found.push(whole(name, Some(before), None)),
            (None, Some(after)) => found.push(whole(name, None, Some(after))),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    found.sort_by(|a, b| a.entry.cmp(&b.entry));
    Ok(found)
}

/// The entries of a policy by name. Lists of things with ids, and tables, have an entry for each; what is left is an
/// entry by itself.
fn entries(sources: &[Source]) -> Result<BTreeMap<String, Value>, ConfigError> {
    let mut entries = BTreeMap::new();
    for source in sources {
        let document: BTreeMap<String, Value> = source.read_as()?;
        for (section, value) in document.into_iter().filter(|(section, _)| section != "version") {
            add(&mut entries, section, normal(value));
        }
    }
    Ok(entries)
}

fn add(entries: &mut BTreeMap<String, Value>, name: String, value: Value) {
    match value {
        Value::Array(items) if items.iter().any(|item| item.get("id").is_some()) => {
            for mut item in items {
                let id = item.as_object_mut().and_then(|item| item.remove("id"));
                let id = id.as_ref().and_then(Value::as_str).unwrap_or("?").to_owned();
                entries.insert(format!("{name}.{id}"), item);
            }
        }
        Value::Object(members) if is_table(&name) => {
            for (key, member) in members {
                add(entries, format!("{name}.{key}"), member);
            }
        }
        Value::Null => {}
        value => {
            entries.insert(name, value);
        }
    }
}

/// Sections whose members are things of their own.
fn is_table(name: &str) -> bool {
    !matches!(name, "defaults" | "costs" | "preset") && !name.contains('.')
}

/// The same, spelled the same: time spans in seconds, lists of one as the one.
fn normal(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let spelled = members.into_iter().map(|(key, member)| {
                let seconds = matches!(key.as_str(), "timeout" | "claim_within" | "lease")
                    .then(|| Seconds::parse(member.as_str()?))
                    .flatten();
                let member = seconds.map_or_else(|| normal(member), |Seconds(seconds)| Value::from(seconds));
                (key, member)
            });
            Value::Object(spelled.collect())
        }
        Value::Array(mut items) if items.len() == 1 && items.iter().all(Value::is_string) => {
            items.pop().unwrap_or_default()
        }
        Value::Array(items) => Value::Array(items.into_iter().map(normal).collect()),
        other => other,
    }
}

fn compare(found: &mut Vec<Difference>, entry: &str, before: &Value, after: &Value) {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        let effect = direction(entry, entry, Some(before), Some(after));
        found.push(Difference {
            entry: entry.to_owned(),
            field: None,
            old: Some(shown(before)),
            new: Some(shown(after)),
            effect,
        });
        return;
    };
    for field in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
        let (before, after) = (old.get(field), new.get(field));
        if before != after {
            found.push(Difference {
                entry: entry.to_owned(),
                field: Some(field.clone()),
                old: before.map(shown),
                new: after.map(shown),
                effect: direction(entry, field, before, after),
            });
        }
    }
}

fn whole(entry: &str, before: Option<&Value>, after: Option<&Value>) -> Difference {
    let effect = match (before, after) {
        (Some(gone), None) => coming(entry, gone).reversed(),
        (None, Some(new)) => coming(entry, new),
        _ => Effect::Depends,
    };
    Difference { entry: entry.to_owned(), field: None, old: before.map(shown), new: after.map(shown), effect }
}

/// What an entry does by coming: rules raise, except that they may accept findings, or name a tool for the first time.
fn coming(entry: &str, value: &Value) -> Effect {
    let section = entry.split('.').next().unwrap_or_default();
    let held = tier(value.get("tier")).is_some_and(|tier| tier >= Tier::Approve);
    match section {
        "rules" if value.get("accepts").is_some() => Effect::Milder,
        "rules" if value.pointer("/match/tool").is_some() && !held => Effect::Depends,
        "tools" if !held => Effect::Milder,
        "rules" | "tools" | "risks" => Effect::Stricter,
        _ => Effect::Depends,
    }
}

fn direction(entry: &str, field: &str, before: Option<&Value>, after: Option<&Value>) -> Effect {
    let ordered = |order: Option<std::cmp::Ordering>| match order {
        Some(std::cmp::Ordering::Less) => Effect::Stricter,
        Some(std::cmp::Ordering::Greater) => Effect::Milder,
        Some(std::cmp::Ordering::Equal) | None => Effect::Depends,
    };
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    match field {
        "message" | "description" => Effect::Words,
        "tier" => ordered(Some(tier(before).cmp(&tier(after)))),
        "risk" if !entry.starts_with("risk.") => ordered(Some(risk(before).cmp(&risk(after)))),
        "quorum" => ordered(number(before).unwrap_or(1.0).partial_cmp(&number(after).unwrap_or(1.0))),
        // None at all is the default's time, which may be longer or shorter.
        "timeout" | "claim_within" | "lease" | "review_above_usd" => {
            ordered(number(after).zip(number(before)).and_then(|(after, before)| after.partial_cmp(&before)))
        }
        "require_reason" | "require_passkey" => ordered(Some(yes(before).cmp(&yes(after)))),
        "allow_remember" => match (before.and_then(Value::as_bool), after.and_then(Value::as_bool)) {
            (_, Some(false)) | (Some(true), _) => Effect::Stricter,
            (_, Some(true)) | (Some(false), _) => Effect::Milder,
            (None, None) => Effect::Depends,
        },
        "roles" => more(before, after),
        "accepts" => more(before, after).reversed(),
        _ => Effect::Depends,
    }
}

fn tier(value: Option<&Value>) -> Option<Tier> {
    value.and_then(Value::as_str).and_then(|name| name.parse().ok())
}

fn risk(value: Option<&Value>) -> Option<Risk> {
    value.and_then(Value::as_str).and_then(|name| name.parse().ok())
}

fn yes(value: Option<&Value>) -> bool {
    value.and_then(Value::as_bool).unwrap_or(false)
}

/// Whether a list has grown or shrunk.
fn more(before: Option<&Value>, after: Option<&Value>) -> Effect {
    let (before, after) = (items(before), items(after));
    if before.iter().all(|item| after.contains(item)) {
        Effect::Stricter
    } else if after.iter().all(|item| before.contains(item)) {
        Effect::Milder
    } else {
        Effect::Depends
    }
}

fn items(value: Option<&Value>) -> Vec<&Value> {
    match value {
        None => Vec::new(),
        Some(Value::Array(items)) => items.iter().collect(),
        Some(one) => vec![one],
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
