//! What a notification tells: all that other nodes need to know of groups, so that they need not read it from the log.
//!
//! Each group is a line, with the place where the log ended before it. For a group that is being committed the database puts that,
//! because only the database knows. Whoever has followed up to that place has missed nothing; whoever has not, waits for what is missing
//! or reads the log.

use banksman_core::{ActionId, Status, Timestamp};

use crate::NewsOf;
use crate::encode::{CaseRow, EncodedCommit};

/// How long a notification may be. The database takes 7,999 bytes, with the place; longer ones say nothing, and the log is read.
pub(super) const LONGEST: usize = 7_900;

/// An event of an action: its id, when it wakes by now, and whose it is if people need not look at it any more. One of the house
/// is none of that.
type Item<Name> = Option<(ActionId, Option<i64>, Option<Name>)>;

/// What was committed before a group and not told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier<'a> {
    /// Nothing, or whole lines.
    Lines(&'a str),
    /// More than can be told: whoever hears it is to look.
    Unknown,
}

/// What others are told with a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Telling<'a> {
    pub(super) earlier: Earlier<'a>,
    /// Whether it is time for it. Otherwise they are told a moment later.
    pub(super) is_time: bool,
}

/// What was committed earlier, and what there is to tell of a group: what stands before the place where the log ended, and after it.
pub(super) fn tell_with(earlier: Earlier<'_>, group: &[&EncodedCommit]) -> (String, String) {
    let items = tell(group);
    match earlier {
        Earlier::Lines(lines) if !items.is_empty() && lines.len() + items.len() <= LONGEST => {
            (lines.to_owned(), items)
        }
        Earlier::Lines(_) | Earlier::Unknown => Default::default(),
    }
}

/// What there is to tell of the events of a group, one after the other. Empty if it is too much.
pub(super) fn tell(group: &[&EncodedCommit]) -> String {
    let items: Vec<Item<&str>> = group.iter().flat_map(|commit| commit_items(commit)).collect();
    serde_json::to_string(&items).ok().filter(|text| text.len() <= LONGEST).unwrap_or_default()
}

fn commit_items(commit: &EncodedCommit) -> impl Iterator<Item = Item<&str>> {
    commit.events.iter().map(|row| {
        let id = row.event.action.as_ref()?.id;
        let about = commit.opened.iter().chain(&commit.advanced).find(|row| row.case.id == id);
        let kind = row.event.fact.type_name();
        let room = about.filter(|row| makes_room(kind, row.case.status() == Status::Pending));
        Some((id, about.and_then(CaseRow::wake_at), room.map(|row| row.case.agent.as_str())))
    })
}

/// Whether an event of this type may leave its agent with room for another action.
pub(super) fn makes_room(kind: &str, is_pending: bool) -> bool {
    !is_pending && matches!(kind, "decided" | "modified" | "expired" | "cancelled")
}

/// A group that another node, or this one, has committed.
#[derive(Debug, PartialEq)]
pub(super) struct Told {
    /// Where the log ended before.
    pub(super) before: u64,
    /// What each event was about.
    pub(super) of: Vec<NewsOf>,
}

impl Told {
    /// Reads a notification, if it tells anything.
    pub(super) fn read(said: &str) -> Option<Vec<Self>> {
        said.split('\n').map(Self::read_line).collect()
    }

    fn read_line(line: &str) -> Option<Self> {
        let (before, items) = line.split_once(' ')?;
        let items: Vec<Item<String>> = serde_json::from_str(items).ok()?;
        let of = items.into_iter().map(|item| match item {
            None => NewsOf::House,
            Some((id, wakes_at, makes_room_for)) => {
                NewsOf::Action { id, wakes_at: wakes_at.map(Timestamp::from_micros), makes_room_for }
            }
        });
        Some(Self { before: before.parse().ok()?, of: of.collect() })
    }

    /// Where the log ends with it.
    pub(super) fn last_seq(&self) -> u64 {
        self.before.saturating_add(u64::try_from(self.of.len()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read() {
        let id = ActionId::from_bytes([7; 16]);
        let items: Vec<Item<&str>> =
            vec![Some((id, Some(12), Some("an \"agent\" é"))), None, Some((id, None, None))];
        let said = format!("41 {}\n50 [null]", serde_json::to_string(&items).unwrap());
        let [told, then] = <[Told; 2]>::try_from(Told::read(&said).unwrap()).unwrap();
        let action = |wakes_at: Option<i64>, makes_room_for: Option<&str>| NewsOf::Action {
            id,
            wakes_at: wakes_at.map(Timestamp::from_micros),
            makes_room_for: makes_room_for.map(str::to_owned),
        };
        assert_eq!(told.of, [action(Some(12), Some("an \"agent\" é")), NewsOf::House, action(None, None)]);
        assert_eq!((told.before, told.last_seq()), (41, 44));
        assert_eq!(then, Told { before: 50, of: vec![NewsOf::House] });
    }

    #[test]
    fn what_tells_nothing_is_not_guessed_at() {
        let lines = ["41 []\n", "\n41 []", "41 [] 42 []", "41 []\n42 "];
        for said in
            ["", " ", "41", "41 ", "-1 []", "x []", "41 [", "41 [1]", "41 {}", "41 [[\"act_\",null,null]]"]
                .into_iter()
                .chain(lines)
        {
            assert_eq!(Told::read(said), None, "{said:?}");
        }
    }
}
