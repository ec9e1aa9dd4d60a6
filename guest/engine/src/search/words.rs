//! Text as words: what is looked for, and what is found.
//!
//! Letter case, diacritics, forms of the same letter (full width, ligatures) and English endings are folded. Scripts that
//! are written without spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) give overlapping pairs of characters
//! and the last character alone: `部署窗` is `部署`, `署窗`, `窗`. So one character is found as the beginning of a word and
//! more of them as a phrase of pairs, anywhere in a text. Letters of other scripts beside them are words of their own, and
//! adjacent.
//!
//! Everything else (punctuation, white space, emoji, control characters) separates words and is no part of any.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::stem::stem;

/// What decides which index a text gives: an index of another version is built anew.
pub(crate) const VERSION: i64 = 2;

/// Characters of a word; longer ones are words of this length, side by side.
const MAX_WORD_CHARACTERS: usize = 64;

/// Characters that are composed with the one that they follow. More of them say nothing to anybody.
const MAX_MARKS: usize = 31;

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Letters and digits.
    Plain,
    /// Two characters side by side.
    Pair,
    /// The last character of those that stand side by side.
    Last,
}

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// What is compared: folded, without its ending.
    pub(crate) token: &'a str,
    /// Folded, with its ending.
    pub(crate) folded: &'a str,
    /// Where it stands in the text, in bytes.
    pub(crate) range: Range<usize>,
    /// Where its first character ends: of a pair, the first of the two.
    pub(crate) first: usize,
    pub(crate) kind: Kind,
}

/// Reads the words of a text, in order.
pub(crate) fn each_word(text: &str, each: impl FnMut(&Word<'_>)) {
    let mut reading =
        Reading { word: String::new(), stem: String::new(), characters: 0, range: 0..0, first: 0, unit: None, each };
    reading.read(text);
    reading.separate();
}

struct Reading<F> {
    /// The word that is being read, folded.
    word: String,
    stem: String,
    characters: usize,
    range: Range<usize>,
    first: usize,
    /// The last character of a script without spaces, if it was the last one read.
    unit: Option<(char, Range<usize>)>,
    each: F,
}

impl<F: FnMut(&Word<'_>)> Reading<F> {
    fn read(&mut self, text: &str) {
        let mut rest = text.char_indices().peekable();
        while let Some((at, char)) = rest.next() {
            let mut end = at + char.len_utf8();
            let mut marks = 0;
            while let Some(&(_, next)) = rest.peek()
                && marks < MAX_MARKS
                && joins(next)
            {
                end += next.len_utf8();
                marks += 1;
                rest.next();
            }
            let range = at..end;
            if marks == 0 && char.is_ascii() {
                if char.is_ascii_alphanumeric() {
                    self.letter(char.to_ascii_lowercase(), &range);
                } else {
                    self.separate();
                }
            } else if marks == 0 && is_plain_unit(char) {
                self.unit(char, range);
            } else {
                text.get(range.clone()).unwrap_or_default().nfkc().for_each(|char| self.composed(char, &range));
            }
        }
    }

    /// A character in its composed form.
    fn composed(&mut self, char: char, range: &Range<usize>) {
        if is_unit(char) {
            self.unit(char, range.clone());
        } else if is_ignored(char) {
        } else if char.is_alphanumeric() {
            decompose_canonical(char, |part| {
                if !is_ignored(part) {
                    part.to_lowercase().for_each(|letter| self.folded(letter, range));
                }
            });
        } else if is_combining_mark(char) {
            // A vowel of an Indian script and the like, which makes another word.
            if !self.word.is_empty() {
                self.letter(char, range);
            }
        } else {
            self.separate();
        }
    }

    /// A letter in lower case: those that are others with a stroke, or two in one.
    fn folded(&mut self, letter: char, range: &Range<usize>) {
        let as_written = match letter {
            'ß' => "ss",
            'æ' => "ae",
            'œ' => "oe",
            'ø' => "o",
            'ł' => "l",
            'đ' => "d",
            'ħ' => "h",
            'ŧ' => "t",
            'ı' => "i",
            'ς' => "σ",
            // The dot that remains of a capital with one.
            letter if is_ignored(letter) => "",
            letter => return self.letter(letter, range),
        };
        as_written.chars().for_each(|letter| self.letter(letter, range));
    }

    fn letter(&mut self, letter: char, range: &Range<usize>) {
        if self.word.is_empty() {
            self.end_run();
            self.range = range.clone();
            self.first = range.end;
        } else if self.characters == MAX_WORD_CHARACTERS {
            self.end_word();
            self.range = range.clone();
            self.first = range.end;
        }
        self.word.push(letter);
        self.characters += 1;
        self.range.end = range.end;
    }

    fn unit(&mut self, char: char, range: Range<usize>) {
        self.end_word();
        if let Some((before, at)) = self.unit.take() {
            let mut buffer = [0; 8];
            let length = before.encode_utf8(&mut buffer).len();
            let length = length + char.encode_utf8(buffer.get_mut(length..).unwrap_or_default()).len();
            let token = buffer.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
            let word = Word { token, folded: token, range: at.start..range.end, first: at.end, kind: Kind::Pair };
            (self.each)(&word);
        }
        self.unit = Some((char, range));
    }

    fn separate(&mut self) {
        self.end_word();
        self.end_run();
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        self.stem.clear();
        self.stem.push_str(&self.word);
        stem(&mut self.stem);
        let word = Word {
            token: &self.stem,
            folded: &self.word,
            range: self.range.clone(),
            first: self.first,
            kind: Kind::Plain,
        };
        (self.each)(&word);
        self.word.clear();
        self.characters = 0;
    }

    fn end_run(&mut self) {
        if let Some((char, range)) = self.unit.take() {
            let mut buffer = [0; 4];
            let token: &str = char.encode_utf8(&mut buffer);
            let first = range.end;
            (self.each)(&Word { token, folded: token, range, first, kind: Kind::Last });
        }
    }
}

/// Characters of the scripts without spaces that are never composed with anything but marks.
fn is_plain_unit(char: char) -> bool {
    matches!(char, '\u{4e00}'..='\u{9fff}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}')
}

/// Characters of the scripts without spaces, in composed form.
fn is_unit(char: char) -> bool {
    is_plain_unit(char)
        || matches!(char,
            // Thai, Lao, Burmese, Khmer: without signs, digits and punctuation.
            '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}'
            | '\u{e81}'..='\u{ece}' | '\u{edc}'..='\u{edf}'
            | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{108f}' | '\u{109a}'..='\u{109d}'
            | '\u{1780}'..='\u{17d3}' | '\u{17d7}' | '\u{17dc}' | '\u{17dd}'
            // Hangul that is not composed.
            | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{a960}'..='\u{a97c}' | '\u{d7b0}'..='\u{d7fb}'
            // Radicals, iteration marks, numerals, Bopomofo, small kana.
            | '\u{2e80}'..='\u{2ef3}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{3035}'
            | '\u{3038}'..='\u{303c}' | '\u{309d}'..='\u{309f}' | '\u{30fd}'..='\u{30ff}' | '\u{3105}'..='\u{312f}'
            | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}'
            // Yi, compatibility ideographs, Tangut, kana and ideographs beyond the first plane.
            | '\u{a000}'..='\u{a48c}' | '\u{f900}'..='\u{faff}' | '\u{17000}'..='\u{18cff}' | '\u{1aff0}'..='\u{1b16f}'
            | '\u{20000}'..='\u{3ffff}')
}

