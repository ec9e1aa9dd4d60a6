//! The newest part of a path that fits a budget, cut only where no tool call is parted from its results.

use crate::cut::Cut;
use crate::error::Result;
use crate::history::MAX_HISTORY_BYTES;
use crate::key::Key;
use crate::message;
use crate::overlay::Overlay;
use crate::place::Place;
use crate::row::{Head, body};
use crate::store::{Store, Tx};
use crate::types::{MediaMode, Message, RecentHistory, RecentOptions};
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
            for (index, item) in items.into_iter().rev().enumerate() {
                let top = item.top();
                let message = match item {
                    Recent::Overlay(overlay) => {
                        above = None;
                        tx.overlay_message(&overlay)?
                    }
                    Recent::Message(key, read) => {
                        let mut message = match read {
                            Some(message) => message,
                            None => {
                                let (head, text) = tx.load(key, options.media)?;
                                tx.as_read(head, text, None, options.media)?
                            }
                        };
                        message.parent_id = match above.replace(message.id.clone()) {
                            Some(id) => Some(id),
                            None => tx.parent_id(key)?,
                        };
                        message
                    }
                };
                if index == 0 {
                    truncated = !tx.is_root(top)?;
                }
                messages.push(message);
            }
            Ok(RecentHistory { messages, truncated, total_content_bytes })
        })
    }
}

/// What is returned, or may be.
enum Recent {
    /// With its text where it is within the budget; others are seldom wanted.
    Message(Key, Option<Message>),
    Overlay(Overlay),
}

impl Recent {
    /// The first message that it stands for.
    fn top(&self) -> Key {
        match self {
            Self::Message(key, _) => *key,
            Self::Overlay(overlay) => overlay.first,
        }
    }
}

impl Tx<'_> {
    /// The newest items within a budget, newest first.
    fn newest_that_fit(&self, view: &View, budget: u64, mode: MediaMode) -> Result<Vec<Recent>> {
        let mut items = Vec::new();
        let mut cut = Cut::default();
        let (mut bytes, mut within, mut fit) = (0, 0, None);
        let columns = format!("{}, body, calls", Head::COLUMNS);
        self.walk_view(view, None, true, &columns, |item| {
            bytes += match &item {
                Item::Overlay(overlay) => overlay_bytes(overlay),
                Item::Row(row) => Head::size_from_row(row)?.bytes_as_read(mode),
            };
            let beyond = bytes > budget;
            if beyond {
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
                    let calls = row.get_ref(Head::COUNT + 1)?.as_str_or_null().map_err(rusqlite::Error::from)?;
                    let calls = calls.map(message::decode).unwrap_or_default();
                    cut.pass(Head::role(row)?, &calls);
                    let key = row.get(0)?;
                    let read = if beyond {
                        None
                    } else {
                        let head = Head::from_row(row)?;
                        let text = self.text(&head, body(row, Head::COUNT)?, mode)?;
                        Some(self.as_read(head, text, None, mode)?)
                    };
                    items.push(Recent::Message(key, read));
                }
            }
            Ok(Step::Taken)
        })?;
        items.truncate(fit.unwrap_or_else(|| cut.keep_at_root(within)));
        Ok(items)
    }
}
