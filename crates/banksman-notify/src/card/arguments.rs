//! Arguments on a card: one line a value, exact, and said if it is not all.

use banksman_core::json::CanonicalJson;
use banksman_core::visible::{brief, one_line};
use banksman_review::rows;

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
    let mut rows = rows(&json);
    let left_out = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let arguments = rows.into_iter().map(|row| {
        let (name, value) = (unlinked(&row.path), unlinked(&one_line(&CanonicalJson::of(row.value))));
        let whole = name.chars().count() <= NAME && value.chars().count() <= VALUE;
        Argument { name: brief(&name, NAME), shown: brief(&value, VALUE), whole }
    });
    (arguments.collect(), left_out)
}

/// `\/` means the same as `/` in JSON, and no program makes a link of it.
fn unlinked(json: &str) -> String {
    json.replace("://", ":\\/\\/")
}
