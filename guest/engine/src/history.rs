//! Reading a path: in pages from either end, or whole.

use crate::cursor::{Purpose, stale};
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::place::Place;
use crate::row::{Head, body};
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::types::{HistoryView, MediaMode, Message, Page, ReadOptions, RowStats};
use crate::view::{Item, Step, View, overlay_bytes};

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
            let bytes = tx.view_sum(&walk.session, &walk.view)?.bytes_as_read(view.media);
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
            walk.at = tx.walk_view(&walk.view, walk.at, false, Head::COLUMNS, |item| {
                if let Item::Row(row) = item {
                    heads.push(Head::from_row(row)?);
                }
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

/// What goes into a page: as many bytes as are asked for, and one message in any case.
struct Room {
    bytes: u64,
    budget: u64,
}

impl Room {
    /// Takes a message of this size, if it fits.
    fn take(&mut self, size: u64) -> bool {
        let fits = self.bytes == 0 || self.bytes + size <= self.budget;
        if fits {
            self.bytes += size;
        }
        fits
    }
}

/// A read of a path that is under way.
struct Walk {
    session: Session,
    view: View,
    purpose: Purpose,
    options: HistoryView,
    /// The last place that was given.
    at: Option<Key>,
    /// How many messages had been deleted from the path when the first page was read.
    gone: u64,
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
        options: &HistoryView,
        cursor: Option<&str>,
    ) -> Result<Option<Walk>> {
        let Some(cursor) = cursor else {
            let view = self.find_view(session, options.leaf_id.as_deref(), options.overlays)?;
            let (Some(session), Some(view)) = (session, view) else { return Ok(None) };
            let gone = self.path_gone(session, &view.path)?;
            let (session, options) = (session.clone(), options.clone());
            return Ok(Some(Walk { session, view, purpose, options, at: None, gone }));
        };
        let [of, bits, leaf, at, deletions, gone, youngest, fingerprint] = self.decode_cursor(purpose, cursor)?;
        let session = session.filter(|session| session.key.unsigned_abs() == of);
        let session = session.ok_or_else(|| stale("the cursor belongs to another session"))?;
        if bits != view_bits(options) {
            return Err(stale("the cursor belongs to a read with other options"));
        }
        let path = self.path_again(session, leaf)?;
        if let Some(id) = &options.leaf_id
            && self.place_of(session, id)? != Some(path.leaf)
        {
            return Err(stale("the cursor belongs to another path"));
        }
        let at = Key::from_number(at).ok_or_else(|| stale("the cursor stands nowhere"))?;
        self.stretch_of(&path, at)?;
        if deletions != session.deletions.unsigned_abs() && gone != self.path_gone(session, &path)? {
            return Err(stale("a message of that path was deleted"));
        }
        let view = self.view_again(session, path, options.overlays, youngest, fingerprint)?;
        let (session, options) = (session.clone(), options.clone());
        Ok(Some(Walk { session, view, purpose, options, at: Some(at), gone }))
    }

    /// The next items of a walk: at most so many, and within so many bytes unless the first is larger alone.
    fn walk(&self, walk: &mut Walk, limit: u32, budget: u64) -> Result<Vec<Message>> {
        let mode = walk.options.media;
        let newest_first = walk.options.newest_first;
        let mut messages: Vec<(Option<Key>, Message)> = Vec::new();
        let mut room = Room { bytes: 0, budget };
        let columns = format!("{}, body", Head::COLUMNS);
        walk.at = self.walk_view(&walk.view, walk.at, newest_first, &columns, |item| {
            let message = match item {
                Item::Overlay(overlay) => {
                    if !room.take(overlay_bytes(overlay)) {
                        return Ok(Step::Refused);
                    }
                    (None, self.overlay_message(overlay)?)
                }
                Item::Row(row) => {
                    let head = Head::from_row(row)?;
                    if !room.take(head.bytes_as_read(mode)) {
                        return Ok(Step::Refused);
                    }
                    let text = self.text(&head, body(row, Head::COUNT)?, mode)?;
                    (Some(head.key), self.as_read(head, text, None, mode)?)
                }
            };
            messages.push(message);
            Ok(if messages.len() < limit as usize { Step::Taken } else { Step::TakenAsLast })
        })?;
        // A message answers its neighbour on the path; where that is an overlay, or on another page, it is looked up.
        for index in 0..messages.len() {
            let neighbour = if newest_first { Some(index + 1) } else { index.checked_sub(1) };
            let above = match neighbour.and_then(|neighbour| messages.get(neighbour)) {
                Some((Some(_), above)) => Some(Some(above.id.clone())),
                _ => None,
            };
            if let Some((Some(key), message)) = messages.get_mut(index) {
                message.parent_id = match above {
                    Some(above) => above,
                    None => self.parent_id(*key)?,
                };
            }
        }
        Ok(messages.into_iter().map(|(_, message)| message).collect())
    }

    /// Where a walk goes on; none at its end.
    fn walk_cursor(&mut self, walk: &Walk) -> Result<Option<String>> {
        let Some(at) = walk.at else { return Ok(None) };
        let leaf = walk.view.path.leaf;
        let last = if walk.options.newest_first {
            self.is_root(at)?
        } else {
            at == leaf || walk.view.shown.last().is_some_and(|overlay| overlay.last == at && overlay.place == leaf)
        };
        if last {
            return Ok(None);
        }
        let numbers = [
            walk.session.key.unsigned_abs(),
            view_bits(&walk.options),
            leaf.number(),
            at.number(),
            walk.session.deletions.unsigned_abs(),
            walk.gone,
            walk.view.youngest().unsigned_abs(),
            walk.view.fingerprint(),
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
