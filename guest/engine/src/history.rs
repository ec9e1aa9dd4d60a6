//! Reading a path: in pages from either end, or whole.

use crate::cursor::{Purpose, stale};
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::path::{Path, each_row};
use crate::place::Place;
use crate::row::Head;
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::types::{HistoryView, MediaMode, Message, Page, ReadOptions, RowStats};

/// Messages per page where nothing is said.
const BATCH_SIZE: u32 = 50;

/// The most messages, or rows, that a page can be asked for.
pub(crate) const MAX_PAGE: u32 = 1000;

/// Rows per page where nothing is said.
const PAGE: u32 = 100;

/// Bytes per page where nothing is said.
const BATCH_BYTES: u64 = 4 * 1024 * 1024;

/// Bytes of a path that is read at once.
pub(crate) const MAX_HISTORY_BYTES: u64 = 64 * 1024 * 1024;

impl<P: Place> Store<P> {
    /// A message by its id, or none.
    pub fn get_message(&mut self, session: &str, id: &str, media: MediaMode) -> Result<Option<Message>> {
        self.read(|tx| {
            let Some(session) = tx.session(session)? else { return Ok(None) };
            tx.find_message(&session, id)?.map(|key| tx.message(key, media)).transpose()
        })
    }

    /// The present leaf, or none in an empty session.
    pub fn get_latest_leaf(&mut self, session: &str, media: MediaMode) -> Result<Option<Message>> {
        self.read(|tx| {
            let Some(session) = tx.session(session)? else { return Ok(None) };
            session.present_leaf().map(|key| tx.message(key, media)).transpose()
        })
    }

    /// A page of a path.
    pub fn read_history(
        &mut self,
        session: &str,
        options: &ReadOptions,
        cursor: Option<&str>,
    ) -> Result<Page<Message>> {
        let limit = page_limit(options.batch_size, BATCH_SIZE, "batch-size")?;
        let budget = options.max_batch_bytes.unwrap_or(BATCH_BYTES).min(MAX_HISTORY_BYTES);
        self.read(|tx| {
            let found = tx.session(session)?;
            let Some(mut walk) = tx.begin_walk(found.as_ref(), Purpose::History, &options.view, cursor)? else {
                return Ok(Page { items: Vec::new(), cursor: None });
            };
            let items = tx.walk(&mut walk, limit, budget)?;
            let cursor = tx.walk_cursor(&walk)?;
            Ok(Page { items, cursor })
        })
    }

    /// The whole path at once.
    pub fn get_history(&mut self, session: &str, view: &HistoryView) -> Result<Vec<Message>> {
        self.read(|tx| {
            let found = tx.session(session)?;
            let Some(mut walk) = tx.begin_walk(found.as_ref(), Purpose::History, view, None)? else {
                return Ok(Vec::new());
            };
            let bytes = tx.path_sum(&walk.session, &walk.path)?.bytes_as_read(walk.media);
            if bytes > MAX_HISTORY_BYTES {
                return Err(Error::new(
                    Kind::OverLimit,
                    format!(
                        "the path has {bytes} bytes, more than is read at once; use read-history, which gives pages"
                    ),
                )
                .numbers(bytes, MAX_HISTORY_BYTES));
            }
            tx.walk(&mut walk, u32::MAX, u64::MAX)
        })
    }

