//! From the fields of a form back to arguments.

use std::collections::BTreeMap;

use banksman_core::json::{CanonicalJson, Json, JsonError, Object};

use super::path::Path;
use super::schema::Schema;

/// A field that a form sent: its name and its value.
pub type FormField = (String, String);

/// Deeper than this no form of ours goes.
const DEPTH: usize = 16;

/// What a value cannot be, and why: where it is (RFC 6901), and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Where it is among the arguments; empty for all of them.
    pub pointer: String,
    /// What is wrong.
    pub problem: String,
}

impl Misfit {
    fn at(path: &Path, problem: impl Into<String>) -> Self {
        Self { pointer: path.pointer(), problem: problem.into() }
    }
}

/// What someone made of the arguments.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The arguments as far as they could be read.
    pub args: CanonicalJson,
    /// What could not be read.
    pub misfits: Vec<Misfit>,
    /// What was typed there instead, to be shown again.
    pub typed: BTreeMap<String, String>,
    /// Whether a field was asked for rather than a picture of the change.
    pub asks_for_more: bool,
}

impl Draft {
    /// Arguments that nobody has touched yet.
    #[must_use]
    pub fn untouched(args: &CanonicalJson) -> Self {
        Self { args: args.clone(), misfits: Vec::new(), typed: BTreeMap::new(), asks_for_more: false }
    }
}

/// Values that are being put together.
#[derive(Default)]
struct Node {
    is_list: bool,
    leaf: Option<Json>,
    members: Vec<(String, Node)>,
}

impl Node {
    fn at(&mut self, steps: &[String]) -> &mut Self {
        let Some((step, rest)) = steps.split_first() else { return self };
        let place = match self.members.iter().position(|(name, _)| name == step) {
            Some(place) => place,
            None => {
                self.members.push((step.clone(), Self::default()));
                self.members.len() - 1
            }
        };
        #[expect(clippy::indexing_slicing, reason = "the place was just found or made")]
        self.members[place].1.at(rest)
    }

    fn into_json(self) -> Json {
        if let Some(leaf) = self.leaf {
            return leaf;
        }
        let mut members = self.members;
        if self.is_list {
            members.sort_by_key(|(position, _)| position.parse::<usize>().unwrap_or(usize::MAX));
            return Json::Array(members.into_iter().map(|(_, node)| node.into_json()).collect());
        }
        let members = members.into_iter().map(|(name, node)| (name, node.into_json())).collect();
        Object::from_members(members).map_or(Json::Null, Json::Object)
    }

    fn drop_at(&mut self, steps: &[String]) {
        if let Some((last, outer)) = steps.split_last() {
            self.at(outer).members.retain(|(name, _)| name != last);
        }
    }
}

/// The arguments that a form describes, given the arguments and the schema that it was drawn from.
#[must_use]
pub fn args_of_form(fields: &[FormField], before: &CanonicalJson, schema: Option<&CanonicalJson>) -> Draft {
    if let Some((_, raw)) = fields.iter().find(|(name, _)| name == "raw") {
        return of_raw(raw, before);
    }
    let mut draft = Draft::untouched(&CanonicalJson::of(&Json::Object(Object::default())));
    let mut root = Node::default();
    let mut dropped = Vec::new();
    let mut more = Vec::new();
    for (field, typed) in fields {
        let Some((kind, name)) = field.split_once(':') else { continue };
        let Some(path) = Path::from_name(name).filter(|path| path.steps().len() <= DEPTH) else { continue };
        match kind {
            "object" | "list" => root.at(path.steps()).is_list = kind == "list",
            "drop" => dropped.push(path),
            "more" => more.push(path),
            "text" | "optional" | "number" | "json" => match leaf(kind, typed) {
                Ok(None) => {}
                Ok(Some(value)) => {
                    let node = root.at(path.steps());
                    if node.leaf.replace(value).is_some() {
                        draft.misfits.push(Misfit::at(&path, "is there twice"));
                    }
                }
                Err(problem) => {
                    root.at(path.steps()).leaf = Some(Json::Null);
                    draft.misfits.push(Misfit::at(&path, problem));
                    draft.typed.insert(path.pointer(), typed.clone());
                }
            },
            _ => {}
        }
    }
    let schema = schema.and_then(|schema| schema.to_json().ok());
    draft.asks_for_more = !more.is_empty();
    for path in more {
        add(&mut root, Schema::of(schema.as_ref()), path.steps());
    }
    // Later positions first, though order does not matter: positions are names until the end.
    for path in dropped {
        root.drop_at(path.steps());
    }
    draft.args = CanonicalJson::of(&root.into_json());
    draft
}

