//! The reserved keys of the metadata: what clients can neither write nor lose.

use super::keys;
use crate::error::Kind;
use crate::message::{Incoming, same_without_reserved};

fn stripped(text: &str) -> String {
    Incoming::parse(text).unwrap().without_reserved(&keys(&["owner", "trust"])).into_text().into_owned()
}

fn kept(text: &str, stored: &str) -> crate::error::Result<String> {
    Incoming::parse(text)
        .unwrap()
        .keeping_reserved(stored, &keys(&["owner", "trust"]))
        .map(|message| message.into_text().into_owned())
}

#[test]
fn reserved_keys_leave_and_all_else_stays_as_written() {
    for (before, after) in [
        (
            r#"{"id":"a","role":"u","metadata":{"owner":1,"x":1.0,"trust":[{"a":"}"}],"x":2},"parts":[]}"#,
            r#"{"id":"a","role":"u","metadata":{"x":1.0,"x":2},"parts":[]}"#,
        ),
        (
            r#"{"id":"a","role":"u","metadata":{"x":"\u0041","\u006fwner":1,"owner":2,"own\u0065r":3},"parts":[]}"#,
            r#"{"id":"a","role":"u","metadata":{"x":"\u0041"},"parts":[]}"#,
        ),
        // The member goes when nothing is left, wherever it stands.
        (r#"{"metadata":{"owner":1},"id":"a","role":"u","parts":[]}"#, r#"{"id":"a","role":"u","parts":[]}"#),
        (r#"{"id":"a","metadata":{"owner":1},"role":"u","parts":[]}"#, r#"{"id":"a","role":"u","parts":[]}"#),
        (r#"{"id":"a","role":"u","parts":[],"metadata":{"owner":1}}"#, r#"{"id":"a","role":"u","parts":[]}"#),
        (
            r#"{"id":"a","role":"u","parts":[],"meta\u0064ata":{"trust":{},"owner":1}}"#,
            r#"{"id":"a","role":"u","parts":[]}"#,
        ),
        // White space between them is no hindrance.
        (
            r#"{ "id": "a", "role": "u", "metadata": { "owner": 1, "x": [ 2 ] }, "parts": [ ] }"#,
            r#"{"id":"a","role":"u","metadata":{"x":[2]},"parts":[]}"#,
        ),
    ] {
        assert_eq!(stripped(before), after, "{before}");
    }
}

#[test]
fn what_has_no_reserved_key_is_not_touched() {
    for text in [
        r#"{"id":"a","role":"u","parts":[{"metadata":{"owner":1}}],"owner":1}"#,
        r#"{"id":"a","role":"u","parts":[],"metadata":{}}"#,
        r#"{"id":"a","role":"u","parts":[],"metadata":{"Owner":1,"owner ":2,"x":{"owner":3}}}"#,
        r#"{"id":"a","role":"u","parts":[],"metadata":null}"#,
        r#"{"id":"a","role":"u","parts":[],"metadata":"owner"}"#,
        r#"{"id":"a","role":"u","parts":[],"metadata":[{"owner":1}]}"#,
    ] {
        assert_eq!(stripped(text), text);
    }
    let text = r#"{"id":"a","role":"u","parts":[],"metadata":{"owner":1}}"#;
    assert_eq!(Incoming::parse(text).unwrap().without_reserved(&[]).text(), text);
}

#[test]
fn an_update_keeps_the_stored_reserved_values_behind_its_own() {
    let stored = r#"{"id":"a","role":"u","metadata":{"owner":{"n":1.0},"y":1,"\u0074rust":"\ud83d"},"parts":[]}"#;
    let members = r#""owner":{"n":1.0},"\u0074rust":"\ud83d""#;
    for (brought, result) in [
        (
            r#"{"id":"a","role":"u","metadata":{"x":1,"owner":2},"parts":[1]}"#,
            format!(r#"{{"id":"a","role":"u","metadata":{{"x":1,{members}}},"parts":[1]}}"#),
        ),
        (
            r#"{"id":"a","role":"u","metadata":{"owner":2},"parts":[1]}"#,
            format!(r#"{{"id":"a","role":"u","metadata":{{{members}}},"parts":[1]}}"#),
        ),
        (
            r#"{"id":"a","role":"u","metadata":{},"parts":[1]}"#,
            format!(r#"{{"id":"a","role":"u","metadata":{{{members}}},"parts":[1]}}"#),
        ),
        (
            r#"{"id":"a","role":"u","metadata":null,"parts":[1]}"#,
            format!(r#"{{"id":"a","role":"u","metadata":{{{members}}},"parts":[1]}}"#),
        ),
        (
            r#"{"id":"a","role":"u","parts":[1]}"#,
            format!(r#"{{"id":"a","role":"u","parts":[1],"metadata":{{{members}}}}}"#),
        ),
    ] {
        let text = kept(brought, stored).unwrap();
        assert_eq!(text, result);
        assert_eq!(Incoming::parse(&text).unwrap().text(), text, "what comes out is a message");
        assert_eq!(kept(&text, stored).unwrap(), text, "the same again changes nothing");
    }
}

#[test]
fn an_update_of_a_message_without_reserved_values_only_loses_its_own() {
    let stored = r#"{"id":"a","role":"u","parts":[],"metadata":{"y":1}}"#;
    let brought = r#"{"id":"a","role":"u","parts":[],"metadata":{"owner":1}}"#;
    assert_eq!(kept(brought, stored).unwrap(), r#"{"id":"a","role":"u","parts":[]}"#);
    for metadata in ["null", "1", r#""x""#, "[]"] {
        let brought = format!(r#"{{"id":"a","role":"u","parts":[],"metadata":{metadata}}}"#);
        assert_eq!(kept(&brought, stored).unwrap(), brought);
    }
}

#[test]
fn metadata_that_is_no_object_does_not_push_reserved_values_out() {
    let stored = r#"{"id":"a","role":"u","parts":[],"metadata":{"owner":1}}"#;
    for metadata in ["1", r#""x""#, "[]", "true"] {
        let brought = format!(r#"{{"id":"a","role":"u","parts":[],"metadata":{metadata}}}"#);
        let error = kept(&brought, stored).unwrap_err();
        assert_eq!((error.kind, error.subject.as_deref()), (Kind::InvalidMessage, Some("a")));
        assert!(error.message.contains("`metadata`"), "{error}");
    }
}

#[test]
fn a_damaged_stored_text_is_an_error_and_not_a_loss() {
    let brought = r#"{"id":"a","role":"u","parts":[]}"#;
    assert_eq!(kept(brought, r#"{"id":"a","metadata":{"owner":1"#).unwrap_err().kind, Kind::Corrupt);
}

#[test]
fn messages_are_compared_as_a_client_sees_them() {
    let keys = keys(&["owner"]);
    let with = |metadata: &str| format!(r#"{{"id":"a","role":"u"{metadata},"parts":[]}}"#);
    let none = with("");
    let empty = with(r#","metadata":{}"#);
    let owner = with(r#","metadata":{"owner":1}"#);
    let x = with(r#","metadata":{"x":1}"#);
    let both = with(r#","metadata":{"owner":1,"x":1}"#);
    let both_turned = with(r#","metadata":{"x":1,"own\u0065r":[2]}"#);
    for (a, b, same) in [
        (&x, &x, true),
        (&x, &both, true),
        (&both, &both_turned, true),
        (&owner, &none, true),
        (&owner, &empty, true),
        (&empty, &none, false),
        (&x, &none, false),
        (&x, &owner, false),
        (&both, &none, false),
    ] {
        assert_eq!(same_without_reserved(a, b, &keys), same, "{a} {b}");
        assert_eq!(same_without_reserved(b, a, &keys), same, "{b} {a}");
    }
    assert!(!same_without_reserved(&owner, &none, &[]));
    // At the end of the message too, where an update puts it.
    assert!(same_without_reserved(
        r#"{"id":"a","parts":[],"metadata":{"owner":1}}"#,
        r#"{"id":"a","parts":[]}"#,
        &keys
    ));
    assert!(!same_without_reserved(
        r#"{"id":"a","parts":[1],"metadata":{"owner":1}}"#,
        r#"{"id":"a","parts":[]}"#,
        &keys
    ));
}
