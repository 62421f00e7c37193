//! How much work a schema makes, found out before any of it is done.
//!
//! Validators follow every reference each time they meet it: a schema of a few kilobytes in which each part refers twice
//! to the next doubles the work with each part, and one that refers to itself twice doubles it with each level of the
//! arguments. Nothing ends a check once it has begun, so its steps are counted first, up to a limit. Where they depend
//! on what fits, the longer way is counted.

use std::collections::{BTreeMap, HashMap};
use std::ptr;

use jsonschema::{Draft, Registry, uri};
use serde_json::Value;

/// So many parts may a schema have, counting each once.
const PARTS: usize = 10_000;

/// So many steps may a check take.
const STEPS: usize = 500_000;

/// So deep may it go: parts within parts and values within values together. Validators use the stack.
const DEEPEST: usize = 256;

/// What `unevaluatedProperties` and `unevaluatedItems` look at is copied for each of them, references and all.
const COPIED: usize = 10_000;
const DEEPEST_COPY: usize = 64;

/// How often an expression may go back and try another way, and how many of our steps that is.
pub(super) const BACKTRACKING: usize = 100_000;
const BACKTRACKING_STEPS: usize = 2_500;

/// What the names of members are checked as: there is nothing in them.
static NAME: Value = Value::Null;

/// Where these lead depends on the way that led to them, which cannot be counted part by part.
const DYNAMIC: [&str; 4] = ["$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];

/// The parts of a schema and where they lead; the first is the whole.
pub(super) struct Plan(Vec<Part>);

#[derive(Default)]
struct Part {
    steps: usize,
    properties: BTreeMap<String, usize>,
    leads: Vec<Lead>,
    /// Whether it goes over everything beside it once more, to find what that did not look at.
    wants_the_rest: bool,
}

struct Lead {
    to: usize,
    of: Of,
    /// What it takes to find out whether it leads there.
    steps: usize,
    /// Whether it is about what nothing beside it looked at.
    is_rest: bool,
}

/// What of a value the part is about.
#[derive(Clone, Copy)]
enum Of {
    Itself,
    Names,
    Members,
    MembersBesideProperties,
    Elements,
    Element(usize),
}

/// Why a part is gone through: to see whether a value fits, or what of the value it looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Fits,
    Looks,
}

impl Plan {
    /// Finds the parts of a schema; `text` is the same in its canonical form.
    pub(super) fn new(schema: &Value, text: &str) -> Result<Self, String> {
        if let Some(word) = DYNAMIC.iter().find(|word| text.contains(&format!("\"{word}\":"))) {
            return Err(format!("{word} is not supported"));
        }
        let told = |error: jsonschema::ReferencingError| error.to_string();
        let draft = Draft::default().detect(schema);
        let whole = draft.create_resource_ref(schema);
        let base = uri::from_str(whole.id().unwrap_or("json-schema:///")).map_err(told)?;
        let documents = Registry::new().draft(draft).add(base.as_str(), whole).map_err(told)?;
        let documents = documents.prepare().map_err(told)?;

        // Where a reference leads depends on the address of the document that it is in.
        let resolver = documents.resolver(base);
        let mut known = HashMap::from([((ptr::from_ref(schema), resolver.base_uri()), 0)]);
        let mut found = vec![(schema, resolver, draft)];
        let mut parts = Vec::new();
        while let Some((schema, resolver, draft)) = found.get(parts.len()).cloned() {
            let mut part = Part { steps: 1, ..Part::default() };
            let mut below = Vec::new();
            for (keyword, value) in schema.as_object().into_iter().flatten() {
                part.steps = part.steps.saturating_add(own_steps(keyword, value));
                part.wants_the_rest |= is_rest(keyword);
                if keyword == "$ref"
                    && let Some(reference) = value.as_str().filter(|reference| !reference.is_empty())
                {
                    let (schema, resolver, draft) = resolver.lookup(reference).map_err(told)?.into_inner();
                    below.push((schema, resolver, draft, keyword.as_str(), None, Of::Itself));
                }
                for (name, schema, of) in applied(keyword, value) {
                    let draft = draft.detect(schema);
                    let within = resolver.in_subresource(draft.create_resource_ref(schema)).map_err(told)?;
                    below.push((schema, within, draft, keyword.as_str(), name, of));
                }
            }
            for (schema, resolver, draft, keyword, name, of) in below {
                let next = known.len();
                let to = *known.entry((ptr::from_ref(schema), resolver.base_uri())).or_insert(next);
                if to == next {
                    found.push((schema, resolver, draft));
                }
                let lead = Lead { to, of, steps: 0, is_rest: is_rest(keyword) };
                match (keyword, name) {
                    ("properties", Some(name)) => drop(part.properties.insert(name.to_owned(), to)),
                    ("patternProperties", Some(pattern)) => {
                        part.leads.push(Lead { steps: matching_steps(pattern), ..lead });
                    }
                    _ => part.leads.push(lead),
                }
            }
            parts.push(part);
            if known.len() > PARTS {
                return Err(format!("it has more than {PARTS} parts"));
            }
        }
        let plan = Self(parts);
        let mut copies = Walk::new(COPIED, DEEPEST_COPY);
        for (index, _) in plan.0.iter().enumerate().filter(|(_, part)| part.wants_the_rest) {
            plan.copy(index, &mut copies)
                .map_err(|TooMuch| "it refers to too much beside unevaluated parts")?;
        }
        Ok(plan)
    }

