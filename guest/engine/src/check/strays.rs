//! Rows that belong to nothing, or lack what belongs to them.

use crate::error::Result;
use crate::store::Tx;

impl Tx<'_> {
    /// Rows that belong to nothing.
    pub(super) fn strays(&self, problems: &mut Vec<String>) -> Result<()> {
        for (what, sql) in [
            (
                "rows whose keys no row can have",
                "SELECT (SELECT count(*) FROM session WHERE key < 1) + (SELECT count(*) FROM chain WHERE key < 1)
                   + (SELECT count(*) FROM overlay WHERE key < 1) + (SELECT count(*) FROM block WHERE key < 1)
                   + (SELECT count(*) FROM sqlite_sequence WHERE seq NOT BETWEEN 0 AND 9007199254740991)",
            ),
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
