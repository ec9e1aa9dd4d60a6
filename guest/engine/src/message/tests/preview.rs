//! The line in a list.

use super::message;
use crate::message::preview;

fn of(parts: &str) -> String {
    preview(&message(parts), 120)
}

#[test]
fn text_parts_are_joined_onto_one_line() {
    assert_eq!(
        of(
            r#"[{"type":"text","text":"  a\n\n\tb\u0007\u001b[1m c "},{"type":"text","text":"d\u2028e"},{"type":"text","text":""}]"#
        ),
        "a b [1m c d e"
    );
    assert_eq!(of(r#"[{"text":"last","type":"text"},{"type":"tool-x"},{"type":"reasoning","text":"no"}]"#), "last");
    assert_eq!(of(r#"[{"type":"text","text":"\ud83d\ude00 \ud83d \u00e9\/\""}]"#), "😀 \u{fffd} é/\"");
    assert_eq!(preview(r#"{"parts":[{"type":"text","text":"x"}],"id":1}"#, 5), "x");
}

#[test]
fn it_is_cut_between_characters() {
    let text = message(r#"[{"type":"text","text":"日本語 で"},{"type":"text","text":"x"}]"#);
    for (limit, line) in [
        (0, ""),
        (2, "日本"),
        (4, "日本語 "),
        (5, "日本語 で"),
        (6, "日本語 で "),
        (7, "日本語 で x"),
        (99, "日本語 で x"),
    ] {
        assert_eq!(preview(&text, limit).trim_end(), line.trim_end(), "{limit}");
        assert!(preview(&text, limit).chars().count() <= limit);
    }
    let long = message(&format!(r#"[{{"type":"text","text":"{}"}}]"#, "é".repeat(500)));
    assert_eq!(preview(&long, 120), "é".repeat(120));
}

#[test]
fn a_message_without_text_shows_what_it_holds() {
    for (parts, line) in [
        (r#"[{"type":"step-start"},{"type":"tool-search","toolCallId":"1","input":{}}]"#, "[tool-call search]"),
        (
            r#"[{"type":"tool-search","output":1},{"type":"dynamic-tool","toolName":"x y"}]"#,
            "[tool-call search] [tool-call x y]",
        ),
        (r#"[{"type":"tool-call","toolName":"search"}]"#, "[tool-call search]"),
        (r#"[{"type":"tool_use","name":"search"},{"type":"tool_result"}]"#, "[tool-call search] [tool-result]"),
        (r#"[{"type":"toolResult","toolName":"search"}]"#, "[tool-result search]"),
        (r#"[{"type":"file","mediaType":"image\/png","url":"data:,"}]"#, "[image/png]"),
        (r#"[{"type":"image","mimeType":"image/png","data":""},{"type":"file"}]"#, "[image/png] [file]"),
        (
            r#"[{"type":"text","text":" \n"},{"type":"reasoning","text":"hm"},{"type":"data-weather"}]"#,
            "[reasoning] [data-weather]",
        ),
        ("[]", ""),
        (r#"[1,"x",null,{}]"#, ""),
    ] {
        assert_eq!(of(parts), line, "{parts}");
    }
}

#[test]
fn a_text_that_is_cut_off_shows_what_is_there() {
    let whole = message(r#"[{"type":"text","text":"first"},{"type":"text","text":"second"}]"#);
    for end in 0..whole.len() {
        let line = preview(&whole[..end], 120);
        assert!("first second".starts_with(&line), "{line}");
    }
    assert_eq!(preview(&whole[..whole.find("second").unwrap()], 120), "first");
}
