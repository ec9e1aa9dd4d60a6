//! Messages: what is accepted comes back byte for byte, what is refused changes nothing.

use std::cell::RefCell;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use serde_json::value::RawValue;
use talktree_engine::message::{
    Incoming, Said, decode, encode, inline_media, json, only_metadata, preview, quote, said, same_without_reserved,
    tokens, transcript,
};
use talktree_engine::{AppendOptions, ChangeOptions, Directory, Kind, MediaMode, Source, Store};

use crate::bytes::Choices;
use crate::scratch::Scratch;
use crate::seed;

/// Characters of a preview in a list of messages.
const PREVIEW: usize = 120;

/// Takes the bytes as the text of a message.
///
/// - What is accepted is JSON for another reader too, which finds the same id, role and content in what is stored.
/// - Stripping reserved keys is done once and for all; the message is still one.
/// - A store gives back what it took, inline and by reference, and takes it a second time as the same.
/// - What is refused is `invalid-message` and changes nothing in the store.
pub fn message(data: &[u8]) {
    let mut choices = Choices::new(data);
    let source = choices.one_of(&[Source::Server, Source::Client]);
    let text = choices.text();
    let keys = ["owner".to_owned(), "a\"é".to_owned()];
    anything(&text, &keys);
    let parsed = Incoming::parse(&text);
    match &parsed {
        Ok(incoming) => accepted(&text, incoming, &keys),
        Err(error) => assert_eq!(error.kind, Kind::InvalidMessage, "{error}"),
    }
    STORE.with_borrow_mut(|scratch| stored(&mut scratch.store, &text, parsed.ok().as_ref(), source));
}

thread_local! {
    /// A store in which nothing is left of one input when the next one comes.
    static STORE: RefCell<Scratch> = RefCell::new(Scratch::with(seed::nothing()));
}

