//! Where a path may be cut, seen from the leaf: nowhere between a tool call and its results.
//!
//! The rule which result belongs to which call is that of [`crate::pairing`]; here it is applied from below, so that only
//! as much of a path is read as is needed to decide.

use crate::message::{Call, CallKind};
use crate::pairing::is_user_turn;

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
pub(crate) struct Cut {
    pending: Vec<Pending>,
    /// How many turns of the user's have been passed.
    users: u32,
    /// How many messages have to be kept for the sake of calls that wait for their results.
    open: usize,
    /// For each message passed: how many have to be kept if it is, so that its results keep their calls.
    needs: Vec<usize>,
}

impl Cut {
    /// Passes a message, the next towards the root.
    pub(crate) fn pass(&mut self, role: &str, calls: &[Call]) {
        let at = self.needs.len();
        self.needs.push(at + 1);
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
        if is_user_turn(role, calls) {
            self.users += 1;
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
        } else if self.users < 2 {
            self.open = call + 1;
        }
    }

    /// How many messages to keep: as many as there can be up to `most`, else as few as there can be. None: that turns
    /// out further up.
    pub(crate) fn keep(&self, most: usize) -> Option<usize> {
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
    pub(crate) fn keep_at_root(&mut self, most: usize) -> usize {
        self.pending.clear();
        self.keep(most).unwrap_or(self.needs.len())
    }

    /// How many messages the tail has: as many as there can be up to `most`, but at least `least`, and all that have
    /// calls which wait for their results. None: that turns out further up.
    pub(crate) fn tail(&self, most: usize, least: usize) -> Option<usize> {
        if self.users < 2 {
            return None;
        }
        self.keep(most.max(least).max(self.open)).filter(|&kept| kept >= least.max(self.open)).or_else(|| {
            // The longest run was too short: the next longer one.
            self.longer(least.max(self.open))
        })
    }

    /// The same at the root.
    pub(crate) fn tail_at_root(&mut self, most: usize, least: usize) -> usize {
        self.pending.clear();
        self.users = 2;
        self.tail(most, least).unwrap_or(self.needs.len())
    }

    /// The fewest messages from `least` on that can be kept.
    fn longer(&self, least: usize) -> Option<usize> {
        let unsettled = self.pending.iter().map(|pending| pending.at).min().unwrap_or(usize::MAX);
        let mut needed = 0;
        for (index, &needs) in self.needs.iter().enumerate() {
            if index >= unsettled {
                return None;
            }
            needed = needed.max(needs);
            if index + 1 >= least && needed <= index + 1 {
                return Some(index + 1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message;

    /// A walk over messages, newest first, as role and calls.
    fn cut(messages: &[(&str, &str)]) -> Cut {
        let mut cut = Cut::default();
        for (role, calls) in messages {
            cut.pass(role, &message::decode(calls));
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
