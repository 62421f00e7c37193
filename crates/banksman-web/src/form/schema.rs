//! What an argument schema says about a value. It is the agent's text: nothing in it is believed further than to draw a
//! field, and the engine checks what comes back.

use banksman_core::json::{CanonicalJson, Json, Object};

/// How many references are followed: they may lead in a circle.
const REFERENCES: usize = 8;

/// How many choices a list to choose from has; beyond that typing is quicker.
const CHOICES: usize = 100;

/// What is said about one value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'a> {
    root: Option<&'a Json>,
    here: Option<&'a Json>,
}

impl<'a> Schema<'a> {
    pub(crate) fn of(root: Option<&'a Json>) -> Self {
        Self { root, here: root }.resolved()
    }

    fn at(self, here: Option<&'a Json>) -> Self {
        Self { root: self.root, here }.resolved()
    }

    fn resolved(self) -> Self {
        let mut here = self.here;
        for _ in 0..REFERENCES {
            let Some(reference) = here.and_then(|schema| schema.get("$ref")).and_then(Json::as_str) else {
                break;
            };
            here = self.lookup(reference);
        }
        Self { here, ..self }
    }

    /// Only within the schema itself.
    fn lookup(self, reference: &str) -> Option<&'a Json> {
        let steps = reference.strip_prefix("#/")?.split('/');
        steps.fold(self.root, |at, step| at?.get(&step.replace("~1", "/").replace("~0", "~")))
    }

    fn member(self, name: &str) -> Option<&'a Json> {
        self.here?.get(name)
    }

    fn text(self, name: &str) -> Option<&'a str> {
        self.member(name)?.as_str()
    }

    fn properties(self) -> Option<&'a Object> {
        self.member("properties")?.as_object()
    }

    /// The names of members that it knows.
    pub(crate) fn names(self) -> Vec<&'a str> {
        self.properties().map(|known| known.iter().map(|(name, _)| name).collect()).unwrap_or_default()
    }

    pub(crate) fn property(self, name: &str) -> Self {
        let known = self.properties().and_then(|known| known.get(name));
        self.at(known.or_else(|| self.member("additionalProperties")))
    }

    pub(crate) fn item(self, position: usize) -> Self {
        let fixed = match self.member("prefixItems") {
            Some(Json::Array(items)) => items.get(position),
            _ => None,
        };
        self.at(fixed.or_else(|| self.member("items")))
    }

    pub(crate) fn requires(self, name: &str) -> bool {
        match self.member("required") {
            Some(Json::Array(names)) => names.iter().any(|required| required.as_str() == Some(name)),
            _ => false,
        }
    }

    pub(crate) fn description(self) -> Option<&'a str> {
        self.text("description").or_else(|| self.text("title"))
    }

    /// The one type that it asks for, besides null.
    pub(crate) fn kind(self) -> Option<&'a str> {
        match self.member("type")? {
            Json::String(kind) => Some(kind),
            Json::Array(kinds) => {
                let mut kinds = kinds.iter().filter_map(Json::as_str).filter(|kind| *kind != "null");
                kinds.next().filter(|_| kinds.next().is_none())
            }
            _ => None,
        }
    }

    /// The values to choose from, if it lists them and each fits on a line.
    pub(crate) fn choices(self) -> Vec<&'a Json> {
        match (self.member("enum"), self.member("const")) {
            (Some(Json::Array(all)), _) if all.len() <= CHOICES && all.iter().all(is_scalar) => {
                all.iter().collect()
            }
            (None, Some(only)) if is_scalar(only) => vec![only],
            _ => Vec::new(),
        }
    }

    /// What else it demands, in words of ours and numbers of theirs.
    pub(crate) fn demands(self) -> Vec<String> {
        let number = |name: &str, words: &str| match self.member(name) {
            Some(value @ Json::Number(_)) => Some(format!("{words} {}", CanonicalJson::of(value).as_str())),
            _ => None,
        };
        let known =
            ["date", "date-time", "time", "duration", "email", "uri", "uuid", "ipv4", "ipv6", "hostname"];
        let format = self.text("format").filter(|format| known.contains(format));
        [
            self.kind().filter(|kind| *kind == "integer").map(|_| "a whole number".to_owned()),
            number("minimum", "at least"),
            number("exclusiveMinimum", "more than"),
            number("maximum", "at most"),
            number("exclusiveMaximum", "less than"),
            number("multipleOf", "a multiple of"),
            number("minLength", "characters, at least"),
            number("maxLength", "characters, at most"),
            number("minItems", "items, at least"),
            number("maxItems", "items, at most"),
            format.map(|format| format!("format {format}")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The least value of its type, for someone to fill in.
    pub(crate) fn blank(self, depth: usize) -> Json {
        if let Some(usual) = self.member("default").or_else(|| self.choices().first().copied()) {
            return usual.clone();
        }
        match self.kind() {
            Some("object") if depth > 0 => {
                let required = self.names().into_iter().filter(|name| self.requires(name));
                let members = required.map(|name| (name.to_owned(), self.property(name).blank(depth - 1)));
                Object::from_members(members.collect()).map_or(Json::Null, Json::Object)
            }
            Some("array") => Json::Array(Vec::new()),
            Some("string") => Json::String(String::new()),
            Some("number" | "integer") => {
                CanonicalJson::parse(b"0").and_then(|zero| zero.to_json()).unwrap_or(Json::Null)
            }
            Some("boolean") => Json::Bool(false),
            _ => Json::Null,
        }
    }
}

fn is_scalar(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
        Json::Array(_) | Json::Object(_) => false,
    }
}
