//! Asks the arguments of an action: is `amount` more than 500?

use std::cmp::Ordering;

use banksman_core::json::{Json, Number};
use regex::Regex;

use crate::file::{ArgumentTest, Conditions, Literal};
use crate::glob::Glob;
use crate::satisfiable::hopeless;

/// Whether something holds; what cannot be decided is its own answer, because it must raise and never lower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    Unclear(String),
}

impl Answer {
    /// Both have to hold. A plain no beats what is unclear: the rule is not about this action either way.
    pub(crate) fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::No => Self::No,
            Self::Yes => other(),
            Self::Unclear(why) => match other() {
                Self::No => Self::No,
                Self::Yes | Self::Unclear(_) => Self::Unclear(why),
            },
        }
    }

    pub(crate) fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// One argument, and what it has to be.
#[derive(Debug)]
pub(crate) struct Argument {
    written: String,
    pub(crate) path: Vec<String>,
    pub(crate) tests: Vec<Test>,
}

#[derive(Debug)]
pub(crate) enum Test {
    Equals(Json),
    Not(Json),
    OneOf(Vec<Json>),
    NotIn(Vec<Json>),
    Regex(Regex),
    Glob(Glob),
    Contains(Json),
    Compare(Comparison, Number),
    Present(bool),
    Truthy(bool),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Comparison {
    More,
    AtLeast,
    Less,
    AtMost,
}

impl Argument {
    /// Compiles a test; the error says what is wrong with it.
    pub(crate) fn compile(path: &str, test: &ArgumentTest) -> Result<Self, String> {
        let tests = match test {
            ArgumentTest::Value(value) => vec![Test::Equals(value.to_json()?)],
            ArgumentTest::Conditions(conditions) => compile_conditions(conditions)?,
        };
        if tests.is_empty() {
            return Err(
                "says nothing about the argument; use {present: true} if it only has to be there".into()
            );
        }
        if let Some(why) = hopeless(&tests.iter().collect::<Vec<_>>()) {
            return Err(format!("can never match: {why}"));
        }
        Ok(Self { written: path.to_owned(), path: split_path(path)?, tests })
    }

    pub(crate) fn ask(&self, args: &Json) -> Answer {
        let value = look_up(args, &self.path);
        self.tests.iter().fold(Answer::Yes, |answer, test| answer.and(|| test.ask(value, &self.written)))
    }
}

/// What is at the end of a path.
pub(crate) fn look_up<'j>(args: &'j Json, path: &[String]) -> Option<&'j Json> {
    path.iter().try_fold(args, |at, key| match at {
        Json::Object(members) => members.get(key),
        Json::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    })
}

pub(crate) fn compile_conditions(written: &Conditions) -> Result<Vec<Test>, String> {
    let mut tests = Vec::new();
    let list = |values: &Vec<Literal>| values.iter().map(Literal::to_json).collect::<Result<Vec<_>, _>>();
    if let Some(value) = &written.equals {
        tests.push(Test::Equals(value.to_json()?));
    }
    if let Some(value) = &written.not {
        tests.push(Test::Not(value.to_json()?));
    }
    if let Some(values) = &written.one_of {
        tests.push(Test::OneOf(list(values)?));
    }
    if let Some(values) = &written.not_in {
        tests.push(Test::NotIn(list(values)?));
    }
    if let Some(regex) = &written.regex {
        tests.push(Test::Regex(Regex::new(regex).map_err(|error| format!("bad regex: {error}"))?));
    }
    if let Some(glob) = &written.glob {
        tests.push(Test::Glob(glob.clone()));
    }
    if let Some(value) = &written.contains {
        tests.push(Test::Contains(value.to_json()?));
    }
    for (limit, comparison) in [
        (written.gt, Comparison::More),
        (written.gte, Comparison::AtLeast),
        (written.lt, Comparison::Less),
        (written.lte, Comparison::AtMost),
    ] {
        if let Some(limit) = limit {
            tests.push(Test::Compare(comparison, number(limit)?));
        }
    }
    tests.extend(written.present.map(Test::Present));
    tests.extend(written.truthy.map(Test::Truthy));
    Ok(tests)
}

/// `customer.id`, or a JSON pointer for names that have dots in them.
pub(crate) fn split_path(path: &str) -> Result<Vec<String>, String> {
    if let Some(pointer) = path.strip_prefix('/') {
        return Ok(pointer.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect());
    }
    if path.split('.').any(str::is_empty) {
        return Err(format!("{path:?} is no path to an argument: write customer.id, or a JSON pointer"));
    }
    Ok(path.split('.').map(str::to_owned).collect())
}

fn number(value: f64) -> Result<Number, String> {
    // The shortest decimal text of a double is what its writer wrote.
    Number::parse(&value.to_string()).ok_or_else(|| format!("{value} is not a number that can be compared"))
}

