//! Where a path may be cut: never between a tool call and its results.

use super::{Part, Record};

/// A call on the path that has no result yet.
struct Open<'a> {
    id: &'a str,
    /// In which message.
    at: usize,
    /// How many user messages follow it: behind the second it is no longer open.
    users: u32,
}

/// The numbers of messages at the end of a path that stand without the ones before: ascending, from 1 to all.
pub(super) fn cuts(path: &[&Record]) -> Vec<usize> {
    let pairs = pairs(path);
    (1..=path.len())
        .filter(|kept| {
            let first = path.len() - kept;
            !pairs.iter().any(|&(call, result)| call < first && first <= result)
        })
        .collect()
}

/// Each call with the message that holds its result, forwards along the path.
fn pairs(path: &[&Record]) -> Vec<(usize, usize)> {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut pairs = Vec::new();
    for (at, record) in path.iter().enumerate() {
        let parts = &record.text.parts;
        // Results are often sent in the role of the user; that is no turn of the user's.
        let calls = parts.iter().filter(|part| !matches!(part, Part::Text(_) | Part::Media(_) | Part::Blank(_)));
        let only_results = calls.clone().count() > 0 && calls.clone().all(|part| matches!(part, Part::Result(_)));
        if record.text.role == "user" && !only_results {
            open.iter_mut().for_each(|call| call.users += 1);
            open.retain(|call| call.users < 2);
        }
        for part in calls {
            match part {
                Part::Text(_) | Part::Media(_) | Part::Blank(_) => {}
                Part::Call(id) | Part::Waiting(id) => open.push(Open { id, at, users: 0 }),
                Part::Result(id) | Part::Answered(id) => {
                    if let Some(nearest) = open.iter().rposition(|call| call.id == id) {
                        pairs.push((open.remove(nearest).at, at));
                    }
                }
            }
        }
    }
    pairs
}