    /// How many steps it takes to check a value, unless they are too many.
    pub(super) fn steps(&self, value: &Value) -> Result<usize, TooMuch> {
        let mut walk = Walk::new(STEPS, DEEPEST);
        self.check(0, value, Why::Fits, &mut walk)?;
        Ok(walk.steps)
    }

    fn check<'v>(
        &self,
        index: usize,
        value: &'v Value,
        why: Why,
        walk: &mut Walk<'v>,
    ) -> Result<(), TooMuch> {
        let Some(part) = self.0.get(index) else { return Ok(()) };
        if !walk.enter(index, value, why)? {
            return Ok(());
        }
        walk.spend(part.steps)?;
        for lead in &part.leads {
            match (lead.of, value) {
                (Of::Itself, _) => {
                    self.check(lead.to, value, Why::Fits, walk)?;
                    if why == Why::Looks {
                        self.check(lead.to, value, Why::Looks, walk)?;
                    }
                }
                // What is looked at does not depend on what is in it, but for the rest.
                _ if why == Why::Looks && !lead.is_rest => {}
                (Of::Names, Value::Object(members)) => {
                    for _ in members {
                        self.check(lead.to, &NAME, Why::Fits, walk)?;
                    }
                }
                (Of::Members, Value::Object(members)) => {
                    for member in members.values() {
                        walk.spend(lead.steps)?;
                        self.check(lead.to, member, Why::Fits, walk)?;
                    }
                }
                (Of::MembersBesideProperties, Value::Object(members)) => {
                    for (name, member) in members {
                        if !part.properties.contains_key(name) {
                            self.check(lead.to, member, Why::Fits, walk)?;
                        }
                    }
                }
                (Of::Elements, Value::Array(elements)) => {
                    for element in elements {
                        self.check(lead.to, element, Why::Fits, walk)?;
                    }
                }
                (Of::Element(at), Value::Array(elements)) => {
                    if let Some(element) = elements.get(at) {
                        self.check(lead.to, element, Why::Fits, walk)?;
                    }
                }
                _ => {}
            }
        }
        if let (Why::Fits, Value::Object(members)) = (why, value) {
            for (name, member) in members {
                if let Some(to) = part.properties.get(name) {
                    self.check(*to, member, Why::Fits, walk)?;
                }
            }
        }
        if why == Why::Fits && part.wants_the_rest {
            self.check(index, value, Why::Looks, walk)?;
        }
        walk.leave();
        Ok(())
    }

    /// Goes through what is copied for a part that wants the rest.
    fn copy(&self, index: usize, walk: &mut Walk<'_>) -> Result<(), TooMuch> {
        let Some(part) = self.0.get(index) else { return Ok(()) };
        if !walk.enter(index, &NAME, Why::Looks)? {
            return Ok(());
        }
        walk.spend(1)?;
        for lead in part.leads.iter().filter(|lead| matches!(lead.of, Of::Itself)) {
            self.copy(lead.to, walk)?;
        }
        walk.leave();
        Ok(())
    }
}

/// A check would take too many steps, or go too deep.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMuch;

struct Walk<'v> {
    steps: usize,
    most: usize,
    deepest: usize,
    /// The way to where it is.
    way: Vec<(usize, &'v Value, Why)>,
}

impl<'v> Walk<'v> {
    fn new(most: usize, deepest: usize) -> Self {
        Self { steps: 0, most, deepest, way: Vec::new() }
    }

    fn spend(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.most { Err(TooMuch) } else { Ok(()) }
    }

    /// Whether there is anything to do: a part that leads back to itself with the same value says nothing new.
    fn enter(&mut self, part: usize, value: &'v Value, why: Why) -> Result<bool, TooMuch> {
        let same = self.way.iter().rev().take_while(|(_, on_the_way, _)| ptr::eq(*on_the_way, value));
        if same.into_iter().any(|(known, _, reason)| *known == part && *reason == why) {
            return Ok(false);
        }
        if self.way.len() >= self.deepest {
            return Err(TooMuch);
        }
        self.way.push((part, value, why));
        Ok(true)
    }