impl Literal {
    fn to_json(&self) -> Result<Json, String> {
        Ok(match self {
            Self::Bool(value) => Json::Bool(*value),
            Self::Whole(value) => {
                Json::Number(Number::parse(&value.to_string()).ok_or("a number that cannot be compared")?)
            }
            Self::Decimal(value) => Json::Number(number(*value)?),
            Self::Text(text) => Json::String(text.clone()),
            Self::Null(()) => Json::Null,
        })
    }
}

impl Test {
    pub(crate) fn ask(&self, value: Option<&Json>, name: &str) -> Answer {
        if let Self::Present(wanted) = self {
            return Answer::of(value.is_some() == *wanted);
        }
        let Some(value) = value else {
            // What is not there is no value, so it is another one than any.
            return Answer::of(matches!(self, Self::Not(_) | Self::NotIn(_) | Self::Truthy(false)));
        };
        match self {
            Self::Equals(wanted) => Answer::of(value == wanted),
            Self::Not(unwanted) => is_none_of(value, std::slice::from_ref(unwanted), name),
            Self::OneOf(wanted) => Answer::of(wanted.contains(value)),
            Self::NotIn(unwanted) => is_none_of(value, unwanted, name),
            Self::Regex(regex) => on_text(value, name, |text| regex.is_match(text)),
            Self::Glob(glob) if glob.exact().is_some() && glob.exact() == value.as_str() => Answer::Yes,
            Self::Glob(glob) => on_text(value, name, |text| glob.fits(text)),
            Self::Contains(wanted) => contains(value, wanted, name),
            Self::Compare(comparison, limit) => match value {
                Json::Number(number) => Answer::of(comparison.holds(number.cmp(limit))),
                other => Answer::Unclear(format!("{name} is {}, not a number", other.kind_name())),
            },
            Self::Present(wanted) => Answer::of(*wanted),
            Self::Truthy(wanted) => Answer::of(is_truthy(value) == *wanted),
        }
    }
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
        }
    }
}

/// A pattern for texts, asked of something else: nobody can say what the rule's author would have wanted. Nor of a path
/// that leads back out of where it seems to be.
fn on_text(value: &Json, name: &str, fits: impl Fn(&str) -> bool) -> Answer {
    match value {
        Json::String(text) => match without_detours(text) {
            Some(plain) if fits(text) || fits(&plain) => {
                Answer::Unclear(format!("{name} goes up by `..`, so it may lead elsewhere than it seems"))
            }
            Some(_) => Answer::No,
            None => Answer::of(fits(text)),
        },
        other => Answer::Unclear(format!("{name} is {}, not a text", other.kind_name())),
    }
}

