//! Looking for damage: in the pages of the file, and in what the rows say of each other.

use rusqlite::params;

use crate::correction::Sum;
use crate::error::{Kind, Result};
use crate::key::Key;
use crate::message::Incoming;
use crate::place::Place;
use crate::store::{Store, Tx};
use crate::types::{CheckReport, MediaMode};

/// Lines of a report.
const MAX_PROBLEMS: usize = 100;

impl<P: Place> Store<P> {
    /// Looks for damage in the file: reads all of it.
    pub fn check(&mut self) -> Result<CheckReport> {
        self.read(|tx| {
            let mut problems = Vec::new();
            if let Err(error) = tx.look_for_damage(&mut problems) {
                // Damage that a look cannot get past is what was looked for.
                if error.kind != Kind::Corrupt {
                    return Err(error);
                }
                problems.push(error.message);
            }
            problems.truncate(MAX_PROBLEMS);
            Ok(CheckReport { sound: problems.is_empty(), problems })
        })
    }
}

impl Tx<'_> {
    fn look_for_damage(&self, problems: &mut Vec<String>) -> Result<()> {
        self.damaged_pages(problems)?;
        // Rows of a damaged file need not make sense: what is wrong with its pages says enough.
        if problems.is_empty() {
            self.wrong_sessions(problems)?;
            self.wrong_sums(problems)?;
            self.strays(problems)?;
            self.wrong_messages(problems)?;
            self.wrong_payloads(problems)?;
            self.wrong_index(problems)?;
        }
        Ok(())
    }

    fn damaged_pages(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut statement = self.statement(&format!("PRAGMA integrity_check({MAX_PROBLEMS})"))?;
        let mut lines = statement.query([])?;
        while let Some(line) = lines.next()? {
            let line: String = line.get(0)?;
            if line != "ok" {
                problems.push(line);
            }
        }
        Ok(())
    }

    /// Counters of sessions against their messages.
    fn wrong_sessions(&self, problems: &mut Vec<String>) -> Result<()> {
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
    fn wrong_sums(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut chains =
            self.statement("SELECT c.key, s.corrected FROM chain c LEFT JOIN session s ON s.key = c.session")?;
        let mut chains = chains.query([])?;
        while let Some(chain) = chains.next()? {
            let key: u32 = chain.get(0)?;
            let corrected = chain.get::<_, Option<bool>>(1)?.unwrap_or(true);
            let mut total = Sum::default();
            let mut messages = self.statement(
                "SELECT key, bytes, tokens, outside FROM message WHERE key > ?1 AND key <= ?2 ORDER BY key",
            )?;
            let mut messages = messages.query(params![Key::start(key), Key::end(key)])?;
            while let Some(message) = messages.next()? {
                let at: Key = message.get(0)?;
                total += Sum { bytes: message.get(1)?, tokens: message.get(2)?, outside: message.get(3)?, gone: 0 };
                if self.sum_to(at, corrected)? != total {
                    problems.push(format!("chain {key}, seq {}: the sums do not add up", at.seq()));
                    if problems.len() >= MAX_PROBLEMS {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Messages that cannot be read, or are others than their rows say.
    fn wrong_messages(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut keys = self.statement("SELECT key FROM message ORDER BY key")?;
        let mut keys = keys.query([])?;
        while let Some(row) = keys.next()?
            && problems.len() < MAX_PROBLEMS
        {
            let key: Key = row.get(0)?;
            let problem = match self.load(key, MediaMode::Inline) {
                Ok((head, text)) => match Incoming::parse(&text) {
                    Ok(message) if (message.id(), message.role()) != (&head.id, &head.role) => {
                        "its id or role is another one than its row says".to_owned()
                    }
                    Ok(message) if message.text() != text || text.len() as u64 != head.bytes.unsigned_abs() => {
                        "its text is not as it was stored".to_owned()
                    }
                    Ok(_) => continue,
                    Err(error) => error.message,
                },
                Err(error) if error.kind == Kind::Corrupt => error.message,
                Err(error) => return Err(error),
            };
            problems.push(format!("chain {}, seq {}: {problem}", key.chain(), key.seq()));
        }
        Ok(())
    }

    /// Payloads whose bytes are others than those that they are named by.
    fn wrong_payloads(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut payloads = self.statement("SELECT key, hash FROM payload")?;
        let mut payloads = payloads.query([])?;
        while let Some(row) = payloads.next()?
            && problems.len() < MAX_PROBLEMS
        {
            let key: i64 = row.get(0)?;
            let hash: Vec<u8> = row.get(1)?;
            if !self.is_payload_whole(key, &hash)? {
                problems.push(format!("payload {key}: its bytes are not those that were stored"));
            }
        }
        Ok(())
    }

    /// Rows that belong to nothing.
    fn strays(&self, problems: &mut Vec<String>) -> Result<()> {
        for (what, sql) in [
            ("messages without a chain", "SELECT count(*) FROM message WHERE key >> 32 NOT IN (SELECT key FROM chain)"),
            (
                "messages on a chain of another session",
                "SELECT count(*) FROM message m JOIN chain c ON c.key = m.key >> 32 WHERE c.session <> m.session",
            ),
            ("chains without a session", "SELECT count(*) FROM chain WHERE session NOT IN (SELECT key FROM session)"),
            (
                "chains without what they hang on",
                "SELECT count(*) FROM chain WHERE attach >> 32 NOT IN (SELECT key FROM chain)",
            ),
            ("pieces without a message", "SELECT count(*) FROM piece WHERE message NOT IN (SELECT key FROM message)"),
            (
                "messages whose text is incomplete",
                "SELECT count(*) FROM message m WHERE bytes - outside <> coalesce(octet_length(body),
                   (SELECT sum(octet_length(data)) FROM piece WHERE message = m.key), -1)",
            ),
            (
                "messages whose media is incomplete",
                "SELECT count(*) FROM message m WHERE outside <> (SELECT coalesce(sum(octet_length(r.prefix)
                   + (p.bytes + 2) / 3 * 4), 0) FROM media r JOIN payload p ON p.key = r.payload WHERE r.message = m.key)",
            ),
            ("media of no message", "SELECT count(*) FROM media WHERE message NOT IN (SELECT key FROM message)"),
            (
                "payloads that are counted wrongly",
                "SELECT count(*) FROM payload p
                   LEFT JOIN (SELECT payload, count(*) AS count FROM media GROUP BY payload) r ON r.payload = p.key
                   LEFT JOIN (SELECT payload, sum(octet_length(data)) AS bytes FROM slice GROUP BY payload) s
                     ON s.payload = p.key
                   WHERE p.refs <> coalesce(r.count, 0) OR p.bytes <> coalesce(s.bytes, 0)",
            ),
            ("slices of no payload", "SELECT count(*) FROM slice WHERE payload NOT IN (SELECT key FROM payload)"),
            (
                "corrections without a chain",
                "SELECT count(*) FROM correction WHERE chain NOT IN (SELECT key FROM chain)",
            ),
            (
                "messages that no run of writing names",
                "SELECT count(*) FROM message m WHERE m.key >> 32 IS NOT (SELECT chain FROM run r
                   WHERE r.session = m.session AND r.seq <= m.key & 4294967295 ORDER BY r.seq DESC LIMIT 1)",
            ),
            ("titles of no session", "SELECT count(*) FROM title WHERE session NOT IN (SELECT key FROM session)"),
            (
                "events of sessions that never were",
                "SELECT count(*) FROM event WHERE typeof(session) = 'integer'
                   AND session NOT IN (SELECT key FROM session UNION ALL SELECT session FROM gone)",
            ),
            ("ids of no event", "SELECT count(*) FROM event_ids WHERE event NOT IN (SELECT number FROM event)"),
            (
                "wrong counts of events",
                "SELECT (SELECT count(*) FROM event) <> (SELECT value FROM meta WHERE name = 'feed-besides')
                   + coalesce((SELECT written FROM event ORDER BY number DESC LIMIT 1), 0)",
            ),
        ] {
            let count: i64 = self.statement(sql)?.query_row([], |row| row.get(0))?;
            if count > 0 {
                problems.push(format!("{count} {what}"));
            }
        }
        Ok(())
    }
}
