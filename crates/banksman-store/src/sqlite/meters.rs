//! Meters: what was added to them lately.

use banksman_core::ActionId;
use banksman_core::meter::{Charge, Measure, MeterQuery, ONE, Reading};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

/// Adds up one stretch of the table's own key. `total` and not `sum`: it does not fail where integers end.
pub(super) const SUM: &str =
    "SELECT total(amount) FROM charges WHERE meter = ?1 AND at >= ?2 AND action IS NOT ?3";

pub(super) const DISTINCT: &str =
    "SELECT count(DISTINCT value) FROM charges WHERE meter = ?1 AND at >= ?2 AND action IS NOT ?3";

pub(super) fn read(connection: &Connection, query: &MeterQuery) -> rusqlite::Result<i64> {
    let mut values = vec![
        Value::Blob(query.meter.as_bytes().to_vec()),
        Value::Integer(query.since.as_micros()),
        query.except.map_or(Value::Null, |action| Value::Blob(action.to_bytes().into())),
    ];
    match &query.measure {
        Measure::Sum => {
            let total: f64 =
                connection.prepare_cached(SUM)?.query_row(params_from_iter(values), |row| row.get(0))?;
            // Exact up to nine billion, and beyond that still as large as it is.
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a cast from f64 stops at the largest integer"
            )]
            Ok(total as i64)
        }
        Measure::Distinct { besides } => {
            let mut sql = DISTINCT.to_owned();
            if !besides.is_empty() {
                sql.push_str(" AND value NOT IN (?");
                sql.push_str(&", ?".repeat(besides.len() - 1));
                sql.push(')');
            }
            values.extend(besides.iter().map(|value| Value::Blob(value.as_bytes().to_vec())));
            let count: i64 =
                connection.prepare_cached(&sql)?.query_row(params_from_iter(values), |row| row.get(0))?;
            Ok(count.saturating_mul(ONE))
        }
    }
}

pub(super) fn readings(connection: &Connection, queries: Vec<MeterQuery>) -> rusqlite::Result<Vec<Reading>> {
    // One transaction, so that all of them show the same moment.
    let view = connection.unchecked_transaction()?;
    queries.into_iter().map(|query| Ok(Reading { total: read(&view, &query)?, query })).collect()
}

pub(super) fn give_back(connection: &Connection, action: ActionId) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM charges WHERE action = ?1")?.execute([action.to_bytes()])?;
    Ok(())
}

pub(super) fn charge(connection: &Connection, charge: &Charge) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO charges (meter, at, action, amount, value) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![
            charge.meter.as_bytes(),
            charge.at.as_micros(),
            charge.action.to_bytes(),
            charge.amount,
            charge.value.as_ref().map(|value| value.as_bytes()),
        ])?;
    connection
        .prepare_cached("DELETE FROM charges WHERE meter = ?1 AND at < ?2")?
        .execute(params![charge.meter.as_bytes(), charge.forget_before.as_micros()])?;
    Ok(())
}
