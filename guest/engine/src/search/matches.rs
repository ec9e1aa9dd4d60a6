//! Finding what a query asks for in a text, without an index, and showing where it is.

use std::collections::VecDeque;
use std::ops::Range;

use super::query::{Last, Phrase, Query};
use super::words::{Word, each_word};

/// Characters of a snippet.
const SNIPPET_CHARACTERS: usize = 300;

/// Characters of a snippet before its first match.
const LEAD_CHARACTERS: usize = 60;

/// How often a phrase is noted in one text.
const MAX_NOTED: usize = 1000;

/// Looks for the phrases of a query in texts that are read one after the other.
#[derive(Debug)]
pub(crate) struct Matcher<'a> {
    phrases: Vec<Progress<'a>>,
    /// Words that were read.
    pub(crate) words: u64,
}

/// How far a phrase has been found, at how many places.
#[derive(Debug)]
struct Progress<'a> {
    phrase: &'a Phrase,
    /// Phrases that have begun: how many of their words have been read, and where they began.
    open: VecDeque<(usize, usize)>,
    /// How often it was found.
    count: u64,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(query: &'a Query) -> Self {
        let progress = |phrase| Progress { phrase, open: VecDeque::new(), count: 0 };
        Self { phrases: query.phrases.iter().map(progress).collect(), words: 0 }
    }

    /// Reads a text. What is found is told with its place.
    pub(crate) fn read(&mut self, text: &str, mut found: impl FnMut(Range<usize>)) {
        each_word(text, |word| {
            self.words += 1;
            for progress in &mut self.phrases {
                progress.read(word, &mut found);
            }
        });
    }

    /// Whether every phrase was found.
    pub(crate) fn complete(&self) -> bool {
        self.phrases.iter().all(|progress| progress.count > 0)
    }

    /// How often each phrase was found.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.phrases.iter().map(|progress| progress.count).collect()
    }
}

impl Progress<'_> {
    fn read(&mut self, word: &Word<'_>, found: &mut impl FnMut(Range<usize>)) {
        let all = self.phrase.words.len();
        if all > 0 {
            let mut index = 0;
            while let Some(&(read, start)) = self.open.get(index) {
                if read < all && self.phrase.words.get(read).is_some_and(|expected| expected == word.token) {
                    if let Some(open) = self.open.get_mut(index) {
                        open.0 += 1;
                    }
                    index += 1;
                    continue;
                }
                if read == all
                    && let Some(end) = end_of(&self.phrase.last, word)
                {
                    self.count += 1;
                    found(start..end);
                }
                self.open.remove(index);
            }
            if self.phrase.words.first().is_some_and(|first| first == word.token) {
                self.open.push_back((1, word.range.start));
            }
        } else if let Some(end) = end_of(&self.phrase.last, word) {
            self.count += 1;
            found(word.range.start..end);
        }
    }
}

/// Where what is looked for ends, if the word is it.
fn end_of(last: &Last, word: &Word<'_>) -> Option<usize> {
    match last {
        Last::Word(expected) => (expected == word.token).then_some(word.range.end),
        Last::Beginning(beginning, _) if word.folded.starts_with(beginning.as_str()) => {
            // Of a pair only the character that was asked for.
            let mut characters = beginning.chars();
            let one = characters.next().is_some() && characters.next().is_none();
            Some(if one && word.kind == super::words::Kind::Pair { word.first } else { word.range.end })
        }
        Last::Beginning(..) => None,
    }
}

