//! Reading, beside the writer: each read sees the newest committed state.

use std::fmt::Write as _;

use banksman_core::{ActionId, BatchId, Case, Delegation, Digest, Freeze, Grant, Mode, Status, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::rows::{self, CASE_COLUMNS, CREDENTIAL_COLUMNS};
use crate::{
    BatchRecord, CaseQuery, Control, Credential, EventQuery, Order, Person, StoredEvent, StoredNotice,
};

pub(super) fn case(connection: &Connection, id: ActionId) -> rusqlite::Result<Option<Case>> {
    connection
        .prepare_cached(&format!(
            "SELECT {CASE_COLUMNS} FROM actions a JOIN submissions s ON s.action = a.id AND s.version = a.version
             WHERE a.id = ?1"
        ))?
        .query_row([id.to_bytes()], rows::case)
        .optional()
}

/// A length, as SQLite counts: beyond `i64` it takes a number for a float, and refuses it.
fn limit(rows: usize) -> Value {
    Value::Integer(i64::try_from(rows).unwrap_or(i64::MAX))
}

/// The text and the values of a list query. The status stands in the text, because only then can SQLite see that
/// a partial index applies.
pub(super) fn cases_sql(query: &CaseQuery, part: Part) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let mut sql = format!(
        "SELECT {CASE_COLUMNS} FROM actions a JOIN submissions s ON s.action = a.id AND s.version = a.version WHERE 1"
    );
    if let Some(status) = query.status {
        let _ = write!(sql, " AND a.status = '{}'", status.as_str());
    }
    let mut filter = |sql: &mut String, condition: &str, value: Value| {
        values.push(value);
        let _ = write!(sql, " AND {condition} ?{}", values.len());
    };
    if let Some(tool) = &query.tool {
        filter(&mut sql, "a.tool =", Value::Text(tool.clone()));
    }
    if let Some(agent) = &query.agent {
        filter(&mut sql, "a.agent =", Value::Text(agent.clone()));
    }
    if let Some(tier) = query.tier {
        filter(&mut sql, "a.tier =", Value::Text(tier.as_str().into()));
    }
    let (beyond, direction) = match query.order {
        Order::Ascending => (">", "ASC"),
        Order::Descending => ("<", "DESC"),
    };
    let after = query.after.map(|after| Value::Blob(after.to_bytes().into()));
    let by_priority = match part {
        Part::All => "",
        Part::NotUrgent => {
            sql.push_str(" AND a.priority = 0");
            ""
        }
        // The index is named: SQLite would rather walk all that is pending in its order.
        Part::Urgent { .. } => {
            sql = sql.replacen("actions a", "actions a INDEXED BY pending_by_priority", 1);
            sql.push_str(" AND a.priority > 0");
            "a.priority DESC, "
        }
    };
    if let Some(after) = after {
        values.push(after);
        let id = values.len();
        let _ = match part {
            Part::Urgent { after_priority: Some(priority) } => {
                write!(
                    sql,
                    " AND a.priority <= {priority} AND (a.priority < {priority} OR a.id {beyond} ?{id})"
                )
            }
            Part::All | Part::NotUrgent | Part::Urgent { .. } => write!(sql, " AND a.id {beyond} ?{id}"),
        };
    }
    values.push(limit(query.limit));
    let _ = write!(sql, " ORDER BY {by_priority}a.id {direction} LIMIT ?{}", values.len());
    (sql, values)
}

/// Which part of a list is read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    All,
    /// What has a priority, behind one of this priority.
    Urgent {
        after_priority: Option<u8>,
    },
    NotUrgent,
}

