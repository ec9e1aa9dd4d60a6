//! Which messages are accepted, in which form they are kept, and what is said of those that are not.

use crate::error::{Error, Kind};
use crate::message::json::MAX_DEPTH;
use crate::message::{Incoming, MAX_ID_BYTES};

fn refused(text: &str) -> Error {
    let error = Incoming::parse(text).expect_err(text);
    assert_eq!(error.kind, Kind::InvalidMessage, "{text}");
    error
}

#[test]
fn what_is_said_comes_back_as_it_was_written() {
    for text in [
        r#"{"id":"a","role":"user","parts":[]}"#,
        r#"{"z":18446744073709551616,"y":1.0,"x":1e3,"w":-0,"id":"a","role":"user","parts":[{"a":1E+400}]}"#,
        r#"{"id":"a","role":"user","parts":[{"type":"text","text":"\ud83d \u0000 \/ \udc00 \u00e9 é"}]}"#,
        r#"{"id":"a","role":"user","parts":[{"k":1,"k":2}],"other":1,"other":2}"#,
        "{\"id\":\"a\",\"role\":\"user\",\"parts\":[\"\u{feff} two  spaces\u{2028}\"]}",
        r#"{"id":"a\"b\\","role":"anything at all","parts":[null,true,false,[],{}]}"#,
    ] {
        let message = Incoming::parse(text).unwrap();
        assert_eq!(message.text(), text);
        assert!(matches!(message.into_text(), std::borrow::Cow::Borrowed(_)), "copied without need: {text}");
    }
}