    /// Sizes and token estimates along a path, without content.
    pub fn get_history_row_stats(
        &mut self,
        session: &str,
        leaf_id: Option<&str>,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Page<RowStats>> {
        let limit = page_limit(limit, PAGE, "limit")?;
        let view = HistoryView { leaf_id: leaf_id.map(str::to_owned), overlays: false, ..HistoryView::default() };
        self.read(|tx| {
            let found = tx.session(session)?;
            let Some(mut walk) = tx.begin_walk(found.as_ref(), Purpose::RowStats, &view, cursor)? else {
                return Ok(Page { items: Vec::new(), cursor: None });
            };
            let mut heads = Vec::new();
            tx.walk_rows(&mut walk, Head::COLUMNS, |row, _| {
                heads.push(Head::from_row(row)?);
                Ok(if heads.len() < limit as usize { Step::Taken } else { Step::TakenAsLast })
            })?;
            let mut parent = tx.parent_id_of_first(&heads)?;
            let items = heads
                .into_iter()
                .map(|head| {
                    let parent_id = parent.replace(head.id.clone());
                    RowStats {
                        id: head.id,
                        role: head.role,
                        parent_id,
                        seq: head.key.seq(),
                        created_at: head.created_at,
                        bytes: head.bytes.unsigned_abs(),
                        token_estimate: u32::try_from(head.tokens).unwrap_or(u32::MAX),
                    }
                })
                .collect();
            let cursor = tx.walk_cursor(&walk)?;
            Ok(Page { items, cursor })
        })
    }
}

/// A read of a path that is under way.
struct Walk {
    session: Session,
    path: Path,
    purpose: Purpose,
    view: u64,
    newest_first: bool,
    media: MediaMode,
    /// The last message that was given.
    at: Option<Key>,
    /// How many messages had been deleted from the path when the first page was read.
    gone: u64,
}

impl Walk {
    fn new(session: &Session, path: Path, purpose: Purpose, view: &HistoryView, at: Option<Key>, gone: u64) -> Self {
        Self {
            session: session.clone(),
            path,
            purpose,
            view: view_bits(view),
            newest_first: view.newest_first,
            media: view.media,
            at,
            gone,
        }
    }
}

/// What a reader of rows says of each.
enum Step {
    /// Taken, go on.
    Taken,
    /// Taken, stop here.
    TakenAsLast,
    /// Not taken, stop before it.
    Refused,
}

/// The choices that all pages of a read must share.
fn view_bits(view: &HistoryView) -> u64 {
    u64::from(view.newest_first) | u64::from(view.overlays) << 1 | u64::from(view.media == MediaMode::Reference) << 2
}

/// A number of things per page, or an error that says what it may be.
pub(crate) fn page_limit(limit: Option<u32>, default: u32, name: &str) -> Result<u32> {
    match limit.unwrap_or(default) {
        limit @ 1..=MAX_PAGE => Ok(limit),
        limit => Err(Error::new(Kind::InvalidArgument, format!("{name} must be 1 to {MAX_PAGE}, and is {limit}"))
            .subject(name)
            .numbers(limit.into(), MAX_PAGE.into())),
    }
}

impl Tx<'_> {
    fn begin_walk(
        &mut self,
        session: Option<&Session>,
        purpose: Purpose,
        view: &HistoryView,
        cursor: Option<&str>,
    ) -> Result<Option<Walk>> {
        let Some(cursor) = cursor else {
            let path = self.find_path(session, view.leaf_id.as_deref())?;
            let (Some(session), Some(path)) = (session, path) else { return Ok(None) };
            let gone = self.path_gone(session, &path)?;
            return Ok(Some(Walk::new(session, path, purpose, view, None, gone)));
        };
        let [of, bits, leaf, at, deletions, gone] = self.decode_cursor(purpose, cursor)?;
        let session = session.filter(|session| session.key.unsigned_abs() == of);
        let session = session.ok_or_else(|| stale("the cursor belongs to another session"))?;
        if bits != view_bits(view) {
            return Err(stale("the cursor belongs to a read with other options"));
        }
        let path = self.path_again(session, leaf)?;
        if let Some(id) = &view.leaf_id
            && self.find_message(session, id)? != Some(path.leaf)
        {
            return Err(stale("the cursor belongs to another path"));
        }
        let at = Key::from_number(at).ok_or_else(|| stale("the cursor stands nowhere"))?;
        self.stretch_of(&path, at)?;
        if deletions != session.deletions.unsigned_abs() && gone != self.path_gone(session, &path)? {
            return Err(stale("a message of that path was deleted"));
        }
        Ok(Some(Walk::new(session, path, purpose, view, Some(at), gone)))
    }