pub(super) fn cases(connection: &Connection, query: &CaseQuery) -> rusqlite::Result<Vec<Case>> {
    if !query.urgent_first || query.status != Some(Status::Pending) {
        return part_of_cases(connection, query, Part::All);
    }
    // One transaction, so that nothing moves from one part to the other in between.
    let view = connection.unchecked_transaction()?;
    let after_priority: Option<u8> = match query.after {
        None => None,
        Some(after) => view
            .prepare_cached("SELECT priority FROM actions WHERE id = ?1")?
            .query_row([after.to_bytes()], |row| row.get(0))
            .optional()?,
    };
    if after_priority == Some(0) {
        return part_of_cases(&view, query, Part::NotUrgent);
    }
    let mut found = part_of_cases(&view, query, Part::Urgent { after_priority })?;
    let rest = CaseQuery { after: None, limit: query.limit - found.len(), ..query.clone() };
    if rest.limit > 0 {
        found.extend(part_of_cases(&view, &rest, Part::NotUrgent)?);
    }
    Ok(found)
}

fn part_of_cases(connection: &Connection, query: &CaseQuery, part: Part) -> rusqlite::Result<Vec<Case>> {
    let (sql, values) = cases_sql(query, part);
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map(params_from_iter(values), rows::case)?.collect()
}

pub(super) fn batch(connection: &Connection, id: BatchId) -> rusqlite::Result<Option<BatchRecord>> {
    connection
        .prepare_cached("SELECT agent, created_at, items FROM batches WHERE id = ?1")?
        .query_row([id.to_bytes()], |row| {
            let items: Vec<u8> = row.get(2)?;
            let items = items
                .chunks_exact(16)
                .filter_map(|bytes| <[u8; 16]>::try_from(bytes).ok())
                .map(ActionId::from_bytes)
                .collect();
            Ok(BatchRecord { id, agent: row.get(0)?, created_at: rows::time(row, 1)?, items })
        })
        .optional()
}

pub(super) const DUE: &str =
    "SELECT id FROM actions WHERE wake_at IS NOT NULL AND wake_at <= ?1 ORDER BY wake_at LIMIT ?2";

pub(super) fn due(connection: &Connection, by: Timestamp, limit: usize) -> rusqlite::Result<Vec<ActionId>> {
    let mut statement = connection.prepare_cached(DUE)?;
    statement.query_map(params![by.as_micros(), self::limit(limit)], |row| rows::action_id(row, 0))?.collect()
}

pub(super) const NEXT_DUE: &str = "SELECT min(wake_at) FROM actions WHERE wake_at IS NOT NULL";

pub(super) fn next_due(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let next: Option<i64> = connection.prepare_cached(NEXT_DUE)?.query_row([], |row| row.get(0))?;
    Ok(next.map(Timestamp::from_micros))
}

