//! Lists of ids as the table of events keeps them.

use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};

/// Bytes of a list that stand in the event's row at most: rows stay small, and a page of them too.
const ROW_BYTES: usize = 2 * 1024;

/// Bytes of the pieces that a longer one is cut into.
const PIECE_BYTES: usize = 32 * 1024;

/// A list of ids on its way into the file.
pub(super) enum Ids<'a> {
    None,
    One(&'a str),
    List(Vec<u8>),
}

impl<'a> Ids<'a> {
    pub(super) fn new(ids: &[&'a str]) -> Self {
        match ids {
            [] => Self::None,
            [one] => Self::One(one),
            several => Self::List(encode(several)),
        }
    }

    /// What does not fit the row.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let list = match self {
            Self::List(list) if list.len() > ROW_BYTES => list.as_slice(),
            _ => &[],
        };
        list.chunks(PIECE_BYTES)
    }
}

impl ToSql for Ids<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::None => ToSqlOutput::Owned(Value::Null),
            Self::One(id) => ToSqlOutput::Borrowed(ValueRef::Text(id.as_bytes())),
            Self::List(list) if list.len() > ROW_BYTES => ToSqlOutput::Borrowed(ValueRef::Blob(&[])),
            Self::List(list) => ToSqlOutput::Borrowed(ValueRef::Blob(list)),
        })
    }
}

/// Each id behind its length, seven bits a byte. Ids may hold any character, so that none could stand between them.
fn encode(ids: &[&str]) -> Vec<u8> {
    let mut out = Vec::with_capacity(ids.iter().map(|id| id.len() + 2).sum());
    for id in ids {
        let mut length = id.len();
        while length > 0x7f {
            out.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        out.push(length as u8);
        out.extend_from_slice(id.as_bytes());
    }
    out
}

/// The ids that [`encode`] wrote; none if it cannot have been that.
pub(super) fn decode(mut list: &[u8]) -> Option<Vec<String>> {
    let mut ids = Vec::new();
    while !list.is_empty() {
        let (mut length, mut shift) = (0_usize, 0);
        loop {
            let (&byte, rest) = list.split_first()?;
            list = rest;
            length |= usize::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        let (id, rest) = list.split_at_checked(length)?;
        ids.push(String::from_utf8(id.to_vec()).ok()?);
        list = rest;
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_gives_back_its_ids() {
        let long = "x".repeat(20_000);
        for ids in [&["a", "b"][..], &["", ""], &["\0", "é\n", &long, ""]] {
            assert_eq!(
                decode(&encode(ids)).as_deref(),
                Some(&ids.iter().map(|&id| id.to_owned()).collect::<Vec<_>>()[..])
            );
        }
    }

    #[test]
    fn what_is_no_list_gives_none() {
        for wrong in [&[2, b'a'][..], &[0x80], &[0xff; 12], &[1, 0xff]] {
            assert_eq!(decode(wrong), None, "{wrong:?}");
        }
    }
}