/// Where a path with `..` in it leads, also if it is written with backslashes or percent signs; `None` if it has none.
fn without_detours(text: &str) -> Option<String> {
    if !text.contains("..") && !text.contains('%') {
        return None;
    }
    let mut decoded = text.to_owned();
    for (written, meant) in
        [("%25", "%"), ("%2e", "."), ("%2E", "."), ("%2f", "/"), ("%2F", "/"), ("%5c", "/"), ("%5C", "/")]
    {
        decoded = decoded.replace(written, meant);
    }
    let parts: Vec<&str> = decoded.split(['/', '\\']).collect();
    if !parts.contains(&"..") {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    for part in parts {
        match (part, kept.last()) {
            (".", _) => {}
            ("..", Some(last)) if !matches!(*last, "" | "..") => {
                kept.pop();
            }
            _ => kept.push(part),
        }
    }
    Some(kept.join("/"))
}

/// Whether a value is another one than these. One of another type is, word for word; whether it is to the tool, nobody can
/// say: `"5"` and `["prod"]` are 5 and prod to many.
fn is_none_of(value: &Json, unwanted: &[Json], name: &str) -> Answer {
    let kind = value.kind_name();
    let is_null = |value: &Json| matches!(value, Json::Null);
    if unwanted.contains(value) {
        Answer::No
    } else if is_null(value)
        || unwanted.iter().all(is_null)
        || unwanted.iter().any(|other| other.kind_name() == kind)
    {
        Answer::Yes
    } else {
        Answer::Unclear(format!("{name} is {kind}, and is compared with something else"))
    }
}

fn contains(value: &Json, wanted: &Json, name: &str) -> Answer {
    match (value, wanted) {
        (Json::String(_), Json::String(part)) => on_text(value, name, |text| text.contains(part)),
        (Json::Array(items), wanted) => Answer::of(items.contains(wanted)),
        (Json::Object(members), Json::String(key)) => Answer::of(members.get(key).is_some()),
        (other, _) => Answer::Unclear(format!("{name} is {}, which contains nothing", other.kind_name())),
    }
}

fn is_truthy(value: &Json) -> bool {
    match value {
        Json::Bool(value) => *value,
        Json::Number(number) => number.to_f64() != 0.0,
        Json::String(text) => {
            matches!(text.trim().to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1" | "y" | "t")
        }
        Json::Null => false,
        Json::Array(items) => !items.is_empty(),
        Json::Object(members) => !members.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use banksman_core::json::parse;

    use super::*;

    fn ask(path: &str, test: &str, args: &str) -> Answer {
        let test: ArgumentTest = serde_saphyr::from_str(test).unwrap();
        Argument::compile(path, &test).unwrap().ask(&parse(args.as_bytes()).unwrap())
    }

    #[test]
    fn values_are_compared_in_type() {
        assert_eq!(ask("a", "true", r#"{"a": true}"#), Answer::Yes);
        assert_eq!(ask("a", "true", r#"{"a": "true"}"#), Answer::No);
        assert_eq!(ask("a", "\"true\"", r#"{"a": "true"}"#), Answer::Yes);
        assert_eq!(ask("a", "{truthy: true}", r#"{"a": "True"}"#), Answer::Yes);
        assert_eq!(ask("a", "{truthy: false}", r#"{}"#), Answer::Yes);
        assert_eq!(ask("a", "899", r#"{"a": 899.00}"#), Answer::Yes);
        assert_eq!(ask("a", "0.1", r#"{"a": 0.1}"#), Answer::Yes);
    }

    #[test]
    fn numbers_are_compared_exactly() {
        assert_eq!(ask("a", "{gt: 500}", r#"{"a": 500}"#), Answer::No);
        assert_eq!(ask("a", "{gt: 500}", r#"{"a": 500.0000000000000000001}"#), Answer::Yes);
        assert_eq!(ask("a", "{gte: 500, lt: 1000}", r#"{"a": 999.99}"#), Answer::Yes);
        assert_eq!(ask("a", "{lt: 0}", r#"{"a": -1e300}"#), Answer::Yes);
    }

    #[test]
    fn a_number_in_quotes_does_not_slip_past_a_limit() {
        assert!(matches!(ask("a", "{gt: 500}", r#"{"a": "899"}"#), Answer::Unclear(_)));
        assert!(matches!(ask("a", "{regex: x}", r#"{"a": ["x"]}"#), Answer::Unclear(_)));
    }

    #[test]
    fn expressions_are_searched_anywhere() {
        assert_eq!(ask("a", "{regex: 'etc/'}", r#"{"a": "/etc/passwd"}"#), Answer::Yes);
        assert_eq!(ask("a", "{glob: '/etc/*'}", r#"{"a": "/tmp/etc/x"}"#), Answer::No);
    }

    #[test]
    fn paths_lead_into_objects_and_lists() {
        assert_eq!(ask("c.id", "7", r#"{"c": {"id": 7}}"#), Answer::Yes);
        assert_eq!(ask("c.1", "7", r#"{"c": [1, 7]}"#), Answer::Yes);
        assert_eq!(ask("/a.b/~1", "7", r#"{"a.b": {"/": 7}}"#), Answer::Yes);
        assert_eq!(ask("c.id", "{present: false}", r#"{"c": 1}"#), Answer::Yes);
    }

    #[test]
    fn what_is_not_there_is_no_value() {
        assert_eq!(ask("a", "{not: 1}", "{}"), Answer::Yes);
        assert_eq!(ask("a", "{gt: 1}", "{}"), Answer::No);
        assert_eq!(ask("a", "{in: [1, x]}", "{}"), Answer::No);
    }

    #[test]
    fn what_can_never_match_is_refused() {
        for test in [
            "{}",
            "{in: []}",
            "{in: [1, 2], gt: 3}",
            "{equals: x, in: [a, b]}",
            "{equals: true, not: true}",
            "{in: [a, b], not_in: [b, a]}",
            "{equals: 1, present: false}",
            "{gt: 5, lt: 3}",
            "{gt: 10, gte: 1, lt: 5, lte: 20}",
            "{gt: 5, lte: 5}",
            "{gte: 5, lte: 5, not: 5}",
            "{gt: 5, regex: x}",
            "{glob: 'a*', gte: 0}",
            "{contains: 1, regex: x}",
            "{glob: abc, regex: x}",
            "{equals: abc, regex: '^b'}",
            "{regex: '$a'}",
            "{regex: '('}",
            "{truthy: true, equals: 'no'}",
        ] {
            let test = serde_saphyr::from_str::<ArgumentTest>(test).unwrap();
            assert!(Argument::compile("a", &test).is_err(), "{test:?}");
        }
        for test in [
            "{gte: 5, lte: 5}",
            "{gt: 5, lt: 5.0001, not: 5.00005}",
            "{in: [1, 2], gt: 1}",
            "{contains: x, regex: z}",
            "{not: 1, truthy: false}",
            "{not_in: [], glob: '*'}",
        ] {
            let read = serde_saphyr::from_str::<ArgumentTest>(test).unwrap();
            assert!(Argument::compile("a", &read).is_ok(), "{test}");
        }
        assert!(Argument::compile("a..b", &ArgumentTest::Value(Literal::Bool(true))).is_err());
    }
}
