//! What is copied: each table, its columns, and the order in which both databases read it out.

use banksman_core::Digest;
use tokio_postgres::types::Type;

use super::value::Value;
use crate::StoreError;
use crate::postgres::keys;

/// A column that both databases have.
pub(super) type Column = (&'static str, Type);

pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
    /// Columns that tell rows apart; of those, texts are compared byte by byte in both databases.
    pub(super) key: &'static str,
    /// A column that only SQLite has, read to derive from; it comes last.
    pub(super) left_behind: Option<&'static str>,
    /// A column that only PostgreSQL has, and what it holds for a row of SQLite.
    pub(super) derived: Option<(Column, Derive)>,
}

pub(super) type Derive = fn(&Table, &[Value]) -> Result<Value, StoreError>;

impl Table {
    pub(super) fn select_from_sqlite(&self) -> String {
        let last = self.left_behind.map_or(String::new(), |column| format!(", {column}"));
        format!("SELECT {}{last} FROM {} ORDER BY {}", self.names(), self.name, self.key)
    }

    pub(super) fn select_from_postgres(&self) -> String {
        let derived = self.derived.as_ref().map_or(String::new(), |((name, _), _)| format!(", {name}"));
        let key: Vec<String> = self.key.split(", ").map(|column| self.ordered(column)).collect();
        format!("SELECT {}{derived} FROM {} ORDER BY {}", self.names(), self.name, key.join(", "))
    }

    fn ordered(&self, column: &str) -> String {
        let text = self.columns.iter().any(|(name, kind)| *name == column && *kind == Type::TEXT);
        if text { format!("{column} COLLATE \"C\"") } else { column.to_owned() }
    }

    pub(super) fn copy_into_postgres(&self) -> String {
        let derived = self.derived.as_ref().map_or(String::new(), |((name, _), _)| format!(", {name}"));
        format!("COPY {} ({}{derived}) FROM STDIN BINARY", self.name, self.names())
    }

    pub(super) fn types(&self) -> Vec<Type> {
        let derived = self.derived.iter().map(|((_, kind), _)| kind.clone());
        self.columns.iter().map(|(_, kind)| kind.clone()).chain(derived).collect()
    }

    /// The row that PostgreSQL is to hold, given what SQLite holds.
    pub(super) fn arriving(&self, mut row: Vec<Value>) -> Result<Vec<Value>, StoreError> {
        if let Some((_, derive)) = self.derived {
            let derived = derive(self, &row)?;
            row.truncate(self.columns.len());
            row.push(derived);
        }
        Ok(row)
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    fn value<'a>(&self, row: &'a [Value], column: &str) -> Option<&'a Value> {
        let place = self.columns.iter().position(|(name, _)| *name == column)?;
        row.get(place)
    }
}

/// What an action is found by when the same proposal is sent again; SQLite indexes the columns themselves.
fn join_key(table: &Table, row: &[Value]) -> Result<Value, StoreError> {
    let joinable = row.last() == Some(&Value::Number(1));
    match (table.value(row, "agent"), table.value(row, "digest")) {
        _ if !joinable => Ok(Value::Null),
        (Some(Value::Text(agent)), Some(Value::Bytes(digest))) => {
            let digest: [u8; 32] = digest.as_slice().try_into().map_err(|_| odd("a digest"))?;
            Ok(Value::Bytes(keys::join(agent, Digest::from_bytes(digest)).as_bytes().to_vec()))
        }
        _ => Err(odd("an action")),
    }
}

fn idempotency_id(table: &Table, row: &[Value]) -> Result<Value, StoreError> {
    match (table.value(row, "agent"), table.value(row, "key")) {
        (Some(Value::Text(agent)), Some(Value::Text(key))) => {
            Ok(Value::Bytes(keys::idempotency(agent, key).as_bytes().to_vec()))
        }
        _ => Err(odd("an idempotency key")),
    }
}

fn seen_id(table: &Table, row: &[Value]) -> Result<Value, StoreError> {
    match (table.value(row, "channel"), table.value(row, "event")) {
        (Some(Value::Text(channel)), Some(Value::Text(event))) => {
            Ok(Value::Bytes(keys::seen(channel, event).as_bytes().to_vec()))
        }
        _ => Err(odd("what a provider told")),
    }
}

fn odd(what: &str) -> StoreError {
    StoreError::Corrupt(format!("{what} in SQLite is not what it should be"))
}

