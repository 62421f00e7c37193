//! Rows, column by column: what `unnest` makes rows of again. For what few commits write; see [`super::records`] for what
//! all of them do.

use tokio_postgres::types::ToSql;

pub(super) type Column<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// A column: one value of each item.
pub(super) fn column<'a, I, T: ToSql + Sync + Send + 'a>(
    items: &[I],
    value: impl FnMut(&I) -> T,
) -> Column<'a> {
    Box::new(items.iter().map(value).collect::<Vec<T>>())
}
