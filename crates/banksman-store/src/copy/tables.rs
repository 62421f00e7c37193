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

/// A table that both databases hold alike.
macro_rules! table {
    ($name:literal by $key:literal { $($column:ident: $kind:ident),+ $(,)? }) => {
        Table {
            name: $name,
            columns: &[$((stringify!($column), Type::$kind)),+],
            key: $key,
            left_behind: None,
            derived: None,
        }
    };
}

pub(super) const TABLES: &[Table] = &[
    table!("freezes" by "id" { id: BYTEA, body: TEXT }),
    table!("grants" by "id" { id: BYTEA, expires_at: INT8, body: TEXT }),
    table!("delegations" by "id" { id: BYTEA, ends_at: INT8, body: TEXT }),
    table!("credentials" by "id" {
        id: BYTEA, secret_hash: BYTEA, kind: TEXT, name: TEXT, owner: TEXT, roles: TEXT,
        created_at: INT8, expires_at: INT8, revoked_at: INT8, session: TEXT,
    }),
    table!("people" by "id" { id: BYTEA, name: TEXT, kind: TEXT, standing: TEXT, body: TEXT }),
    table!("spent" by "key" { key: BYTEA, until: INT8 }),
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
    table!("submissions" by "action, version" { action: BYTEA, version: INT8, body: TEXT }),
    table!("batches" by "id" { id: BYTEA, agent: TEXT, created_at: INT8, items: BYTEA }),
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
    table!("charges" by "meter, at, action" {
        meter: BYTEA, at: INT8, action: BYTEA, amount: INT8, value: BYTEA,
    }),
    table!("audit" by "seq" {
        seq: INT8, at: INT8, type: TEXT, actor: TEXT, action: BYTEA, agent: TEXT, tool: TEXT,
        risk: TEXT, decision: TEXT, resolution: BOOL, observed: BOOL, body: TEXT,
    }),
    table!("ledger_pages" by "page" { page: INT8, hash: BYTEA }),
    table!("checkpoints" by "size" { size: INT8, at: INT8, note: TEXT }),
    table!("outbox" by "id" { id: INT8, action: BYTEA, notice: TEXT, at: INT8 }),
    table!("deliveries" by "id" {
        id: INT8, action: BYTEA, version: INT8, purpose: TEXT, round: INT8, channel: TEXT,
        recipient: TEXT, status: TEXT, attempt: INT8, next_at: INT8, message: INT8, provider_id: TEXT,
        error: TEXT, created_at: INT8, updated_at: INT8, bundle: INT8, strikes: INT8,
    }),
    table!("jobs" by "id" {
        id: INT8, action: BYTEA, status: TEXT, attempt: INT8, next_at: INT8, error: TEXT,
        created_at: INT8, updated_at: INT8,
    }),
    table!("log_readers" by "reader" { reader: TEXT, seq: INT8 }),
    Table {
        name: "seen_events",
        columns: &[("channel", Type::TEXT), ("event", Type::TEXT), ("at", Type::INT8)],
        key: "channel, event",
        left_behind: None,
        derived: Some((("id", Type::BYTEA), seen_id)),
    },
];
