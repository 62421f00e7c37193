//! Which action is meant.
//!
//! There is no `last` on purpose: what is last can change between looking and deciding.

use banksman_client::{ActionsQuery, Client};
use banksman_core::wire::ActionView;
use banksman_core::{ActionId, Status};

use crate::exit::{Exit, stop};

/// The fewest characters that name an action.
const FEWEST: usize = 4;
/// How much of an id tables show, at least.
const SHORT: usize = 6;
const PAGE: u32 = 100;

/// Everything that waits for a decision.
pub(crate) fn pending(client: &Client) -> anyhow::Result<Vec<ActionView>> {
    let query = ActionsQuery { status: Some(Status::Pending), limit: Some(PAGE), ..ActionsQuery::default() };
    Ok(client.all_actions(&query)?)
}

/// The id that is meant: a whole one, or the start or end of exactly one that is pending.
pub(crate) fn resolve(client: &Client, wanted: &str) -> anyhow::Result<ActionId> {
    let wanted = wanted.trim();
    if let Ok(id) = wanted.parse() {
        return Ok(id);
    }
    let part = part_of(wanted)?;
    let ids: Vec<ActionId> = pending(client)?.iter().map(|action| action.id).collect();
    only_match(&part, &ids)
}

/// What is left of a short form without the prefix and in the spelling of ids.
fn part_of(wanted: &str) -> anyhow::Result<String> {
    let wanted = wanted.to_ascii_uppercase();
    let prefix = ActionId::PREFIX.to_ascii_uppercase();
    let part = wanted.strip_prefix(&prefix).unwrap_or(&wanted);
    let is_spelled_like_an_id = part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if part.len() < FEWEST || part.len() > 26 || !is_spelled_like_an_id {
        return Err(stop(
            Exit::Usage,
            format!(
                "not an action: give its id ({}…), or at least {FEWEST} characters that it begins or ends with",
                ActionId::PREFIX
            ),
        ));
    }
    Ok(part.to_owned())
}

fn only_match(part: &str, ids: &[ActionId]) -> anyhow::Result<ActionId> {
    let matching: Vec<ActionId> = ids
        .iter()
        .filter(|id| {
            let text = bare(**id);
            text.starts_with(part) || text.ends_with(part)
        })
        .copied()
        .collect();
    match matching.as_slice() {
        [id] => Ok(*id),
        [] => Err(stop(
            Exit::NotFound,
            format!(
                "no pending action begins or ends with {part}; one that is not pending needs its whole id"
            ),
        )),
        several => {
            let list: String = several.iter().take(10).map(|id| format!("\n  {id}")).collect();
            Err(stop(Exit::Usage, format!("{part} could be any of {}:{list}", several.len())))
        }
    }
}

/// The end of an id, long enough to name it among `all`.
///
/// The end, because ids begin with their time and those made together begin alike.
pub(crate) fn short(id: ActionId, all: &[ActionId]) -> String {
    let text = bare(id);
    let others: Vec<String> = all.iter().filter(|other| **other != id).map(|other| bare(*other)).collect();
    (SHORT..text.len())
        .filter_map(|length| text.get(text.len() - length..))
        .find(|end| !others.iter().any(|other| other.ends_with(end) || other.starts_with(end)))
        .map_or_else(|| text.clone(), str::to_owned)
}

/// An id without its prefix.
fn bare(id: ActionId) -> String {
    let text = id.to_string();
    text.strip_prefix(ActionId::PREFIX).map_or_else(|| text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> Vec<ActionId> {
        ["act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB", "act_01J9ZKQ7V9Y3F5T2M6N4QQR1SB", "act_01J9ZKQ7V9Y3F5T2M6N4P0ZZZZ"]
            .map(|id| id.parse().unwrap())
            .to_vec()
    }

    fn find(wanted: &str) -> Result<ActionId, String> {
        part_of(wanted).and_then(|part| only_match(&part, &ids())).map_err(|error| error.to_string())
    }

    #[test]
    fn a_start_or_an_end_is_enough_if_it_is_one_alone() {
        for wanted in ["ZZZZ", "zzzz", "act_01J9ZKQ7V9Y3F5T2M6N4P0", "P0ZZZZ"] {
            assert_eq!(find(wanted), Ok(ids()[2]), "{wanted}");
        }
        assert_eq!(find("01J9ZKQ7V8"), Ok(ids()[0]));
    }

    #[test]
    fn anything_else_is_nothing() {
        for wanted in
            ["", "last", "act_", "ZZZ", "act_ZZZ", "R1SB", "01J9", "F5T2M6", "*ZZZZ", "\u{1b}[2JZZZZ"]
        {
            let error = find(wanted).unwrap_err();
            assert!(!error.contains('\u{1b}'), "{error:?}");
        }
        assert!(find("R1SB").unwrap_err().contains("act_01J9ZKQ7V9Y3F5T2M6N4QQR1SB"));
        assert!(find("last").unwrap_err().contains("no pending action"));
    }

    #[test]
    fn short_forms_find_their_action_again() {
        let all = ids();
        for id in &all {
            assert_eq!(find(&short(*id, &all)), Ok(*id));
        }
        assert_eq!(short(all[0], &all), "P0R1SB");
        assert_eq!(short(all[0], &[]), "P0R1SB");
        let near: ActionId = "act_01J9ZKQ7V9Y3F5T2M6NAP0R1SB".parse().unwrap();
        assert_eq!(short(all[0], &[all[0], near]), "4P0R1SB");
    }
}
