//! What is counted, against what is there.

use rusqlite::params;

use super::MAX_PROBLEMS;
use crate::correction::Sum;
use crate::error::Result;
use crate::key::Key;
use crate::number::Number;
use crate::store::Tx;

impl Tx<'_> {
    /// Counters of sessions against their messages.
    pub(super) fn wrong_sessions(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut statement = self.statement(
            "SELECT s.id, s.messages, s.bytes, s.tokens, s.last_seq, s.leaf, s.chosen,
                    count(m.key), coalesce(sum(m.bytes), 0), coalesce(sum(m.tokens), 0),
                    coalesce(max(m.key & 4294967295), 0), coalesce(sum(m.key = s.chosen), 0),
                    s.outside, coalesce(sum(m.outside), 0)
             FROM session s LEFT JOIN message m ON m.session = s.key GROUP BY s.key",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let stored: [i64; 4] = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(12)?];
            let counted: [i64; 4] = [row.get(7)?, row.get(8)?, row.get(9)?, row.get(13)?];
            if stored != counted {
                problems.push(format!(
                    "session {id:?} says {stored:?} messages, bytes, tokens, media; there are {counted:?}"
                ));
            }
            let (last_seq, greatest): (u32, u32) = (row.get(4)?, row.get(10)?);
            let leaf: Option<Key> = row.get(5)?;
            if leaf.map_or(0, Key::seq) != greatest || greatest > last_seq {
                problems
                    .push(format!("session {id:?}: leaf {leaf:?} and last seq {last_seq}; the greatest is {greatest}"));
            }
            if row.get::<_, Option<Key>>(6)?.is_some() && row.get::<_, i64>(11)? != 1 {
                problems.push(format!("session {id:?}: the chosen leaf is no message of it"));
            }
        }
        Ok(())
    }

    /// Sums along each chain, corrections included, against its messages.
    pub(super) fn wrong_sums(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut chains =
            self.statement("SELECT c.key, s.corrected FROM chain c LEFT JOIN session s ON s.key = c.session")?;
        let mut chains = chains.query([])?;
        while let Some(chain) = chains.next()? {
            let key: u32 = chain.get(0)?;
            let corrected = chain.get::<_, Option<bool>>(1)?.unwrap_or(true);
            let (mut total, mut before) = (Sum::default(), 0);
            let mut messages = self.statement(
                "SELECT key, bytes, tokens, outside, event FROM message WHERE key > ?1 AND key <= ?2 ORDER BY key",
            )?;
            let mut messages = messages.query(params![Key::start(key), Key::end(key)])?;
            while let Some(message) = messages.next()? {
                let at: Key = message.get(0)?;
                let number = |column| Ok::<_, rusqlite::Error>(message.get::<_, Number>(column)?.0);
                total += Sum { bytes: number(1)?, tokens: number(2)?, outside: number(3)?, gone: 0 };
                let event: i64 = message.get(4)?;
                if event <= before {
                    problems.push(format!("chain {key}, seq {}: written before the message above it", at.seq()));
                }
                before = event;
                if self.sum_to(at, corrected)? != total {
                    problems.push(format!("chain {key}, seq {}: the sums do not add up", at.seq()));
                }
                if problems.len() >= MAX_PROBLEMS {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
