//! Lists, and counts of what is pending.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::rows::{BODY_AS_BYTES, CASE_COLUMNS};
use crate::listing::{Dialect, Listing, Value};

/// What an action asks for is looked up for each row (see [`super::rows`]).
pub(super) const DIALECT: Dialect = Dialect {
    parameter: '$',
    is_set: "",
    find: "strpos",
    case_columns: CASE_COLUMNS,
    with_submission: "",
    submission: BODY_AS_BYTES,
    by_brief_index: "",
    join: "JOIN",
};

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Text(text) => text.to_sql(ty, out),
            // Sent as wide as the column is.
            Self::Number(number) if *ty == Type::INT2 => i16::try_from(*number)?.to_sql(ty, out),
            Self::Number(number) => number.to_sql(ty, out),
            Self::Id(id) => id.as_slice().to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        [Type::INT2, Type::INT8, Type::BYTEA].contains(ty) || <&str as ToSql>::accepts(ty)
    }

    to_sql_checked!();
}

/// The values of a list query, as the client library wants them.
pub(super) fn params(listing: &Listing) -> Vec<&(dyn ToSql + Sync)> {
    listing.values.iter().map(|value| -> &(dyn ToSql + Sync) { value }).collect()
}

/// One statement, so that the sums agree: what is counted, its name, how many.
pub(super) const PENDING_COUNTS: &str = "\
    WITH waiting AS MATERIALIZED (SELECT risk, tier, tool, agent FROM actions WHERE status = 'pending')
    SELECT 'risk', risk::text, count(*) FROM waiting GROUP BY risk
    UNION ALL SELECT 'tier', tier, count(*) FROM waiting GROUP BY tier
    UNION ALL (SELECT 'tool', tool, count(*) FROM waiting GROUP BY tool ORDER BY 3 DESC, 2 LIMIT $1)
    UNION ALL (SELECT 'agent', agent, count(*) FROM waiting GROUP BY agent ORDER BY 3 DESC, 2 LIMIT $1)";