#[test]
fn only_white_space_outside_strings_goes() {
    let spaced = "\t{ \"id\" :\r\n\"a \\\" b\" ,\"role\": \"user\", \"parts\" : [ 1 , \" x \\\\\" , { } ] }\n ";
    let message = Incoming::parse(spaced).unwrap();
    assert_eq!(message.text(), r#"{"id":"a \" b","role":"user","parts":[1," x \\",{}]}"#);
    assert_eq!(message.id(), "a \" b");
}

#[test]
fn id_and_role_are_unescaped() {
    let message = Incoming::parse(r#"{"\u0069d":"\u0061\ud83d\ude00\n","role":"us\u0065r","parts":[]}"#).unwrap();
    assert_eq!((message.id(), message.role()), ("a😀\n", "user"));
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    for (text, at) in [
        ("", 0),
        ("nonsense", 0),
        ("\u{feff}{\"id\":\"a\",\"role\":\"u\",\"parts\":[]}", 0),
        (r#"{"id":"a","role":"u","parts":[]"#, 31),
        (r#"{"id":"a","role":"u","parts":[]}}"#, 32),
        (r#"{"id":"a","role":"u","parts":[]} x"#, 33),
        (r#"{"id":"a","role":"u","parts":[],}"#, 32),
        (r#"{"id":"a","role":"u","parts":[1,]}"#, 32),
        (r#"{"id":"a","role":"u","parts":[01]}"#, 31),
        (r#"{"id":"a","role":"u","parts":[+1]}"#, 30),
        (r#"{"id":"a","role":"u","parts":[.5]}"#, 30),
        (r#"{"id":"a","role":"u","parts":[1.]}"#, 32),
        (r#"{"id":"a","role":"u","parts":[1e]}"#, 32),
        (r#"{"id":"a","role":"u","parts":[-]}"#, 31),
        (r#"{"id":"a","role":"u","parts":[NaN]}"#, 30),
        (r#"{"id":"a","role":"u","parts":[tru]}"#, 30),
        (r#"{"id":"a","role":"u","parts":[nullx]}"#, 34),
        (r#"{"id":"a","role":"u","parts":['x']}"#, 30),
        (r#"{"id":"a","role":"u","parts":["\x"]}"#, 31),
        (r#"{"id":"a","role":"u","parts":["\u12g4"]}"#, 31),
        (r#"{"id":"a","role":"u","parts":["open]}"#, 30),
        (r#"{"id":"a","role":"u","parts":[}]}"#, 30),
        (r#"{"id":"a","role":"u","parts":[{]}"#, 31),
        (r#"{"id":"a","role":"u","parts"[]}"#, 28),
        (r#"{"id":"a","role":"u",parts:[]}"#, 21),
        ("{\"id\":\"a\",\"role\":\"u\",\"parts\":[\"a\tb\"]}", 32),
        ("{\"id\":\"a\",\"role\":\"u\",\u{a0}\"parts\":[]}", 21),
        ("{\"id\":\"a\",\"role\":\"u\",\"parts\":[]}\0", 32),
    ] {
        let error = refused(text);
        assert!(error.message.contains("not JSON"), "{text}: {error}");
        assert!(error.message.ends_with(&format!("at byte {at}")), "{text}: {error}");
    }
}

#[test]
fn what_is_no_object_is_refused() {
    for (text, noun) in [("[]", "an array"), ("\"x\"", "a string"), ("1", "a number"), ("null", "null")] {
        assert!(refused(text).message.contains(noun), "{text}");
    }
}

#[test]
fn the_member_that_is_wrong_is_named_with_its_place() {
    for (text, words) in [
        (r#"{"role":"u","parts":[]}"#, "`id` is missing"),
        (r#"{"id":1,"role":"u","parts":[]}"#, "`id` is a number, not a string, at byte 6"),
        (r#"{"id":null,"role":"u","parts":[]}"#, "`id` is null"),
        (r#"{"id":"","role":"u","parts":[]}"#, "`id` is empty, at byte 6"),
        (r#"{"id":"\ud800","role":"u","parts":[]}"#, "`id` holds half of a surrogate pair"),
        (r#"{"id":"\udc00\ud800","role":"u","parts":[]}"#, "`id` holds half of a surrogate pair"),
        (r#"{"id":"a","parts":[]}"#, "`role` is missing"),
        (r#"{"id":"a","role":{},"parts":[]}"#, "`role` is an object, not a string, at byte 17"),
        (r#"{"id":"a","role":"","parts":[]}"#, "`role` is empty"),
        (r#"{"id":"a","role":"\ud83dx","parts":[]}"#, "`role` holds half of a surrogate pair"),
        (r#"{"id":"a","role":"u"}"#, "`parts` is missing"),
        (r#"{"id":"a","role":"u","parts":{}}"#, "`parts` is an object, not an array, at byte 29"),
        (r#"{"id":"a","role":"u","parts":"x"}"#, "`parts` is a string"),
        (r#"{"id":"a","role":"u","parts":[],"id":"a"}"#, "`id` is there twice, the second time at byte 32"),
        (r#"{"id":"a","role":"u","parts":[],"\u0069\u0064":"b"}"#, "`id` is there twice"),
        (r#"{"id":"a","role":"u","parts":[],"role":"u"}"#, "`role` is there twice"),
        (r#"{"id":"a","role":"u","parts":[],"parts":[]}"#, "`parts` is there twice"),
        (r#"{"id":"a","metadata":1,"role":"u","parts":[],"meta\u0064ata":1}"#, "`metadata` is there twice"),
        (r#"{"id":"compaction_1","role":"u","parts":[]}"#, "`id` begins with `compaction_`"),
        (r#"{"id":"\u0063ompaction_","role":"u","parts":[]}"#, "`id` begins with `compaction_`"),
    ] {
        let error = refused(text);
        assert!(error.message.contains(words), "{text}: {error}");
    }
}

#[test]
fn an_error_names_the_message_where_its_id_is_known() {
    for text in [
        r#"{"id":"m\u0031","parts":[]}"#,
        r#"{"role":1,"parts":[],"id":"m1"}"#,
        r#"{"id":"m1","role":"u","parts":[1,]}"#,
        r#"{"parts":1,"role":"u","id":"m1"}"#,
    ] {
        assert_eq!(refused(text).subject.as_deref(), Some("m1"), "{text}");
    }
    assert_eq!(refused(r#"{"role":"u","parts":[]}"#).subject, None);
}

#[test]
fn an_id_may_have_1024_bytes_unescaped_and_not_one_more() {
    let with_id = |id: &str| format!(r#"{{"id":"{id}","role":"u","parts":[]}}"#);
    let escaped = with_id(&r"\u00e9".repeat(MAX_ID_BYTES / 2));
    assert_eq!(Incoming::parse(&escaped).unwrap().id().len(), MAX_ID_BYTES);
    assert_eq!(Incoming::parse(&with_id(&"x".repeat(MAX_ID_BYTES))).unwrap().id().len(), MAX_ID_BYTES);
    let error = refused(&with_id(&"x".repeat(MAX_ID_BYTES + 1)));
    assert_eq!((error.current, error.limit), (Some(1025), Some(1024)));
    assert_eq!(error.subject, None, "an id that is too long is not repeated");
    refused(&with_id(&r"\u00e9".repeat(MAX_ID_BYTES / 2 + 1)));
}

#[test]
fn a_message_may_be_nested_128_deep_and_not_one_deeper() {
    let nested = |inside: usize, open: &str, close: &str| {
        let value = format!("{}1{}", open.repeat(inside), close.repeat(inside));
        format!(r#"{{"id":"a","role":"u","parts":[],"deep":{value}}}"#)
    };
    let most = MAX_DEPTH as usize - 1;
    for (open, close) in [("[", "]"), (r#"{"k":"#, "}")] {
        assert!(Incoming::parse(&nested(most, open, close)).is_ok());
        let error = refused(&nested(most + 1, open, close));
        assert!(error.message.contains("nested deeper than 128"), "{error}");
        assert_eq!((error.limit, error.subject.as_deref()), (Some(128), Some("a")));
        // However deep, no stack is used for it.
        refused(&nested(1_000_000, open, close));
    }
    // The same depth beside each other is no depth.
    let side_by_side = format!(r#"{{"id":"a","role":"u","parts":[{}1]}}"#, "[[[]]],".repeat(1000));
    assert!(Incoming::parse(&side_by_side).is_ok());
}

#[test]
fn the_names_count_at_the_top_only() {
    let text = r#"{"parts":[{"id":1,"id":2,"role":null,"parts":3,"metadata":4,"metadata":5}],"id":"a","role":"u"}"#;
    assert!(Incoming::parse(text).is_ok());
}
