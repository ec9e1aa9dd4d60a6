//! The newest part of a path that fits a budget, cut only where no tool call is parted from its results.

use crate::correction::Sum;
use crate::cut::Cut;
use crate::error::Result;
use crate::history::MAX_HISTORY_BYTES;
use crate::key::Key;
use crate::message;
use crate::overlay::Overlay;
use crate::place::Place;
use crate::store::{Store, Tx};
use crate::types::{MediaMode, RecentHistory, RecentOptions};
use crate::view::{Item, Step, View, overlay_bytes};

impl<P: Place> Store<P> {
    /// The longest run of the newest messages that fits, at least the newest unit.
    pub fn get_recent_history(&mut self, session: &str, options: &RecentOptions) -> Result<RecentHistory> {
        let budget = options.max_bytes.min(MAX_HISTORY_BYTES);
        self.read(|tx| {
            let found = tx.session(session)?;
            let view = tx.find_view(found.as_ref(), options.leaf_id.as_deref(), options.overlays)?;
            let (Some(session), Some(view)) = (found, view) else {
                return Ok(RecentHistory { messages: Vec::new(), truncated: false, total_content_bytes: 0 });
            };
            let total_content_bytes = tx.view_sum(&session, &view)?.bytes_as_read(options.media);
            let items = tx.newest_that_fit(&view, budget, options.media)?;
            let mut messages = Vec::with_capacity(items.len());
            // Known while the message above is one that was just read.
            let mut above = None;
            let mut truncated = false;
            for (index, item) in items.iter().rev().enumerate() {
                let (top, message) = match item {
                    Recent::Overlay(overlay) => (overlay.first, tx.overlay_message(overlay)?),
                    &Recent::Message(key) => {
                        let (head, text) = tx.load(key, options.media)?;
                        let parent_id = match above.take() {
                            Some(id) => Some(id),
                            None => tx.parent_id(key)?,
                        };
                        above = Some(head.id.clone());
                        (key, tx.as_read(head, text, parent_id, options.media)?)
                    }
                };
                if index == 0 {
                    truncated = !tx.is_root(top)?;
                }
                if matches!(item, Recent::Overlay(_)) {
                    above = None;
                }
                messages.push(message);
            }
            Ok(RecentHistory { messages, truncated, total_content_bytes })
        })
    }
}

/// What is returned, without its text.
enum Recent {
    Message(Key),
    Overlay(Overlay),
}

impl Tx<'_> {
    /// The newest items within a budget, newest first.
    fn newest_that_fit(&self, view: &View, budget: u64, mode: MediaMode) -> Result<Vec<Recent>> {
        let mut items = Vec::new();
        let mut cut = Cut::default();
        let (mut bytes, mut within, mut fit) = (0, 0, None);
        self.walk_view(view, None, true, "key, bytes, role, calls, outside", |item| {
            bytes += match &item {
                Item::Overlay(overlay) => overlay_bytes(overlay),
                Item::Row(row) => {
                    Sum { bytes: row.get(1)?, outside: row.get(4)?, ..Sum::default() }.bytes_as_read(mode)
                }
            };
            if bytes > budget {
                fit = cut.keep(within);
                if fit.is_some() {
                    return Ok(Step::Refused);
                }
            } else {
                within += 1;
            }
            match item {
                Item::Overlay(overlay) => {
                    items.push(Recent::Overlay(overlay.clone()));
                    cut.pass("assistant", &[]);
                }
                Item::Row(row) => {
                    items.push(Recent::Message(row.get(0)?));
                    let role = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
                    let calls = row.get_ref(3)?.as_str_or_null().map_err(rusqlite::Error::from)?;
                    cut.pass(role, &calls.map(message::decode).unwrap_or_default());
                }
            }
            Ok(Step::Taken)
        })?;
        items.truncate(fit.unwrap_or_else(|| cut.keep_at_root(within)));
        Ok(items)
    }
}
