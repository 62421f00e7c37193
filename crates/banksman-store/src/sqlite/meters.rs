//! Meters: what was added to them lately.

use banksman_core::ActionId;
use banksman_core::meter::{Charge, Measure, MeterQuery, ONE, Reading};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::pen::Pen;
use super::stroke::{Field, Stroke};

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

pub(super) fn give_back(pen: &mut Pen<'_>, action: ActionId) -> rusqlite::Result<()> {
    pen.write(Stroke::GiveBack, &[(&action.to_bytes()).into()])?;
    Ok(())
}

pub(super) fn charge(pen: &mut Pen<'_>, charge: &Charge) -> rusqlite::Result<()> {
    let (meter, action) = (charge.meter.as_bytes(), charge.action.to_bytes());
    let fields: [Field<'_>; 5] = [
        meter.into(),
        charge.at.as_micros().into(),
        (&action).into(),
        charge.amount.into(),
        charge.value.as_ref().map(banksman_core::Digest::as_bytes).into(),
    ];
    pen.write(Stroke::Charge, &fields)?;
    pen.write(Stroke::Forget, &[meter.into(), charge.forget_before.as_micros().into()])?;
    Ok(())
}
