//! Arguments on a card: one line a value, exact, and said if it is not all.

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::visible::{brief, one_line};

/// Longest name of an argument.
const NAME: usize = 60;

/// Longest value.
const VALUE: usize = 300;

/// How many fit on a card.
const MOST: usize = 10;

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Where it is, as people write it: `to[0].name`.
    pub name: String,
    /// Its value as JSON, so that no value looks like another.
    pub shown: String,
    /// Whether name and value are all there.
    pub whole: bool,
}

/// The first values of the arguments, and how many more there are.
pub(super) fn of(args: &CanonicalJson) -> (Vec<Argument>, usize) {
    let Ok(json) = args.to_json() else { return (Vec::new(), 1) };
    let mut values = Vec::new();
    flatten(&json, String::new(), &mut values);
    let left_out = values.len().saturating_sub(MOST);
    values.truncate(MOST);
    let arguments = values.into_iter().map(|(name, value)| {
        let value = written(value);
        let whole = name.chars().count() <= NAME && value.chars().count() <= VALUE;
        Argument { name: brief(&name, NAME), shown: brief(&value, VALUE), whole }
    });
    (arguments.collect(), left_out)
}

fn flatten<'a>(value: &'a Json, path: String, values: &mut Vec<(String, &'a Json)>) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            for (key, item) in members.iter() {
                let key = member(key);
                flatten(item, if path.is_empty() { key } else { format!("{path}.{key}") }, values);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for (position, item) in items.iter().enumerate() {
                flatten(item, format!("{path}[{position}]"), values);
            }
        }
        Json::Object(_) if path.is_empty() => {}
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            values.push((path, value));
        }
    }
}

/// A key; in quotes if it could pass for anything but one name.
fn member(key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if plain { key.to_owned() } else { written(&Json::String(key.to_owned())) }
}

/// A value as JSON on one line. `\/` means the same as `/` there, and no program makes a link of it.
fn written(value: &Json) -> String {
    one_line(&CanonicalJson::of(value)).replace("://", ":\\/\\/")
}
