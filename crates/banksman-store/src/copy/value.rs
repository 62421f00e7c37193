//! A value on its way from one database to the other, the same on both sides or it did not arrive.

use std::error::Error;

use bytes::BytesMut;
use rusqlite::types::ValueRef;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
}

type Failure = Box<dyn Error + Sync + Send>;

impl Value {
    pub(super) fn of_sqlite(value: ValueRef<'_>) -> rusqlite::Result<Self> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Number(number),
            ValueRef::Text(_) => Self::Text(value.as_str()?.to_owned()),
            ValueRef::Blob(bytes) => Self::Bytes(bytes.to_vec()),
            // No column of ours holds one.
            ValueRef::Real(_) => {
                return Err(rusqlite::types::FromSqlError::InvalidType.into());
            }
        })
    }
}

impl ToSql for Value {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            // SQLite has one type of number; PostgreSQL's columns are as narrow as they can be.
            Self::Number(number) => match *column {
                Type::BOOL => (*number != 0).to_sql(column, out),
                Type::INT2 => i16::try_from(*number)?.to_sql(column, out),
                _ => number.to_sql(column, out),
            },
            Self::Text(text) => text.to_sql(column, out),
            Self::Bytes(bytes) => bytes.to_sql(column, out),
        }
    }

    fn accepts(column: &Type) -> bool {
        matches!(*column, Type::BOOL | Type::INT2 | Type::INT8 | Type::TEXT | Type::BYTEA)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(column: &Type, raw: &'a [u8]) -> Result<Self, Failure> {
        Ok(match *column {
            Type::BOOL => Self::Number(bool::from_sql(column, raw)?.into()),
            Type::INT2 => Self::Number(i16::from_sql(column, raw)?.into()),
            Type::INT8 => Self::Number(i64::from_sql(column, raw)?),
            Type::TEXT => Self::Text(String::from_sql(column, raw)?),
            _ => Self::Bytes(Vec::from_sql(column, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failure> {
        Ok(Self::Null)
    }

    fn accepts(column: &Type) -> bool {
        <Self as ToSql>::accepts(column)
    }
}
