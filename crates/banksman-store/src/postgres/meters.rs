//! Meters: what was added to them lately.

use banksman_core::meter::{Measure, MeterQuery, ONE};
use tokio_postgres::Row;

use super::rows::get;
use crate::StoreError;

/// Answers all questions at one moment, in their order. Sums stop where integers end instead of failing.
pub(super) const READ: &str = "\
    SELECT CASE WHEN q.counts
        THEN (SELECT count(DISTINCT c.value)::numeric FROM charges c
              WHERE c.meter = q.meter AND c.at >= q.since AND c.action IS DISTINCT FROM q.without
                AND NOT EXISTS (SELECT FROM unnest($5::bigint[], $6::bytea[]) AS b (place, value)
                                WHERE b.place = q.place AND b.value = c.value))
        ELSE (SELECT coalesce(sum(c.amount), 0) FROM charges c
              WHERE c.meter = q.meter AND c.at >= q.since AND c.action IS DISTINCT FROM q.without)
        END :: numeric AS total
    FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::boolean[]) WITH ORDINALITY
         AS q (meter, since, without, counts, place)
    ORDER BY q.place";

/// [`READ`], cut off at the largest integer that there is.
pub(super) fn read_sql() -> String {
    format!("SELECT least(total, 9223372036854775807)::bigint FROM ({READ}) readings")
}

/// The questions, column by column.
#[derive(Default)]
pub(super) struct Questions {
    pub(super) meters: Vec<Vec<u8>>,
    pub(super) since: Vec<i64>,
    pub(super) except: Vec<Option<Vec<u8>>>,
    pub(super) counts: Vec<bool>,
    pub(super) besides_of: Vec<i64>,
    pub(super) besides: Vec<Vec<u8>>,
}

impl Questions {
    pub(super) fn of<'a>(queries: impl IntoIterator<Item = &'a MeterQuery>) -> Self {
        let mut questions = Self::default();
        for (place, query) in (1..).zip(queries) {
            questions.meters.push(query.meter.as_bytes().to_vec());
            questions.since.push(query.since.as_micros());
            questions.except.push(query.except.map(|action| action.to_bytes().to_vec()));
            questions.counts.push(match &query.measure {
                Measure::Sum => false,
                Measure::Distinct { besides } => {
                    for value in besides {
                        questions.besides_of.push(place);
                        questions.besides.push(value.as_bytes().to_vec());
                    }
                    true
                }
            });
        }
        questions
    }

    pub(super) fn params(&self) -> [&(dyn tokio_postgres::types::ToSql + Sync); 6] {
        [&self.meters, &self.since, &self.except, &self.counts, &self.besides_of, &self.besides]
    }
}

/// The answer to one question: what is counted is counted in whole ones.
pub(super) fn total(row: &Row, query: &MeterQuery) -> Result<i64, StoreError> {
    let total: i64 = get(row, 0)?;
    Ok(match query.measure {
        Measure::Sum => total,
        Measure::Distinct { .. } => total.saturating_mul(ONE),
    })
}
