//! A tool's definition: found in a page of them, what of it counts, and how two of them differ.

use std::collections::{BTreeMap, HashSet};

use banksman_core::json::{CanonicalJson, Json, JsonError};
use banksman_core::{Annotations, Risk, Tier, Verdict};

use crate::names::misspelt_in;
use crate::pins::Change;

/// A longer page is no list of tools, but an attack on our memory.
pub(crate) const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// So many differences are told.
const SHOWN_DIFFERENCES: usize = 20;

/// How much of a text is shown in a difference.
const SHOWN_CHARS: usize = 400;

/// The rule that a verdict names when a tool is no longer what it was.
pub(crate) const CHANGED: &str = "mcp: the tool has changed since it was first seen";

/// What is said of a tool whose server took its change back.
const SAYS_THE_FIRST_AGAIN: &str =
    "The server now describes it to us as it was first seen; it may still tell its clients something else";

/// What is said of a changed tool if there is no room for more.
const IN_BRIEF: &str = "The server has described it otherwise than when it was first seen; it has too many tools to remember in what";

/// A tool, as its server describes it.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) annotations: Option<Annotations>,
    pub(crate) schema: Option<CanonicalJson>,
    /// What is different from what was first seen, in words.
    pub(crate) changes: Vec<String>,
}

impl Tool {
    pub(crate) fn bytes(&self) -> usize {
        let schema = self.schema.as_ref().map_or(0, |schema| schema.as_str().len());
        schema + self.changes.iter().map(String::len).sum::<usize>()
    }

    /// Only that it has changed, of a tool for which there is no more room.
    pub(crate) fn in_brief(self) -> Self {
        Self { annotations: self.annotations, schema: None, changes: vec![IN_BRIEF.to_owned()] }
    }

    /// What a call of it takes at the least.
    pub(crate) fn floor(&self) -> Option<Verdict> {
        if self.changes.is_empty() {
            return None;
        }
        let mut verdict = Verdict::new(Tier::Approve, Risk::High, CHANGED);
        verdict.messages.clone_from(&self.changes);
        Some(verdict)
    }
}

/// Why a page is no list of tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PageError {
    #[error("it is not strict JSON: {0}")]
    NotStrict(#[from] JsonError),
    #[error("it is longer than a page of tools may be")]
    TooLong,
    #[error("it has no list of `tools`")]
    NoList,
    #[error("it has a tool without a name")]
    Nameless,
    #[error("it names the tool {0:?} twice")]
    Twice(String),
    #[error("{0:?} is a name of the protocol but for its case, and some clients would take it for that")]
    Misspelt(String),
}

/// The tools of a page.
pub(crate) fn by_name(page: &Json) -> Result<Vec<(&str, &Json)>, PageError> {
    must_be_spelt(page, "tools")?;
    let Some(Json::Array(tools)) = page.get("tools") else { return Err(PageError::NoList) };
    let mut names = HashSet::new();
    let named = tools.iter().map(|tool| {
        must_be_spelt(tool, "name")?;
        let name = tool.get("name").and_then(Json::as_str).ok_or(PageError::Nameless)?;
        if names.insert(name) { Ok((name, tool)) } else { Err(PageError::Twice(name.to_owned())) }
    });
    named.collect()
}

/// What tells tools apart must not be there under a second name. What else is misspelt is pinned with the rest.
fn must_be_spelt(object: &Json, name: &str) -> Result<(), PageError> {
    misspelt_in(Some(object), &[name]).map_or(Ok(()), |key| Err(PageError::Misspelt(key.to_owned())))
}

/// What of a definition counts: everything but icons, which may change with a server's looks.
pub(crate) fn stable(tool: &Json) -> Json {
    let Json::Object(members) = tool else { return tool.clone() };
    let kept = members.iter().filter(|(key, _)| *key != "icons");
    let kept = kept.map(|(key, value)| (key.to_owned(), value.clone())).collect();
    banksman_core::json::Object::from_members(kept).map_or(Json::Null, Json::Object)
}

pub(crate) fn read(tool: &Json, changes: Vec<String>) -> Tool {
    let hint = |key: &str| match tool.get("annotations").and_then(|all| all.get(key)) {
        Some(Json::Bool(flag)) => Some(*flag),
        Some(_) | None => None,
    };
    let annotations = tool.get("annotations").map(|_| Annotations {
        read_only_hint: hint("readOnlyHint"),
        destructive_hint: hint("destructiveHint"),
        idempotent_hint: hint("idempotentHint"),
        open_world_hint: hint("openWorldHint"),
    });
    let schema = tool.get("inputSchema").filter(|schema| schema.as_object().is_some()).map(CanonicalJson::of);
    Tool { annotations, schema, changes }
}

/// A change, in words for those who are asked because of it.
pub(crate) fn told(change: &Change, taken_back: bool) -> Vec<String> {
    let mut told = differences(&change.first, &change.since);
    if taken_back {
        told.push(SAYS_THE_FIRST_AGAIN.to_owned());
    }
    if told.is_empty() {
        told.push(CHANGED.to_owned());
    }
    told
}

/// What is different between two definitions, member by member.
fn differences(before: &CanonicalJson, now: &CanonicalJson) -> Vec<String> {
    let members = |text: &CanonicalJson| -> BTreeMap<String, String> {
        match text.to_json() {
            Ok(Json::Object(members)) => members
                .iter()
                .map(|(key, value)| (key.to_owned(), CanonicalJson::of(value).as_str().to_owned()))
                .collect(),
            Ok(_) | Err(_) => BTreeMap::new(),
        }
    };
    let (before, now) = (members(before), members(now));
    let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
    keys.sort();
    keys.dedup();
    let shown = |text: Option<&String>| match text {
        Some(text) => text.chars().take(SHOWN_CHARS).collect::<String>(),
        None => "absent".to_owned(),
    };
    let mut differing = keys.into_iter().filter(|key| before.get(*key) != now.get(*key));
    let told = differing.by_ref().take(SHOWN_DIFFERENCES).map(|key| {
        format!(
            "The server has changed this tool since it was first seen: {} was {}, is now {}",
            shown(Some(key)),
            shown(before.get(key)),
            shown(now.get(key))
        )
    });
    let mut told: Vec<String> = told.collect();
    match differing.count() {
        0 => {}
        more => told.push(format!("The server has changed {more} more members of this tool")),
    }
    told
}
