//! Words, sentences and tokens of a text in any script.

use std::collections::HashSet;

/// The words of a sentence; in scripts that write none apart, pairs of characters.
pub(crate) fn words(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    let mut word = String::new();
    let mut before = None;
    for c in text.chars().chain(std::iter::once(' ')) {
        if is_wide(c) {
            if let Some(before) = before {
                words.insert(String::from_iter([before, c]));
            }
            before = Some(c);
        } else {
            before = None;
        }
        if c.is_alphanumeric() && !is_wide(c) {
            word.extend(c.to_lowercase());
        } else if !word.is_empty() {
            // Short words say little in most languages.
            if word.chars().count() > 3 {
                words.insert(word.clone());
            }
            word.clear();
        }
    }
    words
}

/// The sentences of a text, in any script: they end at the end of a line, and at a full stop of theirs.
pub(crate) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        let mut characters = line.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let end = at + c.len_utf8();
            let next = characters.peek().map(|&(_, next)| next);
            let ends = match c {
                '。' | '！' | '？' | '｡' | '؟' | '۔' | '।' | '॥' => {
                    !matches!(next, Some('」' | '』' | '”' | '）'))
                }
                // Not within a number, a name of a file or an abbreviation in the middle of a sentence.
                '.' | '!' | '?' | '…' => next.is_none_or(char::is_whitespace) && !goes_on_small(&line[end..]),
                _ => false,
            };
            if ends {
                push(&mut found, &line[start..end]);
                start = end;
            }
        }
        push(&mut found, &line[start..]);
    }
    found
}

fn goes_on_small(rest: &str) -> bool {
    rest.trim_start().chars().next().is_some_and(char::is_lowercase)
}

fn push(found: &mut Vec<String>, sentence: &str) {
    let sentence = sentence.trim().trim_start_matches(['#', '-', '*', ' ']).trim();
    if sentence.chars().any(char::is_alphanumeric) {
        found.push(sentence.to_owned());
    }
}

/// Scripts whose characters are tokens of their own, more or less.
fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x0e00..=0x0eff | 0x1000..=0x109f | 0x1100..=0x11ff | 0x1780..=0x17ff | 0x2e80..=0x9fff
        | 0xa960..=0xa97f | 0xac00..=0xd7ff | 0xf900..=0xfaff | 0xfe30..=0xfe4f | 0xff00..=0xffef | 0x20000..=0x3ffff)
}

/// Thirds of a token that a character takes, more than less.
fn thirds(c: char) -> usize {
    match u32::from(c) {
        0..=0x7f if c.is_ascii_punctuation() => 2,
        0..=0x05ff => 1,
        // Emoji and what is rarer still take several tokens each.
        0x1f000.. if !is_wide(c) => 9,
        _ if is_wide(c) => 3,
        _ => 2,
    }
}

/// Tokens of a text, more than less.
pub(crate) fn count(text: &str) -> usize {
    text.chars().map(thirds).sum::<usize>().div_ceil(3)
}

/// The beginning of a text that has at most so many tokens: whole, or cut where a word ends if there is one, and with
/// a sign that it was.
pub(crate) fn cut(text: &str, tokens: usize) -> String {
    if count(text) <= tokens {
        return text.to_owned();
    }
    let mut left = tokens.saturating_mul(3).saturating_sub(thirds('…'));
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let Some(rest) = left.checked_sub(thirds(c)) else { break };
        left = rest;
        end = at + c.len_utf8();
    }
    let kept = &text[..end];
    let whole = match kept.rfind(char::is_whitespace) {
        Some(space) if space * 2 > end => &kept[..space],
        _ => kept,
    };
    if whole.is_empty() { String::new() } else { format!("{}…", whole.trim_end()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(
            sentences("Version 1.2 of a.rs works. e.g. this goes on. Done!"),
            ["Version 1.2 of a.rs works. e.g. this goes on.", "Done!"]
        );
        assert_eq!(sentences("一つ。二つ？三つ"), ["一つ。", "二つ？", "三つ"]);
        assert_eq!(sentences("- a\n\n---\nb"), ["a", "b"]);
    }
}
