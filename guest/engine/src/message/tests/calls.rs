//! Which parts are calls and results, and that a column gives them back.

use proptest::prelude::*;

use super::message;
use crate::message::{Call, CallKind, Incoming, decode, encode};

fn calls(parts: &str) -> Vec<(String, CallKind)> {
    let text = message(parts);
    Incoming::parse(&text).unwrap().derived().calls.into_iter().map(|call| (call.id, call.kind)).collect()
}

fn one(part: &str) -> Option<(String, CallKind)> {
    let mut calls = calls(&format!("[{part}]"));
    assert!(calls.len() < 2);
    calls.pop()
}

#[test]
fn parts_are_calls_results_or_both_by_type_and_output() {
    use CallKind::{Answered, Call, Result};
    for (part, kind) in [
        (r#"{"type":"tool-search","toolCallId":"1","state":"input-available","input":{}}"#, Some(Call)),
        (r#"{"type":"tool-search","toolCallId":"1","state":"output-available","input":{},"output":1}"#, Some(Answered)),
        (r#"{"type":"tool-search","toolCallId":"1","state":"output-available","output":null}"#, Some(Answered)),
        (r#"{"type":"tool-search","toolCallId":"1","output":null}"#, Some(Answered)),
        (r#"{"output":null,"type":"tool-search","toolCallId":"1","state":"input-streaming"}"#, Some(Call)),
        (r#"{"type":"tool-search","toolCallId":"1","errorText":"no"}"#, Some(Answered)),
        (r#"{"type":"tool-search","toolCallId":"1","errorText":null}"#, Some(Call)),
        (r#"{"type":"dynamic-tool","toolName":"x","toolCallId":"1"}"#, Some(Call)),
        (r#"{"output":{"a":[]},"toolCallId":"1","type":"dynamic-tool"}"#, Some(Answered)),
        (r#"{"type":"tool-call","toolCallId":"1"}"#, Some(Call)),
        (r#"{"type":"tool-call","toolCallId":"1","output":"a tool of the name call"}"#, Some(Answered)),
        (r#"{"type":"tool_use","id":"1"}"#, Some(Call)),
        (r#"{"type":"toolCall","id":"1","arguments":{"output":1}}"#, Some(Call)),
        (r#"{"type":"server_tool_use","id":"1"}"#, Some(Call)),
        (r#"{"type":"tool-result","toolCallId":"1","output":{}}"#, Some(Result)),
        (r#"{"type":"tool_result","tool_use_id":"1"}"#, Some(Result)),
        (r#"{"type":"toolResult","tool_call_id":"1"}"#, Some(Result)),
        (r#"{"type":"web_search_tool_result","tool_use_id":"1"}"#, Some(Result)),
        (r#"{"\u0074ype":"toolResult","tool\u0043allId":"\u0031"}"#, Some(Result)),
        (r#"{"type":"text","text":"tool_use","toolCallId":"1"}"#, None),
        (r#"{"type":"data-tool","id":"1"}"#, None),
        (r#"{"toolCallId":"1"}"#, None),
    ] {
        assert_eq!(one(part), kind.map(|kind| ("1".to_owned(), kind)), "{part}");
    }
}

#[test]
fn ids_are_taken_as_they_are_empty_and_repeated_ones_too() {
    for (part, id) in [
        (r#"{"type":"tool_use"}"#, ""),
        (r#"{"type":"tool_use","id":""}"#, ""),
        (r#"{"type":"tool_use","id":null}"#, ""),
        (r#"{"type":"tool_use","id":17}"#, "17"),
        (r#"{"type":"tool_use","id":"a\n\"\u0000\\"}"#, "a\n\"\0\\"),
        (r#"{"type":"tool_result","id":"block","tool_use_id":"call"}"#, "call"),
        (r#"{"type":"tool_result","id":"block","toolCallId":"call"}"#, "call"),
    ] {
        assert_eq!(one(part).unwrap().0, id, "{part}");
    }
    let parts =
        r#"["x",{"type":"tool_use","id":"1"},7,[{"type":"tool_use","id":"no part"}],{"type":"tool_use","id":"1"}]"#;
    assert_eq!(calls(parts), [("1".to_owned(), CallKind::Call), ("1".to_owned(), CallKind::Call)]);
}

#[test]
fn nothing_is_kept_of_a_message_without_calls() {
    assert_eq!(encode(&[]), None);
    assert_eq!(decode(""), []);
}

#[test]
fn garbage_in_the_column_gives_no_calls() {
    for text in ["x", "c1\n", "\n", "c1\nx2", "c\\", "c\\x", "{}", "é"] {
        assert_eq!(decode(text), [], "{text:?}");
    }
}

proptest! {
    #[test]
    fn calls_come_back_from_the_column(
        ids in prop::collection::vec((prop_oneof![".{0,8}", "[\\\\\n0n\0]{0,6}"], 0..3usize), 1..6)
    ) {
        let kinds = [CallKind::Call, CallKind::Result, CallKind::Answered];
        let calls: Vec<Call> = ids.into_iter().map(|(id, kind)| Call { id, kind: kinds[kind] }).collect();
        let text = encode(&calls).unwrap();
        prop_assert!(!text.contains('\0'));
        prop_assert_eq!(decode(&text), calls);
    }

    #[test]
    fn the_column_may_hold_anything(text in "\\PC{0,20}|[cra\\\\n0\n]{0,20}") {
        decode(&text);
    }
}
