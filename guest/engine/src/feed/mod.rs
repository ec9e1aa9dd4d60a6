//! The feed: every event of the store in order, for those who follow it.
//!
//! Events are numbered over the whole store. An append or an import has no row here: its number stands on the message's
//! row, and the runs of writing say where the messages of a stretch of numbers are. Everything else that happens is
//! written down, and so is the append of a message that is about to be removed: ids only, never what a message said.
//! Of what is written down the newest 100,000 or so entries are kept; `meta` says up to which number entries may be
//! missing (`feed-floor`).

mod ids;
mod read;
mod record;
mod scan;

/// What the feed adds to the schema.
pub(crate) const TABLES: &str = "
-- What happened and no message's row tells. `session` is its key, or an id where there is no such session; `message` is
-- the row that was updated. `ids` is text for one id, a list in a blob for several, and an empty blob where the list is
-- in `event_ids`. `written` counts the entries up to this one; with `feed-besides` in `meta` the newest one's is how many
-- there are.
CREATE TABLE event(
  number INTEGER PRIMARY KEY,
  session ANY NOT NULL,
  kind INTEGER NOT NULL,
  written INTEGER NOT NULL,
  message INTEGER,
  ids ANY
) STRICT;

-- Pieces of lists that are too large for their row.
CREATE TABLE event_ids(
  key INTEGER PRIMARY KEY,
  event INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE INDEX event_ids_event ON event_ids(event);

-- What sessions were called that have been deleted, and by which event, as long as events of theirs are kept.
CREATE TABLE gone(
  session INTEGER PRIMARY KEY,
  event INTEGER NOT NULL,
  id TEXT NOT NULL
) STRICT;
CREATE INDEX gone_id ON gone(id);

INSERT INTO meta VALUES ('feed-floor', 0), ('feed-besides', 0);
";