/// Characters that are read together with the one before them.
fn joins(char: char) -> bool {
    match char {
        ..'\u{300}' | '\u{3000}'..='\u{3098}' | '\u{309b}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => false,
        // Vowels and final consonants of Hangul, voice marks of kana.
        '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7fb}' | '\u{3099}' | '\u{309a}' | '\u{ff9e}' | '\u{ff9f}' => true,
        char => is_combining_mark(char) && !is_unit(char),
    }
}

/// Marks and signs without which a word is the same: diacritics of the European and Semitic scripts, variation selectors,
/// what only joins, parts or stretches.
fn is_ignored(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}'
        | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{20d0}'..='\u{20ff}'
        | '\u{3099}' | '\u{309a}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{feff}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        each_word(text, |word| tokens.push(word.token.to_owned()));
        tokens
    }

    #[test]
    fn case_diacritics_and_forms_of_letters_are_folded() {
        assert_eq!(
            tokens("Café CAFE\u{301} ＣＡＦＥ Straße ﬁx Ünïcode İstanbul Łódź"),
            ["cafe", "cafe", "cafe", "strass", "fix", "unicod", "istanbul", "lodz"]
        );
        assert_eq!(tokens("Ελλάδα ΟΔΟΣ ёлка"), ["ελλαδα", "οδοσ", "елка"]);
        assert_eq!(tokens("مُحَمَّد"), tokens("محمد"));
        assert_eq!(tokens("हिन्दी"), ["हिन्दी"]);
    }

    #[test]
    fn scripts_without_spaces_give_pairs_and_the_last_character() {
        assert_eq!(tokens("部署窗"), ["部署", "署窗", "窗"]);
        assert_eq!(tokens("重跑gen后,续"), ["重跑", "跑", "gen", "后", "续"]);
        assert_eq!(tokens("ﾀﾜｰ"), tokens("タワー"));
        assert_eq!(tokens("か\u{3099}"), ["が"]);
        assert_eq!(tokens("\u{1100}\u{1161}\u{11a8}"), ["각"]);
        assert_eq!(tokens("กิน"), ["ก\u{e34}", "\u{e34}น", "น"]);
        assert_eq!(tokens("𠀀𠀁"), ["𠀀𠀁", "𠀁"]);
    }

    #[test]
    fn what_is_no_word_only_separates() {
        assert_eq!(
            tokens("v1.2.3 don't a_b 😀 \0 \u{fffd} user@host"),
            ["v1", "2", "3", "don", "t", "a", "b", "user", "host"]
        );
        assert_eq!(tokens(&"x".repeat(150)).iter().map(String::len).collect::<Vec<_>>(), [64, 64, 22]);
    }

    #[test]
    fn words_say_where_they_stand() {
        let text = "a café, 部署窗";
        let mut found = Vec::new();
        each_word(text, |word| found.push((text[word.range.clone()].to_owned(), &text[word.range.start..word.first])));
        let found: Vec<(&str, &str)> = found.iter().map(|(word, first)| (word.as_str(), *first)).collect();
        assert_eq!(found, [("a", "a"), ("café", "c"), ("部署", "部"), ("署窗", "署"), ("窗", "窗")]);
    }
}