pub(super) fn control(connection: &Connection) -> rusqlite::Result<Control> {
    // One transaction, so that the epoch belongs to the lists.
    let view = connection.unchecked_transaction()?;
    let (epoch, mode, fell_back_from) = view
        .prepare_cached("SELECT epoch, mode, fell_back_from FROM control")?
        .query_row([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?)))?;
    let freezes = view
        .prepare_cached("SELECT body FROM freezes ORDER BY id")?
        .query_map([], |row| rows::json::<Freeze>(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    let grants = view
        .prepare_cached("SELECT body FROM grants ORDER BY id")?
        .query_map([], |row| rows::json::<Grant>(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    let delegations = view
        .prepare_cached("SELECT body FROM delegations ORDER BY id")?
        .query_map([], |row| rows::json::<Delegation>(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    // The CHECK allows only known modes; if it is none all the same, be strict.
    let mode = mode.parse().unwrap_or(Mode::Production);
    let fell_back_from = fell_back_from.map(|mode| mode.parse().unwrap_or(Mode::Production));
    Ok(Control { epoch, mode, fell_back_from, freezes, grants, delegations })
}

pub(super) fn credential(connection: &Connection, hash: Digest) -> rusqlite::Result<Option<Credential>> {
    connection
        .prepare_cached(&format!("SELECT {CREDENTIAL_COLUMNS} FROM credentials WHERE secret_hash = ?1"))?
        .query_row([hash.as_bytes()], rows::credential)
        .optional()
}

pub(super) fn credentials(connection: &Connection) -> rusqlite::Result<Vec<Credential>> {
    connection
        .prepare_cached(&format!("SELECT {CREDENTIAL_COLUMNS} FROM credentials ORDER BY id"))?
        .query_map([], rows::credential)?
        .collect()
}

pub(super) fn people(connection: &Connection) -> rusqlite::Result<Vec<Person>> {
    connection
        .prepare_cached("SELECT body FROM people ORDER BY id")?
        .query_map([], |row| rows::json(row, 0))?
        .collect()
}

pub(super) fn is_spent(connection: &Connection, key: Digest) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM spent WHERE key = ?1)")?
        .query_row([key.as_bytes()], |row| row.get(0))
}

pub(super) fn events_sql(query: &EventQuery) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let mut sql = String::from("SELECT seq, type, body FROM audit WHERE 1");
    let mut filter = |sql: &mut String, condition: &str, value: Value| {
        values.push(value);
        let _ = write!(sql, " AND {condition} ?{}", values.len());
    };
    let text = |text: &str| Value::Text(text.to_owned());
    if query.resolutions_only {
        sql.push_str(" AND resolution = 1");
    }
    if query.observed_only {
        sql.push_str(" AND observed = 1");
    }
    if let Some(action) = query.action {
        filter(&mut sql, "action =", Value::Blob(action.to_bytes().into()));
    }
    for (condition, value) in [
        ("agent =", query.agent.as_deref()),
        ("type =", query.kind.as_deref()),
        ("tool =", query.tool.as_deref()),
        ("risk =", query.risk.map(banksman_core::Risk::as_str)),
        ("decision =", query.decision.map(banksman_core::Decision::as_str)),
        ("actor =", query.actor.as_deref()),
    ] {
        if let Some(value) = value {
            filter(&mut sql, condition, text(value));
        }
    }
    if let Some(since) = query.since {
        filter(&mut sql, "at >=", Value::Integer(since.as_micros()));
    }
    if let Some(until) = query.until {
        filter(&mut sql, "at <", Value::Integer(until.as_micros()));
    }
    let (beyond, direction) = match query.order {
        Order::Ascending => ("seq >", "ASC"),
        Order::Descending => ("seq <", "DESC"),
    };
    if let Some(after) = query.after {
        filter(&mut sql, beyond, Value::Integer(i64::try_from(after).unwrap_or(i64::MAX)));
    }
    values.push(limit(query.limit));
    let _ = write!(sql, " ORDER BY seq {direction} LIMIT ?{}", values.len());
    (sql, values)
}

pub(super) fn events(connection: &Connection, query: &EventQuery) -> rusqlite::Result<Vec<StoredEvent>> {
    let (sql, values) = events_sql(query);
    let mut statement = connection.prepare_cached(&sql)?;
    statement
        .query_map(params_from_iter(values), |row| {
            Ok(StoredEvent { seq: row.get(0)?, kind: row.get(1)?, body: row.get(2)? })
        })?
        .collect()
}

pub(super) fn last_seq(connection: &Connection) -> rusqlite::Result<u64> {
    connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM audit")?.query_row([], |row| row.get(0))
}

pub(super) fn notices(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<StoredNotice>> {
    let mut statement =
        connection.prepare_cached("SELECT id, action, notice, at FROM outbox ORDER BY id LIMIT ?1")?;
    statement
        .query_map([self::limit(limit)], |row| {
            Ok(StoredNotice {
                id: row.get(0)?,
                action: rows::action_id(row, 1)?,
                notice: row.get(2)?,
                at: rows::time(row, 3)?,
            })
        })?
        .collect()
}

pub(super) const PENDING_COUNT: &str = "SELECT count(*) FROM actions WHERE status = 'pending'";

pub(super) fn pending_count(connection: &Connection) -> rusqlite::Result<u64> {
    connection.prepare_cached(PENDING_COUNT)?.query_row([], |row| row.get(0))
}
