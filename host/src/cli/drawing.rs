//! Draws a tree of messages.
//!
//! A conversation is mostly one long line, so a line stays in its column however long it is. Where a message has several
//! answers, one of them goes on in the column (the one on the path to the leaf that is looked at, elsewhere the one with
//! the newest message below it), and the others are drawn before it, one step to the right:
//!
//! ```text
//! ● user       Where shall we meet?
//! ├─● assistant  At the station.
//! │ ● user       Which one?
//! ● assistant  At the harbour.
//! ◆ user       Good.
//! ```
//!
//! What is drawn of a line, and in which columns, is in [`layout`](super::layout); long stretches are folded in
//! [`outline`](super::outline).

use std::collections::HashMap;

use talktree::Node;

/// One line of the drawing.
#[derive(Debug, PartialEq)]
pub(crate) struct Line<'a> {
    /// Lines to the left of the message, its dot not included.
    pub(crate) rails: String,
    pub(crate) node: &'a Node,
    /// Its place among the messages.
    pub(crate) at: usize,
    /// Steps to the right.
    pub(crate) level: usize,
    /// Something begins, ends or forks here, or answers where something forks.
    pub(crate) is_joint: bool,
    /// On the path to the leaf that is looked at.
    pub(crate) on_path: bool,
    /// That leaf itself.
    pub(crate) is_leaf: bool,
    /// The first line of a tree of its own.
    pub(crate) is_root: bool,
}

/// The tree, ready to be drawn. Messages whose parent is not among them are drawn as roots.
pub(crate) struct Tree<'a> {
    nodes: &'a [Node],
    places: HashMap<&'a str, usize>,
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
    /// The greatest seq at or below each message.
    newest: Vec<u32>,
    on_path: Vec<bool>,
    leaf: Option<usize>,
}

impl<'a> Tree<'a> {
    /// The tree of these messages, which are in the order of their seq, as seen from a leaf.
    pub(crate) fn new(nodes: &'a [Node], leaf: Option<&str>) -> Self {
        let places: HashMap<&str, usize> = nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
        let mut children = vec![Vec::new(); nodes.len()];
        let mut roots = Vec::new();
        let parents: Vec<Option<usize>> = nodes
            .iter()
            .enumerate()
            // A parent always comes before its children: so there is no circle to be caught in.
            .map(|(at, node)| node.parent_id.as_deref().and_then(|id| places.get(id).copied()).filter(|&p| p < at))
            .collect();
        let mut newest: Vec<u32> = nodes.iter().map(|node| node.seq).collect();
        for (at, parent) in parents.iter().enumerate() {
            match parent {
                Some(parent) => children[*parent].push(at),
                None => roots.push(at),
            }
        }
        for at in (0..nodes.len()).rev() {
            if let Some(parent) = parents[at] {
                newest[parent] = newest[parent].max(newest[at]);
            }
        }
        let leaf = leaf.and_then(|id| places.get(id).copied());
        let mut on_path = vec![false; nodes.len()];
        let mut step = leaf;
        while let Some(at) = step {
            on_path[at] = true;
            step = parents[at];
        }
        Self { nodes, places, parents, children, roots, newest, on_path, leaf }
    }

    /// The place of a message.
    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// The places from a message up to its root.
    pub(crate) fn up(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |&at| self.parents[at])
    }

    fn is_joint(&self, at: usize) -> bool {
        let forks = |at: usize| self.children[at].len() != 1;
        self.leaf == Some(at) || forks(at) || self.parents[at].is_none_or(forks)
    }

    /// How many messages have no answer.
    pub(crate) fn leaves(&self) -> usize {
        self.children.iter().filter(|children| children.is_empty()).count()
    }

    /// The drawing. At most `rails` columns are given to the lines on the left; what is deeper says how deep.
    pub(crate) fn lines(&self, rails: usize) -> impl Iterator<Item = Line<'a>> {
        let mut stack: Vec<Step> =
            self.roots.iter().rev().map(|&at| Step { at, level: 0, begins: Begins::Root }).collect();
        std::iter::from_fn(move || {
            let Step { at, level, begins } = stack.pop()?;
            let goes_on =
                self.children[at].iter().copied().max_by_key(|&child| (self.on_path[child], self.newest[child]));
            if let Some(child) = goes_on {
                stack.push(Step { at: child, level, begins: Begins::Nothing });
                let others = self.children[at].iter().rev().filter(|&&other| other != child);
                stack.extend(others.map(|&at| Step { at, level: level + 1, begins: Begins::Branch }));
            }
            Some(Line {
                rails: draw_rails(level, begins, rails),
                node: &self.nodes[at],
                at,
                level,
                is_joint: self.is_joint(at),
                on_path: self.on_path[at],
                is_leaf: self.leaf == Some(at),
                is_root: begins == Begins::Root,
            })
        })
    }
}

