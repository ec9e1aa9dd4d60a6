//! Writing events down, and letting go of the oldest.

use rusqlite::{OptionalExtension, ToSql, params};

use crate::error::Result;
use crate::feed::ids::Ids;
use crate::key::Key;
use crate::store::Tx;
use crate::types::EventKind;

/// Entries that are kept where nothing else is said.
const KEPT: u32 = 100_000;

/// The oldest entries go together, when there are this part more of them than are kept: a removal costs an event little.
const SLACK: i64 = 64;

/// Kinds of events as the table has them: never renumbered.
pub(super) const KINDS: [EventKind; 9] = [
    EventKind::Appended,
    EventKind::Updated,
    EventKind::Deleted,
    EventKind::Cleared,
    EventKind::Compacted,
    EventKind::CompactionChanged,
    EventKind::Imported,
    EventKind::ContextChanged,
    EventKind::SessionChanged,
];

fn code(kind: EventKind) -> Option<usize> {
    KINDS.iter().position(|&known| known == kind)
}

impl Tx<'_> {
    /// Writes down what happened to a session, with the ids that it is about: messages, compactions or labels. What
    /// belongs to no session in particular goes to the session `""`.
    pub(crate) fn record_event(&mut self, session_id: &str, kind: EventKind, ids: &[&str]) -> Result<()> {
        let session = self.session(session_id)?;
        let number = self.next_quiet_event()?;
        match session {
            Some(session) => self.write_event(number, &session.key, kind, None, ids),
            None => self.write_event(number, &session_id, kind, None, ids),
        }
    }

    /// Writes down an event that has its number already, which is above those of all others. `session` is the key, or
    /// the id of one that is not there; `message` is the row that was updated.
    pub(crate) fn write_event(
        &mut self,
        number: i64,
        session: &dyn ToSql,
        kind: EventKind,
        message: Option<Key>,
        ids: &[&str],
    ) -> Result<()> {
        let written = self.entries_written()? + 1;
        let ids = Ids::new(ids);
        self.statement(
            "INSERT INTO event(number, session, kind, written, message, ids) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![number, session, code(kind).map(|code| code as i64), written, message, ids])?;
        for piece in ids.pieces() {
            self.statement("INSERT INTO event_ids(event, data) VALUES (?1, ?2)")?.execute(params![number, piece])?;
        }
        self.drop_oldest(written)
    }

    /// Writes down the appends and imports of messages that are about to be removed: each range is of one chain.
    pub(crate) fn write_down(&mut self, ranges: &[(Key, Key)]) -> Result<()> {
        let kept = self.entries_kept();
        for &(first, last) in ranges {
            // What would be dropped again at once is not written.
            let cut: Option<i64> = self
                .statement(
                    "SELECT event FROM message WHERE key >= ?1 AND key <= ?2 AND imported < 2
                     ORDER BY key DESC LIMIT 1 OFFSET ?3",
                )?
                .query_row(params![first, last, kept], |row| row.get(0))
                .optional()?;
            let mut floor = self.feed_floor()?;
            if let Some(cut) = cut
                && cut > floor
            {
                self.raise_floor(cut)?;
                floor = cut;
            }
            // They may be newer than the newest entry, and must then say of the others what it says.
            let before = self.entries_written()?;
            let written = self
                .statement(
                    "INSERT INTO event(number, session, kind, written, ids)
                     SELECT event, session, CASE imported WHEN 0 THEN ?4 ELSE ?5 END, ?6, id FROM message
                     WHERE key >= ?1 AND key <= ?2 AND imported < 2 AND event > ?3 ORDER BY key",
                )?
                .execute(params![
                    first,
                    last,
                    floor,
                    code(EventKind::Appended).map(|code| code as i64),
                    code(EventKind::Imported).map(|code| code as i64),
                    before
                ])?;
            if written > 0 {
                self.count_entries(written as i64)?;
                self.drop_oldest(before)?;
            }
        }
        Ok(())
    }

    /// The number up to which entries may be missing.
    pub(crate) fn feed_floor(&self) -> Result<i64> {
        self.feed_number("feed-floor")
    }

    fn feed_number(&self, name: &str) -> Result<i64> {
        Ok(self
            .statement("SELECT value FROM meta WHERE name = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()?
            .unwrap_or(0))
    }

    fn entries_kept(&self) -> i64 {
        self.options.kept_events.unwrap_or(KEPT).max(1).into()
    }

    /// What the newest entry says of how many there are.
    fn entries_written(&self) -> Result<i64> {
        Ok(self
            .statement("SELECT written FROM event ORDER BY number DESC LIMIT 1")?
            .query_row([], |row| row.get(0))
            .optional()?
            .unwrap_or(0))
    }

    /// Corrects what the newest entry says by entries that came or went behind its back.
    fn count_entries(&self, change: i64) -> Result<()> {
        self.statement("UPDATE meta SET value = value + ?1 WHERE name = 'feed-besides'")?.execute([change])?;
        Ok(())
    }

    /// Lets go of the oldest entries when there are too many.
    fn drop_oldest(&mut self, written: i64) -> Result<()> {
        let kept = self.entries_kept();
        let over = written + self.feed_number("feed-besides")? - kept;
        if over <= kept / SLACK {
            return Ok(());
        }
        let last: Option<i64> = self
            .statement("SELECT number FROM event ORDER BY number LIMIT 1 OFFSET ?1")?
            .query_row([over - 1], |row| row.get(0))
            .optional()?;
        last.map_or(Ok(()), |last| self.raise_floor(last))
    }

    /// Removes all entries up to a number.
    fn raise_floor(&self, to: i64) -> Result<()> {
        let before = self.entries_written()?;
        let removed = self.statement("DELETE FROM event WHERE number <= ?1")?.execute([to])?;
        self.statement("DELETE FROM event_ids WHERE event <= ?1")?.execute([to])?;
        self.statement("DELETE FROM gone WHERE event <= ?1")?.execute([to])?;
        // The newest entry may have been among them.
        self.count_entries(before - self.entries_written()? - removed as i64)?;
        self.statement("UPDATE meta SET value = ?1 WHERE name = 'feed-floor'")?.execute([to])?;
        Ok(())
    }
}