    fn leave(&mut self) {
        self.way.pop();
    }
}

/// The parts of a keyword, by name if they have one, and what they are about.
fn applied<'s>(keyword: &str, value: &'s Value) -> Vec<(Option<&'s str>, &'s Value, Of)> {
    let of = match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
        | "dependencies" => Of::Itself,
        "propertyNames" => Of::Names,
        "properties" | "patternProperties" => Of::Members,
        "additionalProperties" | "unevaluatedProperties" => Of::MembersBesideProperties,
        "items" | "prefixItems" | "additionalItems" | "contains" | "unevaluatedItems" => Of::Elements,
        _ => return Vec::new(),
    };
    match (keyword, value) {
        (
            "properties" | "patternProperties" | "dependentSchemas" | "dependencies",
            Value::Object(schemas),
        ) => schemas.iter().map(|(name, schema)| (Some(name.as_str()), schema, of)).collect(),
        ("items" | "prefixItems", Value::Array(schemas)) => {
            schemas.iter().enumerate().map(|(at, schema)| (None, schema, Of::Element(at))).collect()
        }
        ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
            schemas.iter().map(|schema| (None, schema, of)).collect()
        }
        _ => vec![(None, value, of)],
    }
}

fn is_rest(keyword: &str) -> bool {
    matches!(keyword, "unevaluatedProperties" | "unevaluatedItems")
}

/// What a keyword takes by itself, each time: most go through all that they list.
fn own_steps(keyword: &str, value: &Value) -> usize {
    match (keyword, value) {
        ("$defs" | "definitions" | "default" | "examples", _) => 0,
        ("pattern", Value::String(pattern)) => matching_steps(pattern),
        (_, Value::Array(list)) => list.len(),
        (_, Value::Object(list)) => list.len(),
        _ => 1,
    }
}