/// What was typed as JSON. If it is none, the arguments stay as they were: a draft without any would pass for an edit that
/// takes everything out.
fn of_raw(raw: &str, before: &CanonicalJson) -> Draft {
    let mut draft = Draft::untouched(before);
    match CanonicalJson::parse(raw.as_bytes()) {
        Ok(args) if args.as_str().starts_with('{') => draft.args = args,
        Ok(_) => draft.misfits.push(Misfit::at(&Path::default(), "arguments are an object")),
        Err(JsonError { kind, offset }) => {
            let before = raw.get(..offset).unwrap_or(raw);
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            let problem = format!("{kind}, in line {line} at column {column}");
            draft.misfits.push(Misfit::at(&Path::default(), problem));
        }
    }
    if !draft.misfits.is_empty() {
        draft.typed.insert(String::new(), raw.to_owned());
    }
    draft
}

/// What one field says; nothing, if it says that there is no such value.
fn leaf(kind: &str, typed: &str) -> Result<Option<Json>, String> {
    // A browser sends every line break of a text area as two characters.
    let text = || Json::String(typed.replace("\r\n", "\n"));
    match kind {
        "text" => return Ok(Some(text())),
        "optional" => return Ok((!typed.is_empty()).then(text)),
        _ if typed.trim().is_empty() => return Ok(None),
        _ => {}
    }
    let value = CanonicalJson::parse(typed.trim().as_bytes())
        .and_then(|value| value.to_json())
        .map_err(|error| if kind == "number" { "expected a number".into() } else { error.to_string() })?;
    if kind == "number" && !matches!(value, Json::Number(_)) {
        return Err("expected a number".into());
    }
    Ok(Some(value))
}

