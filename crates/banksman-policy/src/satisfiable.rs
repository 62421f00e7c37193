//! Whether anything at all meets the conditions on one argument.
//!
//! Only what is sure is said: conditions that are called hopeless are met by no value, while some that nothing meets
//! may pass unnoticed. Values of another type than a condition asks about leave it undecided; they do not meet it.

use banksman_core::json::{Json, Number};

use crate::arguments::{Answer, Comparison, Test};
use crate::regex_reach;

/// Why no value meets all of these, if none does.
pub(crate) fn hopeless(tests: &[&Test]) -> Option<String> {
    let never_found = tests.iter().find_map(|test| match test {
        Test::Regex(regex) if !regex_reach::can_match(regex.as_str()) => Some(regex.as_str()),
        _ => None,
    });
    if let Some(pattern) = never_found {
        return Some(format!("no text matches the regular expression {pattern}"));
    }
    if let Some(values) = tests.iter().find_map(|test| only_values(test)) {
        let met = values.iter().any(|value| all_hold(tests, value.as_ref()));
        return (!met).then(|| "what one of the conditions asks for, another one rules out".to_owned());
    }
    if tests.iter().fold(u8::MAX, |types, test| types & types_for(test)) == 0 {
        return Some(
            "nothing is a number and a text, or whatever else these conditions ask, at once".to_owned(),
        );
    }
    empty_range(tests)
}

fn all_hold(tests: &[&Test], value: Option<&Json>) -> bool {
    tests.iter().all(|test| test.ask(value, "") == Answer::Yes)
}

/// The only values that meet a test, if they can be counted; `None` is an argument that is not there.
fn only_values(test: &Test) -> Option<Vec<Option<Json>>> {
    match test {
        Test::Equals(value) => Some(vec![Some(value.clone())]),
        Test::OneOf(values) => Some(values.iter().cloned().map(Some).collect()),
        Test::Present(false) => Some(vec![None]),
        Test::Glob(glob) => glob.exact().map(|name| vec![Some(Json::String(name.to_owned()))]),
        Test::Not(_)
        | Test::NotIn(_)
        | Test::Regex(_)
        | Test::Contains(_)
        | Test::Compare(..)
        | Test::Present(true)
        | Test::Truthy(_) => None,
    }
}

const NUMBER: u8 = 1;
const TEXT: u8 = 2;
const LIST: u8 = 4;
const OBJECT: u8 = 8;

/// The types of value that can meet a test, as bits.
fn types_for(test: &Test) -> u8 {
    match test {
        Test::Compare(..) => NUMBER,
        Test::Regex(_) | Test::Glob(_) => TEXT,
        Test::Contains(Json::String(_)) => TEXT | LIST | OBJECT,
        Test::Contains(_) => LIST,
        Test::Equals(_)
        | Test::Not(_)
        | Test::OneOf(_)
        | Test::NotIn(_)
        | Test::Present(_)
        | Test::Truthy(_) => u8::MAX,
    }
}

/// One end of a range of numbers.
#[derive(Clone, Copy)]
struct End<'n> {
    at: &'n Number,
    included: bool,
}

fn empty_range(tests: &[&Test]) -> Option<String> {
    let (mut least, mut most): (Option<End<'_>>, Option<End<'_>>) = (None, None);
    for test in tests {
        let Test::Compare(comparison, limit) = test else { continue };
        let at_limit = |included| End { at: limit, included };
        match comparison {
            Comparison::More => raise(&mut least, at_limit(false)),
            Comparison::AtLeast => raise(&mut least, at_limit(true)),
            Comparison::Less => lower(&mut most, at_limit(false)),
            Comparison::AtMost => lower(&mut most, at_limit(true)),
        }
    }
    let (least, most) = (least?, most?);
    let empty = least.at > most.at
        || (least.at == most.at
            && !(least.included && most.included && all_hold(tests, Some(&Json::Number(least.at.clone())))));
    let bound = |end: End<'_>, open: &str, closed: &str| {
        format!("{} {}", if end.included { closed } else { open }, end.at)
    };
    empty.then(|| {
        let from = bound(least, "more than", "at least");
        let to = bound(most, "less than", "at most");
        format!("no number is {from} and {to} and meets the rest")
    })
}

fn raise<'n>(least: &mut Option<End<'n>>, end: End<'n>) {
    let stricter = least.is_none_or(|old| end.at > old.at || (end.at == old.at && !end.included));
    if stricter {
        *least = Some(end);
    }
}

fn lower<'n>(most: &mut Option<End<'n>>, end: End<'n>) {
    let stricter = most.is_none_or(|old| end.at < old.at || (end.at == old.at && !end.included));
    if stricter {
        *most = Some(end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arguments::compile_conditions;
    use crate::file::{Conditions, Literal};

    fn literal() -> impl Strategy<Value = Literal> {
        prop_oneof![
            any::<bool>().prop_map(Literal::Bool),
            (0..4i64).prop_map(Literal::Whole),
            prop::sample::select(vec!["a", "ab", "yes", "1"]).prop_map(|text| Literal::Text(text.to_owned())),
            Just(Literal::Null(())),
        ]
    }

    fn limit() -> BoxedStrategy<Option<f64>> {
        prop_oneof![3 => Just(None), 1 => (0..4i32).prop_map(|n| Some(f64::from(n)))].boxed()
    }

    fn rare<T: std::fmt::Debug + Clone + 'static>(
        some: impl Strategy<Value = T> + 'static,
    ) -> BoxedStrategy<Option<T>> {
        prop_oneof![4 => Just(None), 1 => some.prop_map(Some)].boxed()
    }

    prop_compose! {
        fn conditions()(
            values in (rare(literal()), rare(literal()), rare(prop::collection::vec(literal(), 0..3)), rare(prop::collection::vec(literal(), 0..3))),
            texts in (rare(prop::sample::select(vec!["a", "^a$", "$a", "b"])), rare(prop::sample::select(vec!["a", "a*", "?"])), rare(literal())),
            limits in (limit(), limit(), limit(), limit()),
            flags in (rare(any::<bool>()), rare(any::<bool>())),
        ) -> Conditions {
            Conditions {
                equals: values.0,
                not: values.1,
                one_of: values.2,
                not_in: values.3,
                regex: texts.0.map(str::to_owned),
                glob: texts.1.map(crate::glob::Glob::new),
                contains: texts.2,
                gt: limits.0,
                gte: limits.1,
                lt: limits.2,
                lte: limits.3,
                present: flags.0,
                truthy: flags.1,
            }
        }
    }

    fn values() -> Vec<Option<Json>> {
        let texts = [
            "null",
            "true",
            "false",
            "0",
            "0.5",
            "1",
            "1.5",
            "2",
            "2.5",
            "3",
            "4",
            "-1",
            "\"a\"",
            "\"ab\"",
            "\"b\"",
            "\"yes\"",
            "\"1\"",
            "\"\"",
            "[]",
            "[1]",
            "[\"a\", true, null]",
            "{}",
            "{\"a\": 1, \"yes\": 2, \"1\": 3}",
        ];
        let values = texts.iter().map(|text| banksman_core::json::parse(text.as_bytes()).ok());
        values.chain([None]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn what_is_called_hopeless_is_met_by_nothing(written in conditions()) {
            let Ok(tests) = compile_conditions(&written) else { return Ok(()) };
            let tests: Vec<&Test> = tests.iter().collect();
            let met = values().iter().any(|value| all_hold(&tests, value.as_ref()));
            if let Some(why) = hopeless(&tests) {
                prop_assert!(!met, "{why}");
            }
        }
    }
}
