//! Numbers that are added up: sizes, counts, events.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

/// The greatest that a store has, which is the greatest that is the same number in every language.
const GREATEST: i64 = (1 << 53) - 1;

/// An integer of a row that is no greater than any store can have, so that sums of it stay integers. Others are damage.
pub(crate) struct Number(pub(crate) i64);

impl FromSql for Number {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Integer(number) if (-GREATEST..=GREATEST).contains(&number) => Ok(Self(number)),
            ValueRef::Integer(number) => Err(FromSqlError::OutOfRange(number)),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}
