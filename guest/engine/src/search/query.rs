//! Queries: what any text asks for.
//!
//! A query is words and phrases, all of which must be found. White space parts what is looked for; what stands together
//! without any is a phrase, and so is what stands between two quotation marks. A `*` right behind the last word of
//! either makes it the beginning of a word. No text is an error, and nothing of it reaches the index but words.

use super::stem::{has_endings, shorter_stems};
use super::words::{Kind, each_word};

/// Words that a query may have. What follows is left out.
pub(crate) const MAX_WORDS: usize = 256;

/// Words and phrases that a query may have. What follows is left out.
const MAX_PHRASES: usize = 64;

/// What a text asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Query {
    pub(crate) phrases: Vec<Phrase>,
}

/// Words side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    /// All but the last one, as they are in the index.
    pub(crate) words: Vec<String>,
    pub(crate) last: Last,
}

/// The last word of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Last {
    /// The word, as it is in the index.
    Word(String),
    /// The beginning of a word, folded, and words of the index that may stand for one that begins so.
    Beginning(String, Vec<String>),
}

impl Query {
    /// Reads a query.
    pub(crate) fn parse(text: &str) -> Self {
        let mut query = Self::default();
        let mut left = MAX_WORDS;
        let mut rest = text;
        while let Some(open) = rest.find('"') {
            let (before, quoted) = (rest.get(..open).unwrap_or_default(), rest.get(open + 1..).unwrap_or_default());
            query.add_words(before, &mut left);
            match quoted.find('"') {
                Some(close) => {
                    let behind = quoted.get(close + 1..).unwrap_or_default();
                    query.add(quoted.get(..close).unwrap_or_default(), behind.starts_with('*'), &mut left);
                    rest = behind;
                }
                // A mark that opens nothing is punctuation.
                None => rest = quoted,
            }
        }
        query.add_words(rest, &mut left);
        query
    }

    fn add_words(&mut self, text: &str, left: &mut usize) {
        text.split_whitespace().for_each(|group| self.add(group, false, left));
    }

    /// Adds what a text says as one phrase.
    fn add(&mut self, text: &str, beginning: bool, left: &mut usize) {
        if *left == 0 || self.phrases.len() == MAX_PHRASES {
            return;
        }
        // A text of any length costs no more than what is taken of it.
        let limit = MAX_WORDS * 260;
        let text = text.get(..text.floor_char_boundary(limit)).unwrap_or(text);
        let mut words: Vec<(String, Kind)> = Vec::new();
        let mut last = (String::new(), 0);
        each_word(text, |word| {
            if words.len() < *left {
                words.push((word.token.to_owned(), word.kind));
                last = (word.folded.to_owned(), word.range.end);
            }
        });
        *left -= words.len();
        let Some((token, kind)) = words.pop() else { return };
        let (folded, end) = last;
        let last = match kind {
            Kind::Plain if beginning || text.get(end..).is_some_and(|behind| behind.starts_with('*')) => {
                let others = shorter_stems(&folded);
                Last::Beginning(folded, others)
            }
            Kind::Plain | Kind::Pair => Last::Word(token),
            Kind::Last => match words.pop() {
                // The text may go on where the query ends.
                Some((pair, Kind::Pair)) => Last::Word(pair),
                before => {
                    words.extend(before);
                    Last::Beginning(token, Vec::new())
                }
            },
        };
        let phrase = Phrase { words: words.into_iter().map(|(word, _)| word).collect(), last };
        if !self.phrases.contains(&phrase) {
            self.phrases.push(phrase);
        }
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// Whether the index may find what is not meant: then the text has to be looked at.
    pub(crate) fn is_vague(&self) -> bool {
        self.phrases.iter().any(Phrase::is_vague)
    }

    /// The query in the language of the index. Words are all that is in its quotation marks.
    pub(crate) fn expression(&self) -> String {
        let phrases: Vec<String> = self.phrases.iter().map(Phrase::expression).collect();
        phrases.join(" AND ")
    }
}

impl Phrase {
    fn is_vague(&self) -> bool {
        matches!(&self.last, Last::Beginning(folded, _) if has_endings(folded))
    }

    /// The phrase in the language of the index.
    pub(crate) fn expression(&self) -> String {
        let with = |last: &str| {
            let words: Vec<&str> = self.words.iter().map(String::as_str).chain([last]).collect();
            format!("\"{}\"", words.join(" "))
        };
        match &self.last {
            Last::Word(word) => with(word),
            Last::Beginning(folded, others) if others.is_empty() => format!("{} *", with(folded)),
            Last::Beginning(folded, others) => {
                let others: Vec<String> = others.iter().map(|other| with(other)).collect();
                format!("({} * OR {})", with(folded), others.join(" OR "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> String {
        Query::parse(text).expression()
    }

    #[test]
    fn words_are_anded_and_what_stands_together_is_a_phrase() {
        assert_eq!(expression("red  Blue"), r#""red" AND "blue""#);
        assert_eq!(expression(r#""red blue" x"#), r#""red blue" AND "x""#);
        assert_eq!(
            expression("foo.bar v1.2.3 don't user@host"),
            r#""foo bar" AND "v1 2 3" AND "don t" AND "user host""#
        );
        assert_eq!(expression("NOT -x NEAR( a OR a"), r#""not" AND "x" AND "near" AND "a" AND "or""#);
        assert_eq!(expression(r#"red" blue"#), r#""red" AND "blue""#);
        for nothing in ["", "  ", "\"", "\"\"", "*", "\0", "😀", "%", "( ) + ~ #"] {
            assert!(Query::parse(nothing).is_empty(), "{nothing:?}");
        }
    }

    #[test]
    fn a_star_makes_the_beginning_of_a_word() {
        assert_eq!(expression("v2*"), r#""v2" *"#);
        assert_eq!(expression("\"foo x1*\""), r#""foo x1" *"#);
        assert_eq!(expression("\"foo x1\"*"), r#""foo x1" *"#);
        assert_eq!(expression("w*n"), r#""w n""#);
        assert_eq!(expression("runn*"), r#"("runn" * OR "run")"#);
    }

    #[test]
    fn characters_of_scripts_without_spaces_are_found_inside_a_text() {
        assert_eq!(expression("部"), r#""部" *"#);
        assert_eq!(expression("部署"), r#""部署""#);
        assert_eq!(expression("部署窗 x"), r#""部署 署窗" AND "x""#);
        assert_eq!(expression("跑gen"), r#""跑 gen""#);
        assert_eq!(expression("gen后"), r#""gen 后" *"#);
        assert_eq!(expression("部署gen"), r#""部署 署 gen""#);
        assert_eq!(expression("\"部署 窗\""), r#""部署 署 窗" *"#);
    }

    #[test]
    fn a_long_query_is_cut() {
        assert_eq!(Query::parse(&"字".repeat(100_000)).phrases[0].words.len() + 1, MAX_WORDS);
        assert_eq!(Query::parse(&(0..1000).map(|n| format!("w{n} ")).collect::<String>()).phrases.len(), MAX_PHRASES);
    }
}
