//! What holds for every text.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::value::RawValue;

use super::generate::{inside, message, value};
use super::keys;
use crate::message::json::{Event, Problem, Reader, compact};
use crate::message::{Incoming, preview, same_without_reserved};

/// Reads a text to its end.
fn read(text: &str) -> Result<(), Problem> {
    let mut reader = Reader::new(text);
    while reader.pull().map_err(|fault| fault.problem)?.is_some() {}
    Ok(())
}

/// Everything that may be done to a text, for its panics.
fn try_everything(text: &str) {
    let keys = keys(&["owner"]);
    if let Ok(message) = Incoming::parse(text) {
        message.derived();
        let stripped = message.clone().without_reserved(&keys);
        assert!(Incoming::parse(stripped.text()).is_ok());
        if let Ok(kept) = message.keeping_reserved(text, &keys) {
            assert!(Incoming::parse(kept.text()).is_ok());
        }
    }
    preview(text, 40);
    same_without_reserved(text, r#"{"metadata":{"owner":1}}"#, &keys);
    crate::message::tokens::estimate(text);
    compact(text);
}

/// A text with something changed at a place.
fn mutated(text: &str, place: Index, length: usize, with: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = place.index(chars.len() + 1);
    let end = (at + length).min(chars.len());
    chars[..at].iter().copied().chain(with.chars()).chain(chars[end..].iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_message_is_kept_without_white_space_and_otherwise_as_written((_, written) in message()) {
        let parsed = Incoming::parse(&written.spaced).unwrap();
        prop_assert_eq!(parsed.text(), &written.compact);
        prop_assert_eq!((parsed.id(), parsed.role()), ("m1", "user"));
        let again = Incoming::parse(parsed.text()).unwrap();
        prop_assert_eq!(again.text(), parsed.text());
        prop_assert_eq!(again.derived(), parsed.derived());
    }

    #[test]
    fn only_reserved_members_leave((message, written) in message()) {
        let keys = keys(&["owner"]);
        let stripped = Incoming::parse(&written.spaced).unwrap().without_reserved(&keys);
        let expected = message.written(|reserved| !reserved);
        prop_assert_eq!(stripped.text(), &expected.compact);
        prop_assert!(same_without_reserved(&written.compact, &expected.compact, &keys));
        // What was put back is what was taken, and only that.
        let back = stripped.clone().keeping_reserved(&written.compact, &keys).unwrap();
        prop_assert!(same_without_reserved(back.text(), &written.compact, &keys));
        let bare = back.clone().without_reserved(&keys);
        if stripped.text().contains("\"metadata\":{}") {
            prop_assert!(same_without_reserved(bare.text(), stripped.text(), &keys));
        } else {
            prop_assert_eq!(bare.text(), stripped.text());
        }
        if let Some(metadata) = &message.metadata {
            for (reserved, member) in metadata {
                prop_assert!(!reserved || back.text().contains(&member.compact));
            }
        }
    }

    #[test]
    fn json_is_what_another_reader_takes_for_json(
        written in value(), place: Index, length in 0..3usize,
        with in prop_oneof!["", "[\\[\\]{}:,\"\\\\0-9.eE+\\-tfnu \n\t\u{1}\u{feff}a]{0,2}"],
    ) {
        let text = mutated(&written.spaced, place, length, &with);
        let theirs = serde_json::from_str::<&RawValue>(&text);
        match read(&text) {
            Err(Problem::TooDeep) => {}
            ours => prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}: {:?} {:?}", text, ours, theirs),
        }
        try_everything(&text);
    }

    #[test]
    fn a_broken_message_breaks_nothing(
        (_, written) in message(), place: Index, length in 0..40usize,
        with in "[\\[\\]{}:,\"\\\\ud0é😀]{0,3}",
    ) {
        try_everything(&mutated(&written.spaced, place, length, &with));
    }

    #[test]
    fn bytes_of_any_kind_break_nothing(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        try_everything(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_string_says_what_another_reader_understands(inside in inside(), padding in "[a-z]{0,9}") {
        let text = format!("\"{padding}{inside}\"");
        let Ok(Some(Event::String(raw))) = Reader::new(&text).pull() else { panic!("no string: {text}") };
        let theirs = serde_json::from_str::<String>(&text).ok();
        let ours = raw.unescape_exact();
        prop_assert_eq!(ours.as_deref(), theirs.as_deref());
        if let Some(said) = theirs {
            prop_assert!(raw.is(&said));
            let longer = said.clone() + "x";
            prop_assert!(!raw.is(&longer));
            prop_assert_eq!(raw.unescape(), said);
        } else {
            prop_assert!(raw.unescape().contains(char::REPLACEMENT_CHARACTER));
            prop_assert!(!raw.is(&raw.unescape()));
        }
    }

    #[test]
    fn spans_are_where_the_values_stand(written in value()) {
        let mut reader = Reader::new(&written.spaced);
        let span = reader.skip_value().unwrap();
        prop_assert_eq!(&written.spaced[span], written.spaced.trim_matches([' ', '\n', '\r', '\t']));
        prop_assert_eq!(reader.pull(), Ok(None));
        prop_assert_eq!(reader.depth(), 0);
        prop_assert_eq!(reader.spaced(), written.spaced != written.compact);
        prop_assert_eq!(compact(&written.spaced), written.compact);
    }
}