/// The places of a text where phrases of the query are, in order, those that touch joined.
fn places(query: &Query, text: &str) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    Matcher::new(query).read(text, |range| {
        if places.len() < MAX_NOTED {
            places.push(range);
        }
    });
    places.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in places {
        match joined.last_mut() {
            Some(before) if range.start <= before.end => before.end = before.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// A part of a text with what a query found between `[` and `]`, and `…` where it is cut: at most 300 characters of the
/// text. None if nothing of the query is there.
pub(crate) fn snippet(query: &Query, text: &str) -> Option<String> {
    let places = places(query, text);
    let first = places.first()?;
    let lead = text.get(..first.start).unwrap_or_default();
    let start = match lead.char_indices().rev().nth(LEAD_CHARACTERS) {
        None => 0,
        // Behind the end of a word, if there is one soon.
        Some((at, _)) => {
            let lead = lead.get(at..).unwrap_or_default();
            let word = lead.char_indices().take(LEAD_CHARACTERS / 2).find(|(_, char)| char.is_whitespace());
            at + word.map_or_else(|| lead.chars().next().map_or(0, char::len_utf8), |(at, char)| at + char.len_utf8())
        }
    };
    let shown = text.get(start..).unwrap_or_default();
    let end = match shown.char_indices().nth(SNIPPET_CHARACTERS) {
        None => text.len(),
        Some((cut, _)) => {
            let shown = shown.get(..cut).unwrap_or_default();
            let space = shown.char_indices().rev().take(LEAD_CHARACTERS / 2).find(|(_, char)| char.is_whitespace());
            start + space.map_or(cut, |(at, _)| at)
        }
    };
    let mut out = String::with_capacity(end - start + 16);
    if start > 0 {
        out.push('…');
    }
    let mut at = start;
    for place in places.iter().filter(|place| place.start < end) {
        let to = place.end.min(end);
        out.push_str(text.get(at..place.start).unwrap_or_default());
        out.push('[');
        out.push_str(text.get(place.start..to).unwrap_or_default());
        out.push(']');
        at = to;
    }
    out.push_str(text.get(at..end).unwrap_or_default());
    if end < text.len() {
        out.push('…');
    }
    Some(out)
}

/// How well a text answers a query: none if anything of it is missing, else more for what is found more often in less
/// text. For short texts that have no index.
pub(crate) fn relevance(query: &Query, text: &str) -> Option<f64> {
    let mut matcher = Matcher::new(query);
    matcher.read(text, |_| {});
    if query.is_empty() || !matcher.complete() {
        return None;
    }
    let length = 1.0 + matcher.words as f64 / 100.0;
    Some(matcher.counts().iter().map(|&count| count as f64 / (count as f64 + length)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(query: &str, text: &str) -> Option<String> {
        snippet(&Query::parse(query), text)
    }

    #[test]
    fn matches_are_marked_as_they_are_written() {
        assert_eq!(shown("deploy cafe", "Deployed the café").as_deref(), Some("[Deployed] the [café]"));
        assert_eq!(shown("部署", "讨论了部署窗口").as_deref(), Some("讨论了[部署]窗口"));
        assert_eq!(shown("部署窗", "讨论了部署窗口").as_deref(), Some("讨论了[部署窗]口"));
        assert_eq!(shown("窗", "讨论了部署窗口窗").as_deref(), Some("讨论了部署[窗]口[窗]"));
        assert_eq!(shown("跑gen后", "重跑gen后续").as_deref(), Some("重[跑gen后]续"));
        assert_eq!(shown("win* foo.bar", "a foo, bar window").as_deref(), Some("a [foo, bar] [window]"));
        assert_eq!(shown("\"a a b\"", "a a a b").as_deref(), Some("a [a a b]"));
        assert_eq!(shown("nothing", "else"), None);
    }

    #[test]
    fn a_snippet_is_cut_between_characters_and_says_so() {
        let text = format!("{}部署{}", "窗口😀".repeat(500), "é".repeat(5000));
        let snippet = shown("部署", &text).unwrap_or_default();
        assert!(snippet.starts_with('…') && snippet.ends_with('…') && snippet.contains("[部署]"), "{snippet}");
        assert!(snippet.chars().filter(|char| !"[]…".contains(*char)).count() <= SNIPPET_CHARACTERS);
    }

    #[test]
    fn a_text_is_relevant_if_it_has_all_of_a_query() {
        let query = Query::parse("deploy window");
        assert!(relevance(&query, "deployed").is_none());
        assert!(relevance(&Query::parse(""), "deployed").is_none());
        let short = relevance(&query, "windows deployed").unwrap_or_default();
        let long = relevance(&query, &format!("windows deployed {}", "x ".repeat(1000))).unwrap_or_default();
        assert!(short > long && long > 0.0);
    }
}
