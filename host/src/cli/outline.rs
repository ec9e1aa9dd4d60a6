//! A tree with its long stretches folded, and its summaries where they stand.
//!
//! What begins, ends, forks, or answers where something forks, is always drawn. Of all that lies between, three messages
//! or more in one line become one entry, and so does what a summary covers, however short. A summary is drawn behind the
//! last message that it covers: from there on it is read in their place.

use std::{collections::HashMap, iter::Peekable};

use talktree::{Compaction, Node};

use super::drawing::{Line, Tree};

/// From so many messages on a stretch is folded.
const FEW: usize = 3;

/// One line of the outline.
#[derive(Debug, PartialEq)]
pub(crate) enum Entry<'a> {
    Message(Line<'a>),
    Folded { rails: String, level: usize, on_path: bool, first: &'a Node, last: &'a Node, messages: usize },
    Summary { rails: String, level: usize, on_path: bool, summary: &'a Compaction },
}

/// The summaries that are in force, by what they cover.
struct Summaries<'a> {
    in_force: Vec<&'a Compaction>,
    /// Which of them covers a message.
    covers: Vec<Option<usize>>,
    /// Those whose last message is at this place.
    ends: HashMap<usize, Vec<usize>>,
}

impl<'a> Summaries<'a> {
    fn new(tree: &Tree<'a>, messages: usize, summaries: &'a [Compaction]) -> Self {
        let mut in_force: Vec<_> = summaries.iter().filter(|summary| summary.replaced_by.is_none()).collect();
        // Of several that cover a message the greatest is shown.
        in_force.sort_by_key(|summary| std::cmp::Reverse(summary.count));
        let (mut covers, mut ends) = (vec![None; messages], HashMap::<_, Vec<_>>::new());
        for (number, summary) in in_force.iter().enumerate() {
            let (Some(first), Some(last)) = (tree.place(&summary.first_id), tree.place(&summary.last_id)) else {
                continue;
            };
            // Parents come before their children: what lies before the first message is not covered.
            for at in tree.up(last).take_while(|&at| at >= first) {
                covers[at].get_or_insert(number);
            }
            ends.entry(last).or_default().push(number);
        }
        Self { in_force, covers, ends }
    }
}

/// The outline of a tree of so many messages, drawn with at most so many columns of lines on the left.
pub(crate) fn outline<'a>(
    tree: &'a Tree<'a>,
    messages: usize,
    summaries: &'a [Compaction],
    rails: usize,
) -> impl Iterator<Item = Entry<'a>> {
    let summaries = Summaries::new(tree, messages, summaries);
    let mut lines = tree.lines(rails).peekable();
    let mut ready = Vec::new().into_iter();
    std::iter::from_fn(move || {
        if ready.len() == 0 {
            ready = next_stretch(&mut lines, &summaries)?.into_iter();
        }
        ready.next()
    })
}

/// A message that stays, or a stretch that may be folded; and the summaries behind it.
fn next_stretch<'a>(
    lines: &mut Peekable<impl Iterator<Item = Line<'a>>>,
    summaries: &Summaries<'a>,
) -> Option<Vec<Entry<'a>>> {
    let first = lines.next()?;
    let cover = summaries.covers.get(first.at).copied().flatten();
    let stays = |line: &Line<'_>| line.is_joint || line.is_root;
    let mut stretch = vec![first];
    if !stays(&stretch[0]) {
        let belongs = |line: &Line<'a>, before: &Line<'a>| {
            !stays(line)
                && line.level == before.level
                && !summaries.ends.contains_key(&before.at)
                && summaries.covers.get(line.at).copied().flatten() == cover
        };
        while let Some(line) = lines.next_if(|line| stretch.last().is_some_and(|before| belongs(line, before))) {
            stretch.push(line);
        }
    }
    let (head, tail) = (stretch.first()?, stretch.last()?);
    let (rails, level, on_path) = (tail.rails.clone(), tail.level, tail.on_path);
    let ending = summaries.ends.get(&tail.at).into_iter().flatten();
    let behind: Vec<_> = ending
        .filter_map(|&number| summaries.in_force.get(number).copied())
        .map(|summary| Entry::Summary { rails: continued(&rails), level, on_path, summary })
        .collect();
    let folds = !stays(head) && (stretch.len() >= FEW || cover.is_some());
    let mut entries = if folds {
        let (first, last, messages) = (head.node, tail.node, stretch.len());
        vec![Entry::Folded { rails: rails.clone(), level, on_path, first, last, messages }]
    } else {
        stretch.into_iter().map(Entry::Message).collect()
    };
    entries.extend(behind);
    Some(entries)
}

