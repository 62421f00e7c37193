//! Rows as the database takes them fastest: all of a table's in one array, whose items are of a composite type.

use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::keys;
use super::rows::int;
use crate::encode::{CaseRow, EventRow};
use crate::{IdempotencyKey, NoticeRow, StoreError};

/// A row: the values of a composite type, in its order.
#[derive(Debug)]
pub(super) struct Record<'a>(Vec<Field<'a>>);

#[derive(Debug, Clone, Copy)]
enum Field<'a> {
    Null,
    Bytes(&'a [u8]),
    Id([u8; 16]),
    Hash([u8; 32]),
    Text(&'a str),
    Int(i64),
    Small(i16),
    Bool(bool),
}

type Sent = Result<IsNull, Box<dyn Error + Sync + Send>>;

impl<'a> Field<'a> {
    fn text(value: Option<&'a str>) -> Self {
        value.map_or(Self::Null, Self::Text)
    }

    fn int(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Int)
    }

    fn id(value: Option<[u8; 16]>) -> Self {
        value.map_or(Self::Null, Self::Id)
    }

    fn send(&self, kind: &Type, out: &mut BytesMut) -> Sent {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Bytes(bytes) => bytes.to_sql_checked(kind, out),
            Self::Id(bytes) => bytes.as_slice().to_sql_checked(kind, out),
            Self::Hash(bytes) => bytes.as_slice().to_sql_checked(kind, out),
            Self::Text(text) => text.to_sql_checked(kind, out),
            Self::Int(number) => number.to_sql_checked(kind, out),
            Self::Small(number) => number.to_sql_checked(kind, out),
            Self::Bool(yes) => yes.to_sql_checked(kind, out),
        }
    }
}

impl ToSql for Record<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Sent {
        let Kind::Composite(columns) = kind.kind() else { return Err("not a composite type".into()) };
        if columns.len() != self.0.len() {
            return Err(format!("{kind} has {} columns, not {}", columns.len(), self.0.len()).into());
        }
        out.put_i32(i32::try_from(columns.len())?);
        for (field, column) in self.0.iter().zip(columns) {
            out.put_u32(column.type_().oid());
            let place = out.len();
            out.put_i32(-1);
            if let IsNull::No = field.send(column.type_(), out)? {
                let length = i32::try_from(out.len() - place - 4)?;
                if let Some(before) = out.get_mut(place..place + 4) {
                    before.copy_from_slice(&length.to_be_bytes());
                }
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(kind.kind(), Kind::Composite(_))
    }

    to_sql_checked!();
}

/// `action_row`: where an action stands, and what of it never changes.
pub(super) fn action<'a>(row: &'a CaseRow) -> Result<Record<'a>, StoreError> {
    let case = &*row.case;
    let submission = &*case.submission;
    Ok(Record(vec![
        Field::Id(case.id.to_bytes()),
        Field::Text(submission.verdict.tier.as_str()),
        Field::Text(case.status().as_str()),
        Field::Bytes(submission.digest.as_bytes()),
        Field::Int(i64::from(case.version)),
        Field::Int(int(case.revision)?),
        Field::int(row.wake_at()),
        keys::join_of(row).map_or(Field::Null, |key| Field::Hash(*key.as_bytes())),
        Field::int(row.claimed_at()),
        Field::Small(i16::from(case.priority())),
        Field::Text(&row.reviews),
        Field::Text(&row.state),
        Field::Small(i16::from(row.risk())),
        Field::int(row.deadline()),
        Field::Text(&case.agent),
        Field::text(case.owner.as_deref()),
        Field::Text(&submission.action.tool),
        Field::id(case.batch.map(banksman_core::BatchId::to_bytes)),
        Field::Int(case.created_at.as_micros()),
    ]))
}

/// `submission_row`.
pub(super) fn submission<'a>(row: &CaseRow, body: &'a str) -> Record<'a> {
    Record(vec![
        Field::Id(row.case.id.to_bytes()),
        Field::Int(i64::from(row.case.version)),
        Field::Text(body),
    ])
}

/// `idempotency_key_row`.
pub(super) fn idempotency_key(key: &IdempotencyKey) -> Record<'_> {
    Record(vec![
        Field::Hash(*keys::idempotency_of(key).as_bytes()),
        Field::Text(&key.agent),
        Field::Text(&key.key),
        Field::Bytes(key.request.as_bytes()),
        Field::Id(key.action.to_bytes()),
        Field::Int(key.at.as_micros()),
    ])
}

/// `event_row`, with its place in the group.
pub(super) fn event(place: i64, row: &EventRow) -> Record<'_> {
    let event = &row.event;
    let about = event.action.as_ref();
    Record(vec![
        Field::Int(place),
        Field::Int(event.at.as_micros()),
        Field::Text(event.fact.type_name()),
        Field::text(event.actor.name()),
        Field::id(about.map(|about| about.id.to_bytes())),
        Field::text(about.map(|about| about.agent.as_str())),
        Field::text(about.map(|about| about.tool.as_str())),
        Field::text(about.map(|about| about.risk.as_str())),
        Field::text(event.fact.decision().map(banksman_core::Decision::as_str)),
        Field::Bool(event.is_resolution()),
        Field::Bool(event.is_observation()),
        Field::Text(&row.body),
    ])
}

/// `notice_row`, with its place among the events of the group.
pub(super) fn notice(place: i64, notice: &NoticeRow) -> Record<'static> {
    Record(vec![
        Field::Int(place),
        Field::Id(notice.action.to_bytes()),
        Field::Text(notice.notice.as_str()),
        Field::Int(notice.at.as_micros()),
    ])
}

/// `agent_row`.
pub(super) fn agent(name: &str, number: i64) -> Record<'_> {
    Record(vec![Field::Text(name), Field::Int(number)])
}

#[cfg(test)]
mod tests {
    use tokio_postgres::types::Field as Member;

    use super::*;

    fn composite(members: &[(&str, Type)]) -> Type {
        let members = members.iter().map(|(name, kind)| Member::new((*name).into(), kind.clone())).collect();
        Type::new("some_row".into(), 99, Kind::Composite(members), "public".into())
    }

    #[test]
    fn a_record_is_its_fields_each_with_type_and_length() {
        let kind = composite(&[("a", Type::TEXT), ("b", Type::INT8), ("c", Type::BOOL)]);
        let mut out = BytesMut::new();
        Record(vec![Field::Text("hé"), Field::Null, Field::Bool(true)])
            .to_sql_checked(&kind, &mut out)
            .unwrap();
        let expected = [
            &[0, 0, 0, 3][..],
            &[0, 0, 0, 25, 0, 0, 0, 3, b'h', 0xc3, 0xa9],
            &[0, 0, 0, 20, 255, 255, 255, 255],
            &[0, 0, 0, 16, 0, 0, 0, 1, 1],
        ];
        assert_eq!(&out[..], expected.concat());
    }

    #[test]
    fn what_does_not_fit_is_not_sent() {
        let (text, number) = (composite(&[("a", Type::TEXT)]), composite(&[("a", Type::INT8)]));
        let send =
            |record: Record<'_>, kind: &Type| record.to_sql_checked(kind, &mut BytesMut::new()).is_ok();
        assert!(send(Record(vec![Field::Text("a")]), &text));
        assert!(!send(Record(vec![Field::Text("a")]), &number));
        assert!(!send(Record(vec![Field::Small(1)]), &number));
        assert!(!send(Record(vec![Field::Null, Field::Null]), &text));
        assert!(!send(Record(vec![Field::Text("a")]), &Type::TEXT));
    }
}