pub(super) const TABLES: &[Table] = &[
    Table {
        name: "freezes",
        columns: &[("id", Type::BYTEA), ("body", Type::TEXT)],
        key: "id",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "grants",
        columns: &[("id", Type::BYTEA), ("expires_at", Type::INT8), ("body", Type::TEXT)],
        key: "id",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "delegations",
        columns: &[("id", Type::BYTEA), ("ends_at", Type::INT8), ("body", Type::TEXT)],
        key: "id",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "credentials",
        columns: &[
            ("id", Type::BYTEA),
            ("secret_hash", Type::BYTEA),
            ("kind", Type::TEXT),
            ("name", Type::TEXT),
            ("owner", Type::TEXT),
            ("roles", Type::TEXT),
            ("created_at", Type::INT8),
            ("expires_at", Type::INT8),
            ("revoked_at", Type::INT8),
            ("session", Type::TEXT),
        ],
        key: "id",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "people",
        columns: &[
            ("id", Type::BYTEA),
            ("name", Type::TEXT),
            ("kind", Type::TEXT),
            ("standing", Type::TEXT),
            ("body", Type::TEXT),
        ],
        key: "id",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "spent",
        columns: &[("key", Type::BYTEA), ("until", Type::INT8)],
        key: "key",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "actions",
        columns: &[
            ("id", Type::BYTEA),
            ("agent", Type::TEXT),
            ("owner", Type::TEXT),
            ("tool", Type::TEXT),
            ("tier", Type::TEXT),
            ("status", Type::TEXT),
            ("digest", Type::BYTEA),
            ("version", Type::INT8),
            ("revision", Type::INT8),
            ("batch", Type::BYTEA),
            ("created_at", Type::INT8),
            ("wake_at", Type::INT8),
            ("claimed_at", Type::INT8),
            ("priority", Type::INT2),
            ("risk", Type::INT2),
            ("deadline", Type::INT8),
            ("reviews", Type::TEXT),
            ("state", Type::TEXT),
        ],
        key: "id",
        left_behind: Some("joinable"),
        derived: Some((("join_key", Type::BYTEA), join_key)),
    },
    Table {
        name: "submissions",
        columns: &[("action", Type::BYTEA), ("version", Type::INT8), ("body", Type::TEXT)],
        key: "action, version",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "batches",
        columns: &[
            ("id", Type::BYTEA),
            ("agent", Type::TEXT),
            ("created_at", Type::INT8),
            ("items", Type::BYTEA),
        ],
        key: "id",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "idempotency_keys",
        columns: &[
            ("agent", Type::TEXT),
            ("key", Type::TEXT),
            ("request", Type::BYTEA),
            ("action", Type::BYTEA),
            ("created_at", Type::INT8),
        ],
        key: "agent, key",
        left_behind: None,
        derived: Some((("id", Type::BYTEA), idempotency_id)),
    },
    Table {
        name: "charges",
        columns: &[
            ("meter", Type::BYTEA),
            ("at", Type::INT8),
            ("action", Type::BYTEA),
            ("amount", Type::INT8),
            ("value", Type::BYTEA),
        ],
        key: "meter, at, action",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "audit",
        columns: &[
            ("seq", Type::INT8),
            ("at", Type::INT8),
            ("type", Type::TEXT),
            ("actor", Type::TEXT),
            ("action", Type::BYTEA),
            ("agent", Type::TEXT),
            ("tool", Type::TEXT),
            ("risk", Type::TEXT),
            ("decision", Type::TEXT),
            ("resolution", Type::BOOL),
            ("observed", Type::BOOL),
            ("body", Type::TEXT),
        ],
        key: "seq",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "outbox",
        columns: &[("id", Type::INT8), ("action", Type::BYTEA), ("notice", Type::TEXT), ("at", Type::INT8)],
        key: "id",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "deliveries",
        columns: &[
            ("id", Type::INT8),
            ("action", Type::BYTEA),
            ("version", Type::INT8),
            ("purpose", Type::TEXT),
            ("round", Type::INT8),
            ("channel", Type::TEXT),
            ("recipient", Type::TEXT),
            ("status", Type::TEXT),
            ("attempt", Type::INT8),
            ("next_at", Type::INT8),
            ("message", Type::INT8),
            ("provider_id", Type::TEXT),
            ("error", Type::TEXT),
            ("created_at", Type::INT8),
            ("updated_at", Type::INT8),
            ("bundle", Type::INT8),
            ("strikes", Type::INT8),
        ],
        key: "id",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "jobs",
        columns: &[
            ("id", Type::INT8),
            ("action", Type::BYTEA),
            ("status", Type::TEXT),
            ("attempt", Type::INT8),
            ("next_at", Type::INT8),
            ("error", Type::TEXT),
            ("created_at", Type::INT8),
            ("updated_at", Type::INT8),
        ],
        key: "id",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "log_readers",
        columns: &[("reader", Type::TEXT), ("seq", Type::INT8)],
        key: "reader",
        left_behind: None,
        derived: None,
    },
    Table {
        name: "seen_events",
        columns: &[("channel", Type::TEXT), ("event", Type::TEXT), ("at", Type::INT8)],
        key: "channel, event",
        left_behind: None,
        derived: Some((("id", Type::BYTEA), seen_id)),
    },
];
