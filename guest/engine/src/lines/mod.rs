//! Sessions and whole stores as lines of JSON, out of a store and into one: `docs/export-format.md` describes each line.
//!
//! An export is made in pages of whole lines, and needs no more memory than a page: each page says where the next one
//! begins by session, kind of line and position. Nothing of the store's own life is in it (keys, events, the time of the
//! export), so equal stores give equal bytes.
//!
//! An import takes page after page, each in one transaction. What later pages have to know of earlier ones (places that
//! hold no message, which sessions are new) stands in the table `landing` until the export's last line.
//!
//! - [`export`] writes lines, [`import`] takes them; [`line`] reads one, [`memory`] is about blocks, [`waiting`]
//!   keeps messages until their parents come, [`places`] finds places without a message.

mod export;
mod import;
mod line;
mod memory;
mod places;
mod waiting;

/// The version of the format: what the first line of an export says.
const VERSION: i64 = 1;

/// What imports add to the schema.
pub(crate) const TABLES: &str = "
-- What an import has to remember from one page to the next. With seq 0: a session that the import has made, and its place
-- in the order of activity. Else the place without a message that has this seq in the export: where it is now, or, as a
-- negative number, what is above it as long as nothing belongs there.
CREATE TABLE landing(
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  place INTEGER NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
";
