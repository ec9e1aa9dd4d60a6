//! Text of strangers on a terminal: made harmless, cut to a width, coloured where that is wanted.
//!
//! Messages say what they like, escape sequences and characters that turn the line around among it. Nothing that was
//! not written by this program reaches the terminal without passing through here.

use std::{borrow::Cow, fmt::Write as _};

use anstyle::{AnsiColor, Color, Reset, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// What is important.
pub(crate) const STRONG: Style = Style::new().bold();
/// What is beside the point.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What the user said.
pub(crate) const USER: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Cyan)));
/// What the model said.
pub(crate) const ASSISTANT: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green)));
/// What neither said.
pub(crate) const OTHER: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
/// What went wrong.
pub(crate) const BAD: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Red)));
/// Back to plain text.
pub(crate) const PLAIN: Reset = Reset;

/// The style of what a role says.
pub(crate) fn role_style(role: &str) -> Style {
    match role {
        "user" => USER,
        "assistant" => ASSISTANT,
        _ => OTHER,
    }
}

/// The text on one line: line breaks and tabs are spaces, whatever could move the cursor or turn the text around is
/// shown as a sign.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().any(|c| is_break(c) || c == '\t' || is_harmful(c)) {
        let one_line = text.replace("\r\n", " ");
        Cow::Owned(shown(&one_line, |c| is_break(c) || c == '\t', " "))
    } else {
        Cow::Borrowed(text)
    }
}

/// The same with its line breaks and tabs.
pub(crate) fn harmless_lines(text: &str) -> String {
    shown(&text.replace("\r\n", "\n").replace(['\u{2028}', '\u{2029}'], "\n"), |_| false, "")
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\u{2028}' | '\u{2029}')
}

/// Controls, and what changes the direction of the text around it.
fn is_harmful(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn shown(text: &str, blank: impl Fn(char) -> bool, with: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if blank(c) {
            out.push_str(with);
        } else if !is_harmful(c) {
            out.push(c);
        } else if let Some(picture) = picture(c) {
            out.push(picture);
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "<U+{:04X}>", u32::from(c));
        }
    }
    out
}

/// Unicode has pictures of the ASCII controls.
fn picture(c: char) -> Option<char> {
    match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code),
        0x7f => Some('\u{2421}'),
        _ => None,
    }
}

/// The beginning of a text that fits so many columns, with an ellipsis where it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used + 1 > columns {
            break;
        }
        end = at + c.len_utf8();
    }
    Cow::Owned(format!("{}…", &text[..end]))
}

/// How wide stdout is; none where it is no terminal.
pub(crate) fn width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_and_no_change_of_direction_reaches_the_terminal() {
        let every = (0..0x2100).filter_map(char::from_u32).collect::<String>();
        for text in [harmless(&every).into_owned(), harmless_lines(&every)] {
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{8}', '\r', '\u{7f}', '\u{9b}', '\u{85}', '\u{0}']));
            for turning in
                "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}"
                    .chars()
            {
                assert!(!text.contains(turning));
            }
        }
        assert!(!harmless(&every).contains(['\n', '\t', '\u{2028}', '\u{2029}']));
    }

    #[test]
    fn what_was_there_can_still_be_seen() {
        assert_eq!(harmless("a\u{1b}[31mb\u{202e}c\r\nd\te\rf"), "a␛[31mb<U+202E>c d e␍f");
        assert_eq!(harmless_lines("a\r\nb\n\tc\u{9b}"), "a\nb\n\tc<U+009B>");
        assert!(matches!(harmless("plain é 部署 👩‍👩‍👧"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_cut_text_fits_its_columns() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello!", 5), "hell…");
        assert_eq!(cut("部署窗口", 5), "部署…");
        assert_eq!(cut("部署窗口", 1), "…");
        for columns in 1..12 {
            assert!(cut("部a署bc窗口 d e f g", columns).width() <= columns);
        }
    }
}
