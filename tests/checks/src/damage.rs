//! Damage to a database file: bytes of its pages, pages as a whole, its length, and values of its rows.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::bytes::Choices;

/// Bytes of a page.
const PAGE: usize = 4096;

/// Edits that one input may ask for.
const MAX_EDITS: usize = 24;

/// What rows are damaged with, beside what an input brings.
const NUMBERS: [i64; 16] = [
    0,
    1,
    -1,
    2,
    63,
    64,
    255,
    65_537,
    u32::MAX as i64,
    1 << 32,
    (1 << 32) + 1,
    (2 << 32) | 0xffff_ffff,
    i32::MAX as i64,
    1 << 53,
    i64::MAX,
    i64::MIN,
];

/// What a file is changed to, and values of rows that are to be changed once it lies there.
pub(crate) struct Damage {
    pub(crate) file: Vec<u8>,
    rows: Vec<Row>,
}

/// A value of a row: which table, row and column, each modulo how many there are.
struct Row {
    table: usize,
    row: usize,
    column: usize,
    value: Value,
}

/// Reads edits from an input and makes those of the file's bytes.
pub(crate) fn damage(file: &[u8], choices: &mut Choices<'_>) -> Damage {
    let mut damage = Damage { file: file.to_vec(), rows: Vec::new() };
    for _ in 0..MAX_EDITS {
        if choices.is_empty() {
            break;
        }
        edit(&mut damage, choices);
    }
    damage
}

fn edit(damage: &mut Damage, choices: &mut Choices<'_>) {
    let what = choices.byte();
    if what % 8 >= 5 {
        let (table, row) = (usize::from(choices.byte()), choices.below(1 << 16));
        let column = usize::from(choices.byte());
        let value = match what % 8 {
            5 => Value::Integer(choices.one_of(&NUMBERS)),
            6 => Value::Integer(choices.number(8) as i64),
            _ => {
                let length = usize::from(choices.byte() % 32);
                Value::Text(String::from_utf8_lossy(choices.take(length)).into_owned())
            }
        };
        damage.rows.push(Row { table, row, column, value });
        return;
    }
    let file = &mut damage.file;
    let at = choices.number(3) as usize % file.len().max(1);
    match what % 8 {
        0 => {
            let length = usize::from(choices.byte() % 16) + 1;
            for (old, &new) in file.iter_mut().skip(at).zip(choices.take(length)) {
                *old = new;
            }
        }
        1 => {
            let (length, with) = (choices.below(2 * PAGE), choices.byte());
            file.iter_mut().skip(at).take(length).for_each(|byte| *byte = with);
        }
        2 => {
            // One page in the place of another.
            let from = choices.number(3) as usize % file.len().max(1);
            let (from, to) = (from / PAGE * PAGE, at / PAGE * PAGE);
            if from + PAGE <= file.len() && to + PAGE <= file.len() {
                file.copy_within(from..from + PAGE, to);
            }
        }
        3 => file.truncate(at),
        _ => {
            if let Some(byte) = file.get_mut(at) {
                *byte ^= 1 << (choices.byte() % 8);
            }
        }
    }
}

impl Damage {
    /// Changes the values of rows in the file. What cannot be changed stays as it is.
    pub(crate) fn change_rows(&self, file: &Path) {
        if self.rows.is_empty() {
            return;
        }
        let Ok(connection) = Connection::open(file) else { return };
        // A value that contradicts an index is damage as well: `REPLACE` makes room for one that is there already.
        let Ok(tables) = names(&connection, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
        else {
            return;
        };
        for row in &self.rows {
            let Some(table) = tables.get(row.table % tables.len().max(1)) else { return };
            let Ok(columns) = names(&connection, &format!("SELECT name FROM pragma_table_info('{table}')")) else {
                continue;
            };
            let Some(column) = columns.get(row.column % columns.len().max(1)) else { continue };
            let count = format!("SELECT count(*) FROM \"{table}\"");
            let Ok(count) = connection.query_row(&count, [], |row| row.get::<_, i64>(0)) else { continue };
            let key = if table_has_rowid(&connection, table) { "rowid" } else { "*" };
            let offset = row.row as i64 % count.max(1);
            let sql = if key == "rowid" {
                format!(
                    "UPDATE OR REPLACE \"{table}\" SET \"{column}\" = ?1
                     WHERE rowid = (SELECT rowid FROM \"{table}\" LIMIT 1 OFFSET {offset})"
                )
            } else {
                let first = &columns[0];
                format!(
                    "UPDATE OR REPLACE \"{table}\" SET \"{column}\" = ?1
                     WHERE \"{first}\" = (SELECT \"{first}\" FROM \"{table}\" LIMIT 1 OFFSET {offset})"
                )
            };
            let _ = connection.execute(&sql, [&row.value]);
        }
    }
}

fn table_has_rowid(connection: &Connection, table: &str) -> bool {
    connection.prepare(&format!("SELECT rowid FROM \"{table}\"")).is_ok()
}

fn names(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}