/// A message that is still to be drawn.
struct Step {
    at: usize,
    level: usize,
    begins: Begins,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    Root,
    Branch,
    Nothing,
}

fn draw_rails(level: usize, begins: Begins, columns: usize) -> String {
    let fits = (columns / 2).max(4);
    let (drawn, hidden) = if level <= fits { (level, 0) } else { (fits - 3, level + 3 - fits) };
    let mut rails = "│ ".repeat(drawn);
    if hidden > 0 {
        rails.push_str(&format!("+{hidden} "));
    }
    if begins == Begins::Branch && hidden == 0 {
        rails.truncate(rails.len() - "│ ".len());
        rails.push_str("├─");
    }
    rails
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages by seq, each with its parent.
    fn nodes(tree: &[(&str, &str)]) -> Vec<Node> {
        tree.iter()
            .zip(1..)
            .map(|((id, parent), seq)| Node {
                id: (*id).to_owned(),
                parent_id: Some((*parent).to_owned()).filter(|parent| !parent.is_empty()),
                role: "user".to_owned(),
                seq,
                children: 0,
                preview: String::new(),
            })
            .collect()
    }

    fn drawn(tree: &[(&str, &str)], leaf: &str) -> Vec<String> {
        let nodes = nodes(tree);
        let dot = |line: &Line<'_>| {
            if line.is_leaf {
                '◆'
            } else if line.on_path {
                '●'
            } else {
                '○'
            }
        };
        Tree::new(&nodes, Some(leaf))
            .lines(40)
            .map(|line| format!("{}{}{}", line.rails, dot(&line), line.node.id))
            .collect()
    }

    #[test]
    fn a_line_stays_in_its_column() {
        assert_eq!(drawn(&[("a", ""), ("b", "a"), ("c", "b")], "c"), ["●a", "●b", "◆c"]);
    }

    #[test]
    fn the_path_to_the_leaf_goes_on_and_the_others_stand_before_it() {
        let tree = [("m1", ""), ("u1", "m1"), ("a1", "u1"), ("u2", "a1"), ("a2", "u1"), ("u3", "a2")];
        assert_eq!(drawn(&tree, "u3"), ["●m1", "●u1", "├─○a1", "│ ○u2", "●a2", "◆u3"]);
        assert_eq!(drawn(&tree, "u2"), ["●m1", "●u1", "├─○a2", "│ ○u3", "●a1", "◆u2"]);
        assert_eq!(drawn(&tree, "u1"), ["●m1", "◆u1", "├─○a1", "│ ○u2", "○a2", "○u3"]);
    }

    #[test]
    fn branches_of_branches_and_several_roots() {
        let tree = [("a", ""), ("b", "a"), ("c", "b"), ("d", "b"), ("e", "a"), ("r", ""), ("s", "r"), ("t", "r")];
        assert_eq!(drawn(&tree, "e"), ["●a", "├─○b", "│ ├─○c", "│ ○d", "◆e", "○r", "├─○s", "○t"]);
        let nodes = nodes(&tree);
        let drawing = Tree::new(&nodes, None);
        assert_eq!(drawing.leaves(), 5);
        assert_eq!(drawing.lines(40).filter(|line| line.is_root).count(), 2);
    }

    #[test]
    fn a_parent_that_is_not_there_leaves_a_root() {
        assert_eq!(drawn(&[("a", "gone"), ("b", "a"), ("c", "c")], "b"), ["●a", "◆b", "○c"]);
    }

    #[test]
    fn great_depth_needs_neither_stack_nor_width() {
        // Every message of a long path has a branch, and every branch has branches.
        let mut tree = vec![("0".to_owned(), String::new())];
        for at in 1..100_000 {
            tree.push((at.to_string(), (at - 1).to_string()));
        }
        for at in 0..100 {
            tree.push((format!("x{at}"), at.to_string()));
        }
        let tree: Vec<_> = tree.iter().map(|(id, parent)| (id.as_str(), parent.as_str())).collect();
        let nodes = nodes(&tree);
        let drawing = Tree::new(&nodes, Some("x99"));
        assert_eq!(drawing.lines(40).count(), 100_100);
        // From no leaf, the newest goes on: the long path hangs off to the right at every step.
        assert!(Tree::new(&nodes, None).lines(40).all(|line| line.rails.chars().count() <= 48));
    }
}