/// What may be done to any text, for its panics and what it gives.
fn anything(text: &str, keys: &[String]) {
    let shown = preview(text, PREVIEW);
    assert!(shown.chars().count() <= PREVIEW && !shown.contains('\n'), "{shown:?}");
    transcript(text, 50);
    tokens::estimate(text);
    only_metadata(text);
    same_without_reserved(text, r#"{"metadata":{"owner":1}}"#, keys);
    said(text, &mut |_, _| {});
    let compact = json::compact(text);
    assert_eq!(json::compact(&compact), compact, "a compact text is made more compact");
    assert_eq!(serde_json::from_str::<String>(&quote(text)).unwrap(), text, "a quoted text says something else");
}

fn accepted(text: &str, incoming: &Incoming<'_>, keys: &[String]) {
    let kept = incoming.text();
    serde_json::from_str::<&RawValue>(text).expect("what was accepted is no JSON for another reader");
    serde_json::from_str::<&RawValue>(kept).expect("what is stored is no JSON for another reader");
    assert_eq!(Incoming::parse(kept).unwrap().text(), kept, "what is stored would be stored as something else");
    if let (Ok(before), Ok(after)) = (serde_json::from_str::<Value>(text), serde_json::from_str::<Value>(kept)) {
        assert_eq!(before, after, "what is stored says something else");
        assert_eq!(after["id"].as_str(), Some(incoming.id()));
        assert_eq!(after["role"].as_str(), Some(incoming.role()));
        assert!(after["parts"].is_array());
    }
    let derived = incoming.derived();
    if let Some(calls) = encode(&derived.calls) {
        assert_eq!(decode(&calls), derived.calls, "calls are remembered as others");
    } else {
        assert!(derived.calls.is_empty());
    }
    let mut whole = String::new();
    said(kept, &mut |what, piece| {
        if what == Said::Text {
            whole.push_str(piece);
        }
    });
    assert!(whole.len() <= 4 * kept.len(), "a message says more than it holds");

    let stripped = incoming.clone().without_reserved(keys);
    let once = stripped.text().to_owned();
    assert!(same_without_reserved(kept, &once, keys), "{kept} and {once} differ in more than reserved keys");
    assert_eq!(stripped.clone().without_reserved(keys).text(), once, "reserved keys were left");
    assert_eq!(Incoming::parse(&once).unwrap().text(), once, "without reserved keys it is no message");
    let other = r#"{"id":"x","role":"user","metadata":{"owner":[1e9]},"parts":[]}"#;
    if let Ok(merged) = incoming.clone().keeping_reserved(other, keys) {
        let merged = merged.text();
        assert_eq!(Incoming::parse(merged).unwrap().text(), merged);
        assert!(merged.contains(r#""owner":[1e9]"#), "a reserved key got lost: {merged}");
        // A `null` says no more than nothing, and makes room for what is kept.
        let null = only_metadata(kept).ends_with("null}");
        assert!(
            null || same_without_reserved(kept, merged, keys),
            "{kept} and {merged} differ in more than reserved keys"
        );
    }
}

/// Hands the message to a store, then takes all of it away again.
fn stored(store: &mut Store<Directory>, text: &str, incoming: Option<&Incoming<'_>>, source: Source) {
    let end = |store: &mut Store<Directory>| {
        let options = ChangeOptions { limit: Some(1000), ..ChangeOptions::default() };
        let page = store.changes(&options).unwrap();
        (page.cursor, page.events.len())
    };
    let before = end(store);
    let options = AppendOptions { source, ..AppendOptions::default() };
    let appended = store.append_message("s", text, &options);
    let Some(incoming) = incoming else {
        assert_eq!(appended.unwrap_err().kind, Kind::InvalidMessage);
        let empty = store.update_message("s", text, source).unwrap_err().kind;
        assert_eq!(empty, Kind::InvalidMessage);
        assert!(end(store) == before, "a message that was refused has left something");
        assert_eq!(store.session_info("s").unwrap_err().kind, Kind::UnknownSession);
        return;
    };
    let (id, kept) = (incoming.id(), incoming.text());
    let appended = appended.unwrap();
    assert!(appended.inserted && !appended.conflict && appended.message.is_none(), "{appended:?}");
    let found = store.get_message("s", id, MediaMode::Inline).unwrap().expect("what was appended is there");
    assert_eq!(found.json, kept, "a message came back as another one");
    assert_eq!((found.id.as_str(), found.role.as_str(), found.bytes), (id, incoming.role(), kept.len() as u64));
    by_reference(store, id, kept);
    let again = store.append_message("s", text, &options).unwrap();
    assert!(!again.inserted && !again.conflict, "the same message is another one at the second time: {again:?}");
    let end_before = end(store);
    assert_eq!(store.update_message("s", text, source).unwrap().as_deref(), Some(kept));
    assert!(end(store) == end_before, "an update that changes nothing is an event");
    assert_eq!(store.list_messages("s", None, None).unwrap().items[0].preview, preview(kept, PREVIEW));
    let report = store.check().unwrap();
    assert!(report.sound, "{report:?}");
    store.delete_session("s").unwrap();
    let stats = store.stats().unwrap();
    assert_eq!((stats.messages, stats.bytes.media_bytes), (0, 0), "a deleted message has left something");
}

/// The message with its payloads beside it is the same message.
fn by_reference(store: &mut Store<Directory>, id: &str, kept: &str) {
    let blank = store.get_message("s", id, MediaMode::Reference).unwrap().unwrap();
    assert!(blank.media.len() <= inline_media(kept).len());
    let engine = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
    );
    for reference in &blank.media {
        let range = store.get_media("s", id, reference.index, 0, None).unwrap();
        assert_eq!((range.bytes, &range.hash), (reference.bytes, &reference.hash));
        if range.data.len() as u64 == reference.bytes {
            let written = engine.encode(&range.data);
            assert!(kept.contains(&written), "payload {} of {id:?} is none of the message", reference.index);
            assert!(!blank.json.contains(&written) || written.len() < 8 || blank.media.len() > 1);
        }
    }
    if blank.media.is_empty() {
        assert_eq!(blank.json, kept);
    } else {
        assert!(blank.json.len() < kept.len());
        Incoming::parse(&blank.json).expect("a message without its payloads is one");
    }
}
