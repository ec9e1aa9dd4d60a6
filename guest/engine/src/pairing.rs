//! Which results belong to which calls along a path.
//!
//! A result belongs to the nearest open call of its id before it; ids may repeat or be empty. A call is open while it has
//! no result and at most one user message follows it. A user message that holds nothing but results, as some providers
//! want them, does not count as one.

use crate::message::{Call, CallKind};

/// A call that waits for its result.
#[derive(Debug, Clone)]
struct Open {
    id: String,
    at: usize,
    users: u32,
}

/// Reads messages from root to leaf and pairs what they hold. Messages are counted from the first one read.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    read: usize,
    open: Vec<Open>,
    pairs: Vec<(usize, usize)>,
    /// Messages with calls that never got a result.
    given_up: Vec<usize>,
}

/// Whether a message is a turn of the user's, behind which older calls are given up.
pub(crate) fn is_user_turn(role: &str, calls: &[Call]) -> bool {
    role == "user" && (calls.is_empty() || calls.iter().any(|call| call.kind != CallKind::Result))
}

impl Pairing {
    /// Reads the next message.
    pub(crate) fn read(&mut self, role: &str, calls: &[Call]) {
        for call in calls {
            match call.kind {
                CallKind::Call => self.open.push(Open { id: call.id.clone(), at: self.read, users: 0 }),
                // One that holds call and result is the result of an earlier call if there is one.
                CallKind::Result | CallKind::Answered => {
                    if let Some(found) = self.open.iter().rposition(|open| open.id == call.id) {
                        let open = self.open.remove(found);
                        self.pairs.push((open.at, self.read));
                    }
                }
            }
        }
        if is_user_turn(role, calls) {
            for open in &mut self.open {
                open.users += 1;
            }
            let given_up = &mut self.given_up;
            self.open.retain(|open| {
                if open.users == 2 {
                    given_up.push(open.at);
                }
                open.users < 2
            });
        }
        self.read += 1;
    }

    /// Whether a message has a call that was given up or is open: one without a result.
    pub(crate) fn is_unanswered(&self, at: usize) -> bool {
        self.open.iter().any(|open| open.at == at) || self.given_up.contains(&at)
    }

    /// Whether a cut before this message parts a call from its result.
    pub(crate) fn parts(&self, before: usize) -> bool {
        self.pairs.iter().any(|&(call, result)| call < before && before <= result)
    }

    /// Whether a run of messages, the last one included, has a call that is still open.
    pub(crate) fn open_between(&self, first: usize, last: usize) -> bool {
        self.open.iter().any(|open| (first..=last).contains(&open.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message;

    fn pairing(messages: &[(&str, &str)]) -> Pairing {
        let mut pairing = Pairing::default();
        for (role, calls) in messages {
            pairing.read(role, &message::decode(calls));
        }
        pairing
    }

    #[test]
    fn parallel_calls_and_their_results_are_one_unit() {
        let pairing = pairing(&[("user", ""), ("assistant", "cx\ncy"), ("tool", "ry"), ("tool", "rx"), ("user", "")]);
        assert_eq!(
            (0..6).map(|before| pairing.parts(before)).collect::<Vec<_>>(),
            [false, false, true, true, false, false]
        );
    }

    #[test]
    fn a_repeated_id_pairs_with_the_nearest_open_call() {
        let pairing = pairing(&[("assistant", "c"), ("tool", "r"), ("assistant", "c"), ("tool", "r")]);
        assert!(!pairing.parts(2));
        assert!(pairing.parts(1) && pairing.parts(3));
    }

    #[test]
    fn a_call_is_open_until_a_second_user_message_follows() {
        let mut pairing = pairing(&[("assistant", "cx"), ("user", "")]);
        assert!(pairing.open_between(0, 0));
        pairing.read("user", &message::decode("ry"));
        assert!(pairing.open_between(0, 0), "a message of results is no turn of the user's");
        pairing.read("user", &[]);
        assert!(!pairing.open_between(0, 0) && pairing.is_unanswered(0));
        pairing.read("tool", &message::decode("rx"));
        assert!(!pairing.parts(1), "a result that comes too late belongs to nothing");
    }
}
