//! `ai-sdk`: AI SDK `UIMessage`s, each of which is stored as it stands.
//!
//! Accepted are an array of messages, an object with `messages` (a chat; its `id` names the session, its `title` is
//! reported), an array of such objects, and JSON Lines of either. Messages are a chain in their order. The time is
//! `createdAt` or `metadata.createdAt`, in ms, seconds or ISO 8601.
//!
//! A message without an id of use (none, no string, blank, above 1,024 bytes, one that belongs to summaries) is given
//! one that is made from its text and place; `originalId` then holds what was there.

use std::io;

use super::{
    chains::{self, Link},
    format::{Likeness, Rules},
    input::Input,
    json::{self, Members, Writer},
    outline::Outline,
    plan::Sources,
    time,
};

/// The rules of the format.
pub(crate) struct AiSdk;

impl Rules for AiSdk {
    fn likeness(&self, head: &[u8], _name: &str) -> Likeness {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let [first, rest @ ..] = head else { return Likeness::No };
        let has = |key: &[u8]| rest.windows(key.len()).any(|window| window == key);
        match first {
            b'[' | b'{' if has(b"\"parts\"") && has(b"\"role\"") => Likeness::Sure,
            b'[' if rest.trim_ascii_start().starts_with(b"]") => Likeness::Maybe,
            b'{' if has(b"\"messages\"") => Likeness::Maybe,
            // The first message may be longer than what is looked at.
            b'[' | b'{' if has(b"\"role\"") && !has(b"\"content\"") => Likeness::Maybe,
            _ => Likeness::No,
        }
    }

    fn survey(&self, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
        chains::survey(&AiSdk, input, outline)
    }

    fn message(&self, sources: &Sources<'_>) -> Result<String, String> {
        let members = Members::of(sources.record.as_bytes());
        if members.text("id").as_deref() == Some(sources.id) {
            return Ok(sources.record.to_owned());
        }
        let mut message = Writer::object();
        message.put_text("id", sources.id);
        for member in members.iter().filter(|member| !json::same_key(member.key, "id")) {
            message.copy(member);
        }
        if let Some(original) = members.get("id") {
            message.put("originalId", original);
        }
        Ok(message.end())
    }
}