/// Expressions that look around or back are tried in every way; all others take one look at each character.
fn matching_steps(pattern: &str) -> usize {
    let looks = ["(?=", "(?!", "(?<=", "(?<!", "(?>", "(?("].iter().any(|group| pattern.contains(group));
    let goes_back = looks
        || ["++", "*+", "?+", "}+"].iter().any(|possessive| pattern.contains(possessive))
        || pattern.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| "123456789kGK".contains(c)));
    if goes_back { BACKTRACKING_STEPS } else { 1 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(schema: &Value) -> Result<Plan, String> {
        Plan::new(schema, &schema.to_string())
    }

    fn steps(schema: &Value, value: &Value) -> Result<usize, TooMuch> {
        plan(schema).unwrap().steps(value)
    }

    /// Parts in a row, each made of a reference to the one before.
    fn row(length: usize, first: Value, next: impl Fn(Value) -> Value) -> Value {
        let mut parts = serde_json::Map::from_iter([("d0".to_owned(), first)]);
        for n in 1..=length {
            let before = json!({"$ref": format!("#/$defs/d{}", n - 1)});
            parts.insert(format!("d{n}"), next(before));
        }
        json!({"$defs": parts, "$ref": format!("#/$defs/d{length}")})
    }

    fn nested(levels: usize, around: impl Fn(Value) -> Value) -> Value {
        (0..levels).fold(json!({}), |inner, _| around(inner))
    }

    #[test]
    fn references_count_each_time_they_are_followed() {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for first in [json!(true), json!(false)] {
                let twice = |length| row(length, first.clone(), |before| json!({keyword: [before, before]}));
                assert!(steps(&twice(8), &json!({})).unwrap() > 1 << 8);
                assert_eq!(steps(&twice(40), &json!({})), Err(TooMuch), "{keyword} {first}");
            }
        }
        let chain = |length| row(length, json!(true), |before| before);
        assert!(steps(&chain(200), &json!({})).is_ok());
        assert_eq!(steps(&chain(2_000), &json!({})), Err(TooMuch), "the stack is finite");
    }

    #[test]
    fn what_refers_to_itself_counts_by_what_it_is_asked_of() {
        let back = json!({"$ref": "#"});
        for twice in [
            json!({"items": {"allOf": [back, back]}, "additionalProperties": {"allOf": [back, back]}}),
            json!({"items": back, "additionalProperties": back, "anyOf": [
                {"items": back}, {"properties": {"x": back}, "patternProperties": {"x": back}}]}),
            json!({"items": back, "contains": back, "properties": {"x": {"not": back}}, "propertyNames": back,
                "patternProperties": {"x": back}}),
        ] {
            assert!(steps(&twice, &nested(5, |inner| json!([{"x": inner}]))).is_ok(), "{twice}");
            assert_eq!(steps(&twice, &nested(30, |inner| json!([{"x": inner}]))), Err(TooMuch), "{twice}");
        }
        let tree = json!({"properties": {"left": back, "right": back, "more": {"items": back}},
            "unevaluatedProperties": false, "additionalProperties": false});
        let value = nested(60, |inner| json!({"left": inner, "more": [{"right": {}}]}));
        assert!(steps(&tree, &value).unwrap() < 10_000);
        assert!(steps(&json!({"$ref": "#"}), &value).unwrap() < 10);
        assert!(steps(&json!({"allOf": [back, {"anyOf": [back]}]}), &value).unwrap() < 100);
    }

    #[test]
    fn what_is_left_over_costs_a_second_look_at_each_level() {
        let levels = |count| nested(count, |inner| json!({"unevaluatedProperties": false, "anyOf": [inner]}));
        assert!(steps(&levels(8), &json!({"a": 1})).unwrap() > 1 << 8);
        assert_eq!(steps(&levels(30), &json!({"a": 1})), Err(TooMuch));
        // Compiling these takes as much, whatever they are asked of.
        for (length, fans) in [(14, true), (200, false)] {
            let copies =
                row(
                    length,
                    json!(true),
                    |before| if fans { json!({"anyOf": [before, before]}) } else { before },
                );
            let mut hidden =
                json!({"properties": {"x": {"unevaluatedItems": false, "$ref": copies["$ref"]}}});
            hidden["$defs"] = copies["$defs"].clone();
            assert!(plan(&hidden).err().unwrap().contains("unevaluated"));
        }
    }

    #[test]
    fn references_by_address_and_by_name_are_followed() {
        let next = json!({"allOf": [{"$ref": "https://x.test/b"}, {"$ref": "https://x.test/b#/$defs/c"}]});
        let schema = json!({"$id": "https://x.test/a", "$ref": "#start", "$defs": {
            "a": {"$anchor": "start", "items": next},
            "b": {"$id": "b", "items": {"$ref": "a"}, "$defs": {"c": {"items": {"$ref": "/a#start"}}}}}});
        assert!(steps(&schema, &json!([[[]]])).is_ok());
        let deep = nested(60, |inner| json!([inner]));
        assert_eq!(steps(&schema, &deep), Err(TooMuch));
        let meta = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
        assert!(steps(&meta, &json!({"properties": {"a": {"items": {"type": "string"}}}})).is_ok());
        for (schema, problem) in [
            (json!({"$ref": "#/$defs/none"}), "none"),
            (json!({"$ref": "https://x.test/elsewhere"}), "elsewhere"),
            (json!({"properties": {"x": {"$dynamicRef": "#x"}}}), "$dynamicRef is not supported"),
        ] {
            assert!(plan(&schema).err().unwrap().contains(problem), "{schema}");
        }
    }

    #[test]
    fn lists_and_expressions_that_go_back_cost_more() {
        let words: Vec<String> = (0..3_000).map(|n| format!("{}{n}", "a".repeat(40))).collect();
        let of = |pattern: &str| steps(&json!({"items": {"pattern": pattern}}), &json!(words));
        assert!(of("^[a-z]+(?:-[0-9]+)?$").is_ok());
        assert_eq!(of("^(a|aa)+(?!x)c$"), Err(TooMuch));
        assert_eq!(of(r"^(a+)\1+$"), Err(TooMuch));
        assert_eq!(steps(&json!({"items": {"enum": words}}), &json!(words)), Err(TooMuch));
        assert!(plan(&json!({"prefixItems": vec![json!({"minimum": 1}); PARTS + 1]})).is_err());
    }

    #[test]
    fn what_people_write_is_far_from_any_limit() {
        let properties: serde_json::Map<String, Value> =
            (0..2_000).map(|n| (format!("p{n}"), json!({"type": "string", "pattern": "^[a-z]*$"}))).collect();
        let all: serde_json::Map<String, Value> = (0..2_000).map(|n| (format!("p{n}"), json!("x"))).collect();
        assert!(steps(&json!({"properties": properties}), &json!(all)).unwrap() < 20_000);
        let shared = json!({"$defs": {"money": {"type": "object", "properties": {"amount": {"type": "number"}}}},
            "properties": {"rows": {"items": {"additionalProperties": {"$ref": "#/$defs/money"}}}}});
        let row = json!({"net": {"amount": 1}, "tax": {"amount": 2}, "gross": {"amount": 3}});
        assert!(steps(&shared, &json!({"rows": vec![row; 5_000]})).is_ok());
        assert!(steps(&json!({"items": {"type": "integer"}}), &json!(vec![7; 100_000])).is_ok());
    }
}