/// One more item of a list, or a member that was not there.
fn add(root: &mut Node, schema: Schema<'_>, steps: &[String]) {
    let node = root.at(steps);
    let mut said = schema;
    for step in steps {
        said = step
            .parse()
            .ok()
            .filter(|_| said.kind() == Some("array"))
            .map_or_else(|| said.property(step), |at| said.item(at));
    }
    if node.is_list {
        let next = node
            .members
            .iter()
            .filter_map(|(at, _)| at.parse::<usize>().ok())
            .max()
            .map_or(0, |last| last + 1);
        let item = said.item(next).blank(DEPTH);
        node.members.push((next.to_string(), Node { leaf: Some(item), ..Node::default() }));
    } else if node.members.is_empty() {
        node.leaf = Some(said.blank(DEPTH));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[(&str, &str)], schema: Option<&str>) -> Draft {
        let fields: Vec<FormField> =
            fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let schema = schema.map(|schema| CanonicalJson::parse(schema.as_bytes()).unwrap());
        let before = CanonicalJson::parse(br#"{"to":"ann"}"#).unwrap();
        args_of_form(&fields, &before, schema.as_ref())
    }

    #[test]
    fn a_slip_in_the_json_leaves_the_arguments_as_they_were_and_is_said_by_line_and_column() {
        for (raw, problem) in [
            ("{\r\n  \"to\": \"bob\",,\r\n}", "unexpected character, in line 2 at column 15"),
            ("{\"to\": \"b\u{f6}b\", x}", "unexpected character, in line 1 at column 15"),
            ("[]", "arguments are an object"),
        ] {
            let draft = read(&[("raw", raw)], None);
            assert_eq!(draft.args.as_str(), r#"{"to":"ann"}"#, "{raw}");
            assert_eq!((draft.misfits[0].problem.as_str(), draft.typed[""].as_str()), (problem, raw));
        }
    }

    fn args(fields: &[(&str, &str)]) -> String {
        let draft = read(fields, None);
        assert_eq!(draft.misfits, [], "{fields:?}");
        draft.args.as_str().to_owned()
    }

    #[test]
    fn fields_become_arguments_of_their_kind() {
        let fields = [
            ("csrf", "x"),
            ("object:", ""),
            ("text:/to", "a\r\nb"),
            ("number:/n", " 9007199254740993 "),
            ("json:/list", "[1,\"two\"]"),
            ("json:/gone", ""),
            ("optional:/absent", ""),
            ("text:/empty", ""),
        ];
        assert_eq!(args(&fields), r#"{"empty":"","list":[1,"two"],"n":9007199254740993,"to":"a\nb"}"#);
        assert_eq!(args(&[("raw", "{\"b\":1,\"a\":2}")]), r#"{"a":2,"b":1}"#);
        assert_eq!(args(&[("text:/a%2Fb%0D%0A", "x")]), r#"{"a/b\r\n":"x"}"#);
    }

    #[test]
    fn structures_are_what_the_form_says_they_are() {
        let fields = [
            ("list:/to", ""),
            ("object:/to/0", ""),
            ("text:/to/0/name", "Ann"),
            ("object:/to/1", ""),
            ("text:/to/1/name", "Bob"),
            ("object:/by position", ""),
            ("text:/by%20position/0", "a key that looks like a place"),
            ("list:/none", ""),
            ("object:/empty", ""),
        ];
        assert_eq!(
            args(&fields),
            r#"{"by position":{"0":"a key that looks like a place"},"empty":{},"none":[],"to":[{"name":"Ann"},{"name":"Bob"}]}"#
        );
    }

    #[test]
    fn items_are_taken_out_and_added() {
        let three = [("list:/l", ""), ("text:/l/0", "a"), ("text:/l/1", "b"), ("text:/l/2", "c")];
        assert_eq!(args(&[&three[..], &[("drop:/l/1", "yes")]].concat()), r#"{"l":["a","c"]}"#);
        assert_eq!(args(&[&three[..], &[("drop:/l", "yes")]].concat()), "{}");
        let schema = r##"{"properties":{"l":{"type":"array","items":{"$ref":"#/$defs/item"}}},
                         "$defs":{"item":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}}"##;
        let draft = read(&[("list:/l", ""), ("more:/l", "")], Some(schema));
        assert_eq!((draft.args.as_str(), draft.asks_for_more), (r#"{"l":[{"n":0}]}"#, true));
        let draft = read(&[("more:/l", "")], Some(schema));
        assert_eq!(draft.args.as_str(), r#"{"l":[]}"#);
    }

    #[test]
    fn what_is_no_value_is_said_at_its_place_and_what_was_typed_is_kept() {
        for (fields, pointer) in [
            (&[("number:/n", "many")][..], "/n"),
            (&[("number:/n", "\"1\"")], "/n"),
            (&[("json:/a~1b", "[1,")], "/a~01b"),
            (&[("raw", "{\"a\":1,\"a\":2}")], ""),
            (&[("raw", "[1]")], ""),
            (&[("text:/a", "x"), ("text:/a", "y")], "/a"),
        ] {
            let draft = read(fields, None);
            assert_eq!(
                draft.misfits.first().map(|misfit| misfit.pointer.as_str()),
                Some(pointer),
                "{fields:?}"
            );
        }
        assert_eq!(read(&[("number:/n", "many")], None).typed["/n"], "many");
    }

    #[test]
    fn no_form_makes_it_fail() {
        let deep = format!("text:{}", "/a".repeat(500));
        for fields in [
            &[("text:", "x")][..],
            &[("drop:", ""), ("more:", "")],
            &[("list:", ""), ("text:/x", "y")],
            &[(deep.as_str(), "x")],
            &[("text:/a", "x"), ("text:/a/b", "y"), ("list:/a", "")],
            &[("more:/a/b/c", "")],
        ] {
            let _ = read(fields, Some(r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}"##));
        }
    }
}
