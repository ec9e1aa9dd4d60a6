//! The columns of a drawn tree: lines to the left, dot, role, text, id.
//!
//! Columns are those of the terminal: a Chinese character takes two, a combining one none. Where there is little room the
//! id goes first, then the role; the text stays.

use std::io::{self, Write};

use talktree::{Compaction, Node};
use unicode_width::UnicodeWidthStr as _;

use super::{
    drawing::Line,
    terminal::{FAINT, OTHER, PLAIN, STRONG, cut, harmless, role_style},
};

/// Columns that an id may take.
const ID_COLUMNS: usize = 24;
/// Columns that a role may take.
const ROLE_COLUMNS: usize = 12;
/// Columns that the text has before an id or a role takes some.
const TEXT_COLUMNS: usize = 8;

/// The columns of one drawing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    columns: usize,
    roles: usize,
}

impl Layout {
    pub(crate) fn new(nodes: &[Node], columns: usize) -> Self {
        let roles = nodes.iter().map(|node| harmless(&node.role).width()).max().unwrap_or(0).min(ROLE_COLUMNS);
        Self { columns, roles }
    }

    /// Columns for the lines on the left: a third, the rest is for what was said.
    pub(crate) fn rails(self) -> usize {
        self.columns / 3
    }

    /// What stands above the drawing.
    pub(crate) fn heading(self, out: &mut impl Write, counts: &[String], name: &str) -> io::Result<()> {
        let heading = format!("{} in {name}", counts.join(", "));
        writeln!(out, "{FAINT}{}{PLAIN}", cut(&heading, self.columns))
    }

    /// One message.
    pub(crate) fn message(self, out: &mut impl Write, line: &Line<'_>) -> io::Result<()> {
        let dot = match (line.is_leaf, line.on_path) {
            (true, _) => "◆",
            (_, true) => "●",
            _ => "○",
        };
        let left = self.columns.saturating_sub(line.rails.width() + 2);
        let id = harmless(&line.node.id);
        let id = cut(&id, ID_COLUMNS);
        let with_role = left.saturating_sub(self.roles + 2);
        let with_id = with_role.saturating_sub(id.width() + 2);
        let (shows_role, shows_id, room) = match (with_role, with_id) {
            (_, room) if room >= TEXT_COLUMNS => (true, true, room),
            (room, _) if room >= TEXT_COLUMNS => (true, false, room),
            _ => (false, false, left),
        };
        let style = role_style(&line.node.role);
        write!(out, "{FAINT}{}{PLAIN}{style}{dot}", line.rails)?;
        if shows_role {
            let role = harmless(&line.node.role);
            let role = cut(&role, self.roles);
            write!(out, " {role}{PLAIN}{}  ", " ".repeat(self.roles.saturating_sub(role.width())))?;
        } else {
            write!(out, "{PLAIN} ")?;
        }
        let weight = if line.is_leaf { STRONG } else { anstyle::Style::new() };
        let preview = harmless(&line.node.preview);
        write!(out, "{weight}{}{PLAIN}", cut(&preview, room))?;
        if shows_id { writeln!(out, "  {FAINT}{id}{PLAIN}") } else { writeln!(out) }
    }

    /// A stretch of messages that is folded.
    pub(crate) fn folded(self, out: &mut impl Write, rails: &str, messages: usize) -> io::Result<()> {
        let text = format!("… {} …", counted(messages, "message", "messages"));
        let room = self.columns.saturating_sub(rails.width() + 2);
        writeln!(out, "{FAINT}{rails}┆ {}{PLAIN}", cut(&text, room))
    }

    /// What is read in place of the messages above.
    pub(crate) fn summary(self, out: &mut impl Write, rails: &str, summary: &Compaction) -> io::Result<()> {
        let covered = usize::try_from(summary.count).unwrap_or(usize::MAX);
        let text = format!("summary of {}: {}", counted(covered, "message", "messages"), harmless(&summary.summary));
        let room = self.columns.saturating_sub(rails.width() + 2);
        writeln!(out, "{FAINT}{rails}{PLAIN}{OTHER}≡ {}{PLAIN}", cut(&text, room))
    }
}

/// A number with its noun.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn node(role: &str, preview: &str) -> Node {
        Node { id: "m1".into(), parent_id: None, role: role.into(), seq: 1, children: 0, preview: preview.into() }
    }

    fn drawn(columns: usize, preview: &str) -> String {
        let node = node("user", preview);
        let line = Line {
            rails: String::new(),
            node: &node,
            at: 0,
            level: 0,
            is_joint: true,
            on_path: true,
            is_leaf: false,
            is_root: true,
        };
        let mut out = Vec::new();
        let nodes = std::slice::from_ref(&node);
        Layout::new(nodes, columns).message(&mut anstream::StripStream::new(&mut out), &line).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn on_narrow_terminals_the_id_goes_first_and_the_text_stays() {
        assert_eq!(drawn(40, "讨论部署窗口 of Friday"), "● user  讨论部署窗口 of Friday  m1\n");
        assert_eq!(drawn(19, "讨论部署窗口 of Friday"), "● user  讨论部署窗…\n");
        assert_eq!(drawn(15, "讨论部署窗口 of Friday"), "● 讨论部署窗口…\n");
        assert_eq!(drawn(4, "讨论部署窗口 of Friday"), "● …\n");
    }

    #[test]
    fn a_summary_cannot_move_the_cursor() {
        let summary = Compaction {
            id: "c".into(),
            summary: "a\u{1b}[2J\nb".into(),
            first_id: "a".into(),
            last_id: "b".into(),
            count: 1,
            created_at: 0,
            replaced_by: None,
            input_tokens: None,
            output_tokens: None,
        };
        let mut out = Vec::new();
        let layout = Layout::new(&[], 80);
        layout.summary(&mut anstream::StripStream::new(&mut out), "│ ", &summary).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "│ ≡ summary of 1 message: a␛[2J b\n");
    }
}
