//! The newest part of a path that fits a budget, cut only where no tool call is parted from its results.

use crate::correction::Sum;
use crate::error::Result;
use crate::history::MAX_HISTORY_BYTES;
use crate::key::Key;
use crate::message::{self, CallKind};
use crate::overlay::Overlay;
use crate::pairing::is_user_turn;
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

/// A result whose call is looked for.
struct Pending {
    id: String,
    /// Which message brought it, counted from the leaf.
    at: usize,
    /// How many user messages have been passed since: behind the second one, a call is no longer open.
    users: u32,
}

/// A walk from the leaf up that finds out where it may be cut.
#[derive(Default)]
struct Cut {
    pending: Vec<Pending>,
    /// For each message passed: how many have to be kept if it is, so that its results keep their calls.
    needs: Vec<usize>,
}

impl Cut {
    /// Passes a message, the next towards the root.
    fn pass(&mut self, role: &str, calls: Option<&str>) {
        let at = self.needs.len();
        self.needs.push(at + 1);
        let calls = calls.map(message::decode).unwrap_or_default();
        // In the message itself the parts run forwards; seen from below they come in reverse.
        for call in calls.iter().rev() {
            match call.kind {
                CallKind::Call => self.answer(&call.id),
                // A call that has its result with it asks for none; whether it is the result of an earlier call turns
                // out when one is met.
                CallKind::Result | CallKind::Answered => {
                    self.pending.push(Pending { id: call.id.clone(), at, users: 0 });
                }
            }
        }
        if is_user_turn(role, &calls) {
            for pending in &mut self.pending {
                pending.users += 1;
            }
            self.pending.retain(|pending| pending.users < 2);
        }
    }

    /// A call is met: it is that of the nearest result of its id below.
    fn answer(&mut self, id: &str) {
        let call = self.needs.len() - 1;
        if let Some(found) = self.pending.iter().rposition(|pending| pending.id == id) {
            let result = self.pending.remove(found);
            if let Some(needs) = self.needs.get_mut(result.at) {
                *needs = (*needs).max(call + 1);
            }
        }
    }

    /// How many messages to keep: as many as there can be up to `most`, else as few as there can be. None: that turns
    /// out further up.
    fn keep(&self, most: usize) -> Option<usize> {
        let unsettled = self.pending.iter().map(|pending| pending.at).min().unwrap_or(usize::MAX);
        let (mut needed, mut best) = (0, None);
        for (index, &needs) in self.needs.iter().enumerate() {
            let count = index + 1;
            if index >= unsettled {
                // Below the budget a longer run may still come out; above it, one that was found is the shortest.
                return best.filter(|_| count > most);
            }
            needed = needed.max(needs);
            if count > most && best.is_some() {
                return best;
            }
            if needed <= count {
                best = Some(count);
            }
        }
        best
    }

    /// The same when there is nothing further up: what is still looked for is nowhere.
    fn keep_at_root(&mut self, most: usize) -> usize {
        self.pending.clear();
        self.keep(most).unwrap_or(self.needs.len())
    }
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
                    cut.pass("assistant", None);
                }
                Item::Row(row) => {
                    items.push(Recent::Message(row.get(0)?));
                    let role = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
                    cut.pass(role, row.get_ref(3)?.as_str_or_null().map_err(rusqlite::Error::from)?);
                }
            }
            Ok(Step::Taken)
        })?;
        items.truncate(fit.unwrap_or_else(|| cut.keep_at_root(within)));
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk over messages, newest first, as role and calls.
    fn cut(messages: &[(&str, &str)]) -> Cut {
        let mut cut = Cut::default();
        for (role, calls) in messages {
            cut.pass(role, (!calls.is_empty()).then_some(calls));
        }
        cut
    }

    #[test]
    fn a_cut_never_parts_a_call_from_its_results() {
        let mut walk = cut(&[("assistant", ""), ("tool", "rx"), ("tool", "ry"), ("assistant", "cx\ncy"), ("user", "")]);
        assert_eq!(walk.keep_at_root(1), 1);
        assert_eq!(walk.keep_at_root(2), 1);
        assert_eq!(walk.keep_at_root(3), 1);
        assert_eq!(walk.keep_at_root(4), 4);
        let mut walk = cut(&[("tool", "rx"), ("tool", "ry"), ("assistant", "cx\ncy"), ("user", "")]);
        assert_eq!(walk.keep_at_root(0), 3);
        assert_eq!(walk.keep_at_root(4), 4);
    }

    #[test]
    fn a_result_belongs_to_the_nearest_open_call_of_its_id() {
        // call, result, call, result, all of one id: two units.
        let mut walk = cut(&[("tool", "rx"), ("assistant", "cx"), ("tool", "rx"), ("assistant", "cx")]);
        assert_eq!(walk.keep_at_root(0), 2);
        assert_eq!(walk.keep_at_root(3), 2);
    }

    #[test]
    fn a_result_without_a_call_stands_alone() {
        let walk = cut(&[("tool", "rx"), ("user", ""), ("assistant", ""), ("user", ""), ("assistant", "cx")]);
        assert_eq!(walk.keep(1), Some(1), "behind two user messages no call is open");
        let walk = cut(&[("tool", "rx"), ("user", "")]);
        assert_eq!(walk.keep(1), None, "the call may still come");
        let mut walk = walk;
        assert_eq!(walk.keep_at_root(1), 1);
    }
}
