//! What a search found, marked: which brackets of a snippet are marks, and which are the message's own.

use std::io::{self, Write};

use super::terminal::{BAD, PLAIN, harmless};

/// A stretch of a snippet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch<'a> {
    text: &'a str,
    /// It is what was looked for.
    found: bool,
}

/// Writes a snippet: what was found in colour, or between brackets where there are no colours.
pub(crate) fn write_snippet(out: &mut impl Write, snippet: &str, content: &str, coloured: bool) -> io::Result<()> {
    for Stretch { text, found } in stretches(snippet, content) {
        let text = harmless(text);
        match (found, coloured) {
            (false, _) => write!(out, "{text}")?,
            (true, true) => write!(out, "{BAD}{text}{PLAIN}")?,
            (true, false) => write!(out, "[{text}]")?,
        }
    }
    Ok(())
}

/// Whether stdout takes colours, and they are wanted.
pub(crate) fn coloured() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// The stretches of a snippet. It is compared with the text that it is a part of; where it is no part of that (what was
/// found is not in the text of the message), every pair of brackets is taken for a mark.
fn stretches<'a>(snippet: &'a str, content: &str) -> Vec<Stretch<'a>> {
    compare(snippet, content)
        .or_else(|| {
            let cut = snippet.strip_prefix('…')?;
            let lead = Stretch { text: &snippet[..'…'.len_utf8()], found: false };
            let mut starts = content.char_indices().map(|(at, _)| &content[at..]);
            starts.find_map(|rest| compare(cut, rest)).map(|mut found| {
                found.insert(0, lead);
                found
            })
        })
        .unwrap_or_else(|| all_brackets(snippet))
}

/// The stretches of a snippet that begins where this text does; none if it says something else.
///
/// A mark stands before or behind a word. So of two brackets before a word the inner one is the mark, and behind a word
/// the first one is.
fn compare<'a>(snippet: &'a str, content: &str) -> Option<Vec<Stretch<'a>>> {
    let mut stretches = Vec::new();
    let mut rest = content.chars();
    let (mut from, mut found) = (0, false);
    for (at, c) in snippet.char_indices() {
        let next = rest.clone().next();
        let behind = &snippet[at + c.len_utf8()..];
        let is_mark = match c {
            '[' => !found && next != Some('['),
            ']' => found && (next != Some(']') || behind.starts_with(']')),
            _ => false,
        };
        if is_mark {
            stretches.push(Stretch { text: &snippet[from..at], found });
            found = !found;
            from = at + c.len_utf8();
        } else if next == Some(c) {
            rest.next();
        } else if c == '…' && behind.is_empty() && next.is_some() {
            // The text goes on, the snippet does not.
            break;
        } else {
            return None;
        }
    }
    stretches.push(Stretch { text: &snippet[from..], found: false });
    (!found).then_some(stretches)
}

fn all_brackets(snippet: &str) -> Vec<Stretch<'_>> {
    let mut stretches = Vec::new();
    let mut rest = snippet;
    while let Some((before, behind)) = rest.split_once('[')
        && let Some((found, after)) = behind.split_once(']')
    {
        stretches.push(Stretch { text: before, found: false });
        stretches.push(Stretch { text: found, found: true });
        rest = after;
    }
    stretches.push(Stretch { text: rest, found: false });
    stretches
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    /// With `<` and `>` around what is taken for found.
    fn marked(snippet: &str, content: &str) -> String {
        let mark =
            |Stretch { text, found }: &Stretch<'_>| if *found { format!("<{text}>") } else { (*text).to_owned() };
        stretches(snippet, content).iter().map(mark).collect()
    }

    #[test]
    fn brackets_of_the_message_are_no_marks() {
        assert_eq!(marked("[note] [deploy] it", "[note] deploy it"), "[note] <deploy> it");
        assert_eq!(marked("a[[0]] = [x]", "a[0] = x"), "a[<0>] = <x>");
        assert_eq!(marked("[[x]](y)", "[x](y)"), "[<x>](y)");
        assert_eq!(marked("[a[0]]", "a[0]"), "<a[0>]");
        assert_eq!(marked("讨论了[部署]窗口", "讨论了部署窗口"), "讨论了<部署>窗口");
        assert_eq!(marked("nothing [", "nothing ["), "nothing [");
    }

    #[test]
    fn a_snippet_that_was_cut_is_found_in_its_text() {
        let content = format!("{}see [1] deploy and {}", "x [2] ".repeat(50), "y ".repeat(400));
        let snippet = format!("…x [2] see [1] [deploy] and {}…", "y ".repeat(20).trim_end());
        let expected = format!("…x [2] see [1] <deploy> and {}…", "y ".repeat(20).trim_end());
        assert_eq!(marked(&snippet, &content), expected);
    }

    #[test]
    fn what_is_not_in_the_text_has_all_its_brackets_taken_for_marks() {
        assert_eq!(marked("{\"city\":\"[Oslo]\"} [", "Look it up."), "{\"city\":\"<Oslo>\"} [");
        assert_eq!(marked("", ""), "");
    }

    #[test]
    fn without_colours_the_marks_are_brackets_and_nothing_reaches_the_terminal_raw() {
        let write = |coloured| {
            let mut out = Vec::new();
            write_snippet(&mut out, "a [b\u{1b}[2J] c", "a b\u{1b}[2J c", coloured).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(write(false), "a [b␛[2J] c");
        assert_eq!(write(true), format!("a {BAD}b␛[2J{PLAIN} c"));
    }
}