impl Link for AiSdk {
    fn content(&self) -> &'static [&'static str] {
        &["parts"]
    }

    fn lacks(&self, members: &Members<'_>) -> Option<&'static str> {
        if !members.get("role").is_some_and(|role| role.starts_with('"') && role.len() > 2) {
            return Some("no UIMessage: it has no `role`");
        }
        if !members.get("parts").is_some_and(|parts| parts.starts_with('[')) {
            return Some("no UIMessage: it has no `parts`");
        }
        None
    }

    fn is_certain(&self, members: &Members<'_>) -> bool {
        members.text("id").is_some() && self.lacks(members).is_none()
    }

    fn created_at(&self, members: &Members<'_>) -> Option<i64> {
        let metadata = || {
            Members::of(members.get("metadata").unwrap_or_default().as_bytes()).get("createdAt").and_then(time::of_json)
        };
        members.get("createdAt").and_then(time::of_json).or_else(metadata)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::import::plan::Plan;

    fn records(text: &[u8]) -> (Plan, Vec<(String, Option<String>, String)>) {
        let mut plan = Plan::new(&AiSdk, Input::bytes("", text).unwrap()).unwrap();
        let mut all = Vec::new();
        while let Some(record) = plan.advance().unwrap() {
            all.push((record.id, record.parent_id, record.message));
        }
        (plan, all)
    }

    fn ids(text: &str) -> Vec<String> {
        records(text.as_bytes()).1.into_iter().map(|(id, ..)| id).collect()
    }

    fn message(id: &str) -> String {
        format!("{{\"id\":\"{id}\",\"role\":\"user\",\"parts\":[{{\"type\":\"text\",\"text\":\"says {id}\"}}]}}")
    }

    #[test]
    fn every_accepted_shape_gives_the_same_chain() {
        let (a, b) = (message("a"), message("b"));
        for text in [
            format!("[{a},{b}]"),
            format!("\u{feff}[\n  {a},\r\n  {b}\n]\n"),
            format!("{{\"messages\":[{a},{b}]}}"),
            format!("{{\"id\":\"c\", \"messages\": [{a},{b}], \"title\":\"T\"}}"),
            format!("{{\n\"title\":\"T\",\n\"messages\":[{a},{b}],\"id\":\"c\"}}"),
            format!("[{{\"id\":\"c\",\"messages\":[{a},{b}]}}]"),
            format!("{a}\n{b}"),
            format!("{a}\r\n{b}\r\n"),
            format!("{{\"id\":\"c\",\"messages\":[{a},{b}]}}\n{{\"id\":\"d\",\"messages\":[]}}"),
        ] {
            let (plan, all) = records(text.as_bytes());
            let expected = [("a".to_owned(), None, a.clone()), ("b".to_owned(), Some("a".to_owned()), b.clone())];
            assert_eq!(all, expected, "{text}");
            assert!(plan.outline.sessions[0].report.failed.is_empty());
            if text.contains("\"c\"") {
                assert_eq!(plan.outline.sessions[0].hint.as_deref(), Some("c"), "{text}");
            }
            if text.contains("\"T\"") {
                assert_eq!(plan.outline.sessions[0].report.title.as_deref(), Some("T"), "{text}");
            }
            assert_eq!(plan.leaf(0).as_deref(), Some("b"));
        }
    }

    #[test]
    fn a_message_is_taken_byte_for_byte() {
        let odd = "{ \"parts\" : [], \"n\":[1.0,1e3,18446744073709551616,-0,1e400],\"role\":\"x\\ud83d\\/\",\"id\":\"\\u0061\",\"k\":1,\"k\":\"\u{2028}\\u0000\" }";
        let (_, all) = records(format!("[{odd}]").as_bytes());
        assert_eq!(all[0], ("a".to_owned(), None, odd.to_owned()));
    }

    #[test]
    fn a_message_without_an_id_of_use_gets_a_stable_one() {
        let text = r#"[{"role":"user","parts":[]},{"role":"user","parts":[]},{"id":7,"role":"user","parts":[]},
            {"id":"compaction_1","role":"user","parts":[]},{"id":"","role":"user","parts":[]}]"#;
        let (_, first) = records(text.as_bytes());
        let (_, second) = records(text.as_bytes());
        assert_eq!(first, second);
        let mut distinct: Vec<_> = first.iter().map(|(id, ..)| id).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 5);
        assert!(first[0].2.starts_with("{\"id\":\"imported-"));
        assert!(first[2].2.ends_with(",\"originalId\":7}"), "{}", first[2].2);
        assert!(first[3].2.ends_with(",\"originalId\":\"compaction_1\"}"));
    }

    #[test]
    fn a_torn_list_gives_what_came_before_the_tear() {
        let whole = format!("[{},{},{}]", message("a"), message("b"), message("é"));
        let one = message("a").len() + 1;
        for cut in 1..whole.len() {
            let (plan, all) = records(&whole.as_bytes()[..cut]);
            let whole_ones = if cut < one {
                0
            } else if cut < 2 * one {
                1
            } else if cut < whole.len() - 1 {
                2
            } else {
                3
            };
            assert_eq!(all.len(), whole_ones, "cut at {cut}");
            let failed = &plan.outline.sessions[0].report.failed;
            assert_eq!(failed.total() + plan.outline.failed.total(), 1, "cut at {cut}");
        }
    }

    #[test]
    fn damage_inside_a_list_costs_one_message() {
        let (a, b, c) = (message("a"), message("b"), message("c"));
        for bad in [
            message("b").replace("says", "sa\0ys"),
            message("b").replace("says b\"}", "says\0\0\0\0\0\0\0\0"),
            "\0\0\0\0".to_owned(),
            "12".to_owned(),
            "{\"id\":\"b\"}".to_owned(),
            "{\"id\":\"b\",\"role\":\"user\",\"content\":\"old\"}".to_owned(),
            "{\"id\":\"b\",\"role\":\"user\",\"parts\":[tru]}".to_owned(),
            "[[]]".to_owned(),
        ] {
            let text = format!("[{a},{bad},{c}]");
            assert_eq!(ids(&text), ["a", "c"], "{text:?}");
            let (plan, all) = records(text.as_bytes());
            assert_eq!(all[1].1.as_deref(), Some("a"));
            assert_eq!(plan.outline.sessions[0].report.failed.total(), 1, "{text:?}");
        }
        let mut bytes = format!("[{a},{b},{c}]").into_bytes();
        let at = a.len() + 30;
        bytes[at] = 0xff;
        let (plan, all) = records(&bytes);
        assert_eq!(all.len(), 2);
        assert!(plan.outline.sessions[0].report.failed.listed()[0].why.starts_with("no UTF-8"));
    }

    #[test]
    fn several_chats_are_several_sessions() {
        let text = format!(
            "[{{\"id\":\"x\",\"messages\":[{}]}},{{\"id\":\"y\",\"messages\":[{},{{\"bad\":1}}]}}]",
            message("a"),
            message("a")
        );
        let (plan, all) = records(text.as_bytes());
        assert_eq!(all.len(), 2);
        let hints: Vec<_> = plan.outline.sessions.iter().map(|session| session.hint.as_deref()).collect();
        assert_eq!(hints, [Some("x"), Some("y")]);
        assert_eq!(plan.outline.sessions[1].report.failed.listed()[0].place, "conversation 2, message 2");
    }

    #[test]
    fn repeated_ids_lose_nothing() {
        let other = message("a").replace("says", "shouts");
        let text = format!("[{},{},{other},{}]", message("a"), message("a"), message("b"));
        assert_eq!(ids(&text), ["a", "a~2", "b"]);
        let (_, all) = records(text.as_bytes());
        assert!(all[1].2.ends_with("\"originalId\":\"a\"}"));
        assert_eq!(all[2].1.as_deref(), Some("a~2"));
    }

    #[test]
    fn empty_input_is_reported_and_no_error() {
        for text in ["", " \n", "\u{feff}"] {
            let (plan, all) = records(text.as_bytes());
            assert!(all.is_empty());
            assert_eq!(plan.outline.failed.listed()[0].why, "the input is empty");
        }
        assert!(records(b"[]").0.outline.failed.is_empty());
    }
}