/// The lines to the left of what follows a message in its column.
fn continued(rails: &str) -> String {
    rails.replace("├─", "│ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: usize, parent: usize) -> Node {
        Node {
            id: id.to_string(),
            parent_id: (parent > 0).then(|| parent.to_string()),
            role: "user".to_owned(),
            seq: u32::try_from(id).unwrap_or(u32::MAX),
            children: 0,
            preview: String::new(),
        }
    }

    fn summary(first: usize, last: usize, count: u32) -> Compaction {
        Compaction {
            id: format!("s{first}"),
            summary: String::new(),
            first_id: first.to_string(),
            last_id: last.to_string(),
            count,
            created_at: 0,
            replaced_by: None,
            input_tokens: None,
            output_tokens: None,
        }
    }

    fn drawn(nodes: &[Node], leaf: &str, summaries: &[Compaction]) -> Vec<String> {
        let tree = Tree::new(nodes, Some(leaf));
        outline(&tree, nodes.len(), summaries, 40)
            .map(|entry| match entry {
                Entry::Message(line) => format!("{}{}", line.rails, line.node.id),
                Entry::Folded { rails, messages, first, last, .. } => {
                    format!("{rails}…{messages}… {}-{}", first.id, last.id)
                }
                Entry::Summary { rails, summary, .. } => format!("{rails}≡{}", summary.count),
            })
            .collect()
    }

    #[test]
    fn a_long_line_is_its_ends_and_what_lies_between() {
        let nodes: Vec<_> = (1..=43).map(|id| node(id, id - 1)).collect();
        assert_eq!(drawn(&nodes, "43", &[]), ["1", "…41… 2-42", "43"]);
        assert_eq!(drawn(&nodes[..4], "4", &[]), ["1", "2", "3", "4"]);
        // A leaf in the middle is seen.
        assert_eq!(drawn(&nodes, "20", &[]), ["1", "…18… 2-19", "20", "…22… 21-42", "43"]);
    }

    #[test]
    fn forks_and_their_answers_are_seen() {
        let mut nodes: Vec<_> = (1..=10).map(|id| node(id, id - 1)).collect();
        nodes.push(node(11, 5));
        nodes.extend((12..=20).map(|id| node(id, id - 1)));
        let expected = ["1", "…3… 2-4", "5", "├─6", "│ …3… 7-9", "│ 10", "11", "…8… 12-19", "20"];
        assert_eq!(drawn(&nodes, "20", &[]), expected);
    }

    #[test]
    fn a_summary_stands_behind_what_it_covers() {
        let nodes: Vec<_> = (1..=12).map(|id| node(id, id - 1)).collect();
        let summaries = [summary(3, 4, 2), summary(5, 9, 5)];
        assert_eq!(drawn(&nodes, "12", &summaries), ["1", "2", "…2… 3-4", "≡2", "…5… 5-9", "≡5", "10", "11", "12"]);
        // One that was replaced is not in force, one whose messages have gone has no place.
        let replaced = Compaction { replaced_by: Some("s3".into()), ..summary(5, 9, 5) };
        let expected = ["1", "2", "…2… 3-4", "≡2", "…7… 5-11", "12"];
        assert_eq!(drawn(&nodes, "12", &[summary(3, 4, 2), replaced, summary(100, 101, 2)]), expected);
    }

    #[test]
    fn a_summary_at_a_fork_stands_before_the_branches() {
        let mut nodes: Vec<_> = (1..=6).map(|id| node(id, id - 1)).collect();
        nodes.push(node(7, 4));
        assert_eq!(drawn(&nodes, "7", &[summary(2, 4, 3)]), ["1", "…2… 2-3", "4", "≡3", "├─5", "│ 6", "7"]);
    }

    #[test]
    fn many_thousands_of_messages_are_folded() {
        let nodes: Vec<_> = (1..=200_000).map(|id| node(id, id - 1)).collect();
        let summaries: Vec<_> = (0..1_000).map(|at| summary(at * 100 + 2, at * 100 + 101, 100)).collect();
        assert_eq!(drawn(&nodes, "200000", &summaries).len(), 1 + 1_000 * 2 + 1 + 1);
    }
}
