//! How much content an answer holds.

use std::any::Any;

use crate::types::{LinePage, MediaRange, Message, MessagePage, RecentHistory, SearchPage, SnapshotPiece};
use crate::{Block, ToolAnswer};

/// Bytes of content in an answer: JSON of messages, content of blocks, lines, raw media. Answers without content weigh
/// nothing.
pub(crate) fn weight<T: 'static>(answer: &T) -> u64 {
    let any: &dyn Any = answer;
    // What searches answers an option, since the step that makes an index gives none.
    let found = optional(any, messages)
        .or_else(|| optional(any, |message: &Message| message.json.len()))
        .or_else(|| optional(any, |page: &SearchPage| page.results.iter().map(|result| result.content.len()).sum()))
        .or_else(|| optional(any, |answer: &ToolAnswer| answer.content.len()))
        .or_else(|| optional(any, |text: &String| text.len()))
        .or_else(|| optional(any, |media: &MediaRange| media.data.len()))
        .or_else(|| optional(any, |messages: &Vec<Message>| messages.iter().map(|message| message.json.len()).sum()))
        .or_else(|| optional(any, |recent: &RecentHistory| recent.messages.iter().map(|m| m.json.len()).sum()))
        .or_else(|| optional(any, |page: &LinePage| page.lines.len()))
        .or_else(|| optional(any, |piece: &SnapshotPiece| piece.data.len()))
        .or_else(|| optional(any, |block: &Block| block.content.len()))
        .or_else(|| optional(any, |blocks: &Vec<Block>| blocks.iter().map(|block| block.content.len()).sum()));
    u64::try_from(found.unwrap_or(0)).unwrap_or(u64::MAX)
}

fn messages(page: &MessagePage) -> usize {
    page.messages.iter().map(|message| message.json.len()).sum()
}

/// The weight of an answer of this type, or of one that may be none.
fn optional<T: 'static>(answer: &dyn Any, weigh: impl Fn(&T) -> usize) -> Option<usize> {
    let some = answer.downcast_ref::<Option<T>>();
    match some {
        Some(found) => Some(found.as_ref().map_or(0, weigh)),
        None => answer.downcast_ref::<T>().map(weigh),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_weighs_what_it_has_in_bytes_and_the_rest_nothing() {
        assert_eq!(weight(&"é".to_owned()), 2);
        assert_eq!(weight(&Some("abc".to_owned())), 3);
        assert_eq!(weight(&None::<String>), 0);
        assert_eq!(weight(&LinePage { lines: "{}\n".to_owned(), cursor: None }), 3);
        assert_eq!(weight(&Some(SearchPage { results: Vec::new(), cursor: None })), 0);
        assert_eq!(weight(&7_u32) + weight(&()) + weight(&vec![true]), 0);
    }
}