    /// Reads on from where a walk is.
    fn walk_rows(
        &self,
        walk: &mut Walk,
        columns: &str,
        mut take: impl FnMut(&rusqlite::Row<'_>, Key) -> Result<Step>,
    ) -> Result<()> {
        let (path, newest_first) = (walk.path, walk.newest_first);
        let mut at = walk.at;
        let mut next = match at {
            Some(at) => Some(self.stretch_of(&path, at)?),
            None if newest_first => Some(self.last_stretch(&path)),
            None => self.first_stretch(&path)?,
        };
        let mut entered = at;
        while let Some(stretch) = next {
            let chain = stretch.to.chain();
            let range = match entered.take() {
                Some(at) if newest_first => (Key::start(chain), Key::new(chain, at.seq().saturating_sub(1))),
                Some(at) => (at, stretch.to),
                None => (Key::start(chain), stretch.to),
            };
            let more = each_row(self, columns, range, newest_first, |row| {
                let key = row.get(0)?;
                let step = take(row, key)?;
                if !matches!(step, Step::Refused) {
                    at = Some(key);
                }
                Ok(matches!(step, Step::Taken))
            })?;
            if !more {
                break;
            }
            next = if newest_first { self.stretch_above(stretch)? } else { self.next_stretch(&path, stretch)? };
        }
        walk.at = at;
        Ok(())
    }

    /// The next messages of a walk: at most so many, and within so many bytes unless the first is larger alone.
    fn walk(&self, walk: &mut Walk, limit: u32, budget: u64) -> Result<Vec<Message>> {
        let mut messages = Vec::new();
        let mut bytes = 0;
        let mode = walk.media;
        self.walk_rows(walk, &format!("{}, body", Head::COLUMNS), |row, _| {
            let head = Head::from_row(row)?;
            let size = head.bytes_as_read(mode);
            if !messages.is_empty() && bytes + size > budget {
                return Ok(Step::Refused);
            }
            bytes += size;
            let text = self.text(&head, row.get(Head::COUNT)?, mode)?;
            messages.push((head, text));
            Ok(if messages.len() < limit as usize { Step::Taken } else { Step::TakenAsLast })
        })?;
        // Each message's parent is its neighbour on the path; that of the topmost has to be looked up.
        let top = if walk.newest_first { messages.last() } else { messages.first() };
        let above = top.map(|(head, _)| self.parent_id(head.key)).transpose()?.flatten();
        let parents: Vec<Option<String>> = {
            let ids = messages.iter().map(|(head, _)| Some(head.id.clone()));
            if walk.newest_first {
                ids.skip(1).chain([above]).collect()
            } else {
                [above].into_iter().chain(ids).collect()
            }
        };
        messages.into_iter().zip(parents).map(|((head, text), parent)| self.as_read(head, text, parent, mode)).collect()
    }

    /// Where a walk goes on; none at its end.
    fn walk_cursor(&mut self, walk: &Walk) -> Result<Option<String>> {
        let Some(at) = walk.at else { return Ok(None) };
        let last = if walk.newest_first { self.is_root(at)? } else { at == walk.path.leaf };
        if last {
            return Ok(None);
        }
        let numbers = [
            walk.session.key.unsigned_abs(),
            walk.view,
            walk.path.leaf.number(),
            at.number(),
            walk.session.deletions.unsigned_abs(),
            walk.gone,
        ];
        self.encode_cursor(walk.purpose, &numbers).map(Some)
    }

    fn parent_id_of_first(&self, heads: &[Head]) -> Result<Option<String>> {
        Ok(heads.first().map(|head| self.parent_id(head.key)).transpose()?.flatten())
    }

    /// The id of the message that a message answers.
    pub(crate) fn parent_id(&self, message: Key) -> Result<Option<String>> {
        self.parent_of(message)?.map(|parent| self.message_id(parent)).transpose()
    }
}
