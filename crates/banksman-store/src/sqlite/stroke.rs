//! What the writer writes for nearly every commit, one statement at a time, in a form that can be kept and written again.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

/// A statement that changes rows. Its number is kept on disk: never give one another meaning, add one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stroke {
    InsertAction = 1,
    MoveAction = 2,
    InsertSubmission = 3,
    InsertEvent = 4,
    InsertNotice = 5,
    SettleNotice = 6,
    InsertKey = 7,
    Charge = 8,
    Forget = 9,
    GiveBack = 10,
}

impl Stroke {
    pub(super) const ALL: [Self; 10] = [
        Self::InsertAction,
        Self::MoveAction,
        Self::InsertSubmission,
        Self::InsertEvent,
        Self::InsertNotice,
        Self::SettleNotice,
        Self::InsertKey,
        Self::Charge,
        Self::Forget,
        Self::GiveBack,
    ];

    fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|stroke| *stroke as u8 == number)
    }

    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::InsertAction => INSERT_ACTION,
            Self::MoveAction => MOVE_ACTION,
            Self::InsertSubmission => "INSERT INTO submissions (action, version, body) VALUES (?1, ?2, ?3)",
            Self::InsertEvent => INSERT_EVENT,
            Self::InsertNotice => "INSERT INTO outbox (id, action, notice, at) VALUES (?1, ?2, ?3, ?4)",
            Self::SettleNotice => "DELETE FROM outbox WHERE id = ?1",
            Self::InsertKey => {
                "INSERT INTO idempotency_keys (agent, key, request, action, created_at) VALUES (?1, ?2, ?3, ?4, ?5)"
            }
            Self::Charge => {
                "INSERT INTO charges (meter, at, action, amount, value) VALUES (?1, ?2, ?3, ?4, ?5)"
            }
            Self::Forget => "DELETE FROM charges WHERE meter = ?1 AND at < ?2",
            Self::GiveBack => "DELETE FROM charges WHERE action = ?1",
        }
    }
}

/// An action that joins another is not inserted.
const INSERT_ACTION: &str = "\
    INSERT INTO actions (id, agent, owner, tool, tier, status, digest, version, revision, batch, created_at, wake_at,
                         joinable, claimed_at, reviews, state, priority, risk, deadline)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
    ON CONFLICT (agent, digest) WHERE joinable = 1 DO NOTHING";

/// The guarded write: only the revision that the transition was computed from may be replaced.
///
/// A claim, once taken, is never changed nor given back, whatever the code above believes. A trigger could say so
/// too, but SQLite then updates through a temporary table, which costs more than all the rest of a commit.
const MOVE_ACTION: &str = "\
    UPDATE actions SET tier = ?3, status = ?4, digest = ?5, version = ?6, revision = ?7, wake_at = ?8, joinable = ?9,
                       claimed_at = ?10, reviews = ?11, state = ?12, priority = ?13, risk = ?14,
                       deadline = coalesce(?15, deadline)
    WHERE id = ?1 AND revision = ?2 AND (claimed_at IS NULL OR claimed_at = ?10)";

const INSERT_EVENT: &str = "\
    INSERT INTO audit (seq, at, type, actor, action, agent, tool, risk, decision, resolution, body, observed)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

/// A value of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl ToSql for Field<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl From<i64> for Field<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Field<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u8> for Field<'_> {
    fn from(number: u8) -> Self {
        Self::Integer(number.into())
    }
}

impl From<bool> for Field<'_> {
    fn from(yes: bool) -> Self {
        Self::Integer(yes.into())
    }
}

impl<'a> From<&'a str> for Field<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Field<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Field<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Field<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A count as SQLite can hold it. None of ours reaches the end; one that did would fail its CHECK, not wrap.
pub(super) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Adds a stroke to bytes that [`Strokes`] reads back.
pub(super) fn put(bytes: &mut Vec<u8>, stroke: Stroke, fields: &[Field<'_>]) {
    bytes.push(stroke as u8);
    // No statement has as many as 256.
    bytes.push(u8::try_from(fields.len()).unwrap_or(u8::MAX));
    for field in fields {
        match *field {
            Field::Null => bytes.push(0),
            Field::Integer(number) => {
                bytes.push(1);
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            Field::Text(text) => put_bytes(bytes, 2, text.as_bytes()),
            Field::Blob(blob) => put_bytes(bytes, 3, blob),
        }
    }
}

fn put_bytes(bytes: &mut Vec<u8>, kind: u8, content: &[u8]) {
    bytes.push(kind);
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(content);
}

/// Reads strokes back. Ends with the bytes, or with `Err` at the first that no [`put`] has written.
pub(super) struct Strokes<'a>(pub(super) &'a [u8]);

/// What was read is not what [`put`] writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Garbled;

impl<'a> Strokes<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn content(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(u64::from_le_bytes(self.take()?)).ok()?;
        let (content, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(content)
    }

    fn field(&mut self) -> Option<Field<'a>> {
        let [kind] = self.take()?;
        match kind {
            0 => Some(Field::Null),
            1 => Some(Field::Integer(i64::from_le_bytes(self.take()?))),
            2 => Some(Field::Text(std::str::from_utf8(self.content()?).ok()?)),
            3 => Some(Field::Blob(self.content()?)),
            _ => None,
        }
    }

    fn stroke(&mut self) -> Option<(Stroke, Vec<Field<'a>>)> {
        let [number, fields] = self.take()?;
        Some((Stroke::of(number)?, (0..fields).map(|_| self.field()).collect::<Option<_>>()?))
    }
}

impl<'a> Iterator for Strokes<'a> {
    type Item = Result<(Stroke, Vec<Field<'a>>), Garbled>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = self.stroke();
        if read.is_none() {
            self.0 = &[];
        }
        Some(read.ok_or(Garbled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field<'_>] = &[
        Field::Null,
        Field::Integer(i64::MIN),
        Field::Text("ä\0b"),
        Field::Blob(&[0, 255, 1]),
        Field::Text(""),
        Field::Blob(&[]),
    ];

    #[test]
    fn what_is_put_is_read_back() {
        let mut bytes = Vec::new();
        for stroke in Stroke::ALL {
            put(&mut bytes, stroke, FIELDS);
        }
        let read: Vec<_> = Strokes(&bytes).map(Result::unwrap).collect();
        assert_eq!(read, Stroke::ALL.map(|stroke| (stroke, FIELDS.to_vec())));
    }

    #[test]
    fn what_is_cut_or_unknown_is_garbled_and_never_read_as_less() {
        let mut bytes = Vec::new();
        put(&mut bytes, Stroke::InsertEvent, FIELDS);
        for end in 1..bytes.len() {
            assert_eq!(Strokes(&bytes[..end]).last(), Some(Err(Garbled)), "cut at {end}");
        }
        for wrong in [[0, 0].as_slice(), &[11, 0], &[1, 1, 4], &[1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 255]] {
            assert_eq!(Strokes(wrong).collect::<Vec<_>>(), [Err(Garbled)], "{wrong:?}");
        }
    }

    #[test]
    fn numbers_on_disk_stay_what_they_are() {
        let numbers = Stroke::ALL.map(|stroke| stroke as u8);
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(numbers.map(Stroke::of), Stroke::ALL.map(Some));
    }
}
