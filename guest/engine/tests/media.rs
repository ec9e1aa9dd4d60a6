//! Media: payloads are kept once and come back as they were; large texts leave nothing behind.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use talktree_engine::{
    AppendOptions, DeleteMode, Directory, Durability, HistoryView, Kind, MediaMode, Options, ReadOptions,
    RecentOptions, Source, Store,
};

fn store() -> (tempfile::TempDir, Store<Directory>) {
    let directory = tempfile::tempdir().unwrap();
    // The disk is not what is tested here.
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let store = Store::new(Directory::new(directory.path()), options);
    (directory, store)
}

fn append(store: &mut Store<Directory>, message: &str) {
    assert!(store.append_message("", message, &AppendOptions::default()).unwrap().inserted);
}

fn read(store: &mut Store<Directory>, id: &str) -> String {
    store.get_message("", id, MediaMode::Inline).unwrap().unwrap().json
}

fn bytes(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|index| (index as u8).wrapping_mul(31).wrapping_add((index >> 8) as u8) ^ seed).collect()
}

fn file_part(payload: &[u8]) -> String {
    format!(
        r#"{{"type":"file","mediaType":"image/png","url":"data:image/png;base64,{}","filename":"a.png"}}"#,
        STANDARD.encode(payload)
    )
}

fn message(id: &str, parts: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"see"}},{parts}]}}"#)
}

#[test]
fn a_thousand_messages_with_one_screenshot_keep_one_payload() {
    let (_directory, mut store) = store();
    let screenshot = file_part(&bytes(1, 200 * 1024));
    append(&mut store, &message("first", &screenshot));
    let before = store.stats().unwrap().bytes;
    for n in 0..999 {
        append(&mut store, &message(&format!("m{n}"), &screenshot));
    }
    let after = store.stats().unwrap().bytes;
    assert_eq!(after.media_bytes, 200 * 1024);
    assert!(after.file - before.file < 999 * 600, "{} bytes for 999 references", after.file - before.file);
    assert_eq!(read(&mut store, "m500"), message("m500", &screenshot));
    assert!(store.check().unwrap().sound);
}

#[test]
fn a_payload_goes_with_its_last_reference() {
    let (_directory, mut store) = store();
    let part = file_part(&bytes(2, 5000));
    let mut other = Vec::new();
    for id in ["a", "b", "c"] {
        append(&mut store, &message(id, &part));
        other.push(id.to_owned());
    }
    let media = |store: &mut Store<Directory>| store.stats().unwrap().bytes.media_bytes;
    store.delete_messages("", &["a".to_owned()], DeleteMode::Splice, false).unwrap();
    assert_eq!(media(&mut store), 5000);
    let plain = message("b", r#"{"type":"text","text":"none"}"#);
    assert_eq!(store.update_message("", &plain, Source::Server).unwrap().as_deref(), Some(plain.as_str()));
    assert_eq!(media(&mut store), 5000);
    assert_eq!(read(&mut store, "c"), message("c", &part));
    store.clear_messages("").unwrap();
    assert_eq!(media(&mut store), 0);
    assert!(store.check().unwrap().sound);
}

#[test]
fn a_message_twice_with_the_same_payload_counts_it_twice() {
    let (_directory, mut store) = store();
    let part = file_part(&bytes(3, 3000));
    let twice = message("a", &format!("{part},{part}"));
    append(&mut store, &twice);
    assert_eq!(read(&mut store, "a"), twice);
    let once = message("a", &part);
    store.update_message("", &once, Source::Server).unwrap();
    assert_eq!(read(&mut store, "a"), once);
    assert!(store.check().unwrap().sound);
}

#[test]
fn media_is_read_by_reference_and_fetched_in_ranges() {
    let (_directory, mut store) = store();
    let payload = bytes(4, 500_000);
    append(
        &mut store,
        &message(
            "a",
            &format!(r#"{{"type":"tool-shot","toolCallId":"c","output":{{"x":[{}]}}}}"#, file_part(&payload)),
        ),
    );
    let blank = store.get_message("", "a", MediaMode::Reference).unwrap().unwrap();
    assert_eq!(blank.bytes, blank.json.len() as u64);
    assert!(blank.json.contains(r#""url":"","filename""#), "{}", blank.json);
    let [reference] = blank.media.as_slice() else { panic!("{:?}", blank.media) };
    assert_eq!(
        (reference.index, reference.pointer.as_str(), reference.media_type.as_str(), reference.bytes),
        (0, "/parts/1/output/x/0/url", "image/png", 500_000)
    );
    assert_eq!(reference.hash, blake3::hash(&payload).to_hex().as_str());
    let whole = store.get_media("", "a", 0, 0, None).unwrap();
    assert_eq!((whole.data, whole.media_type.as_str(), whole.bytes), (payload.clone(), "image/png", 500_000));
    for (offset, length) in [(0, 1), (196_607, 2), (196_608, 196_608), (499_999, 10), (500_000, 5), (123_456, 300_000)]
    {
        let range = store.get_media("", "a", 0, offset, Some(length)).unwrap();
        let end = (offset + length).min(500_000) as usize;
        assert_eq!(range.data, payload[offset as usize..end], "{offset} {length}");
    }
    for (index, offset) in [(1, 0), (0, 500_001)] {
        assert_eq!(store.get_media("", "a", index, offset, None).unwrap_err().kind, Kind::InvalidArgument);
    }
    assert_eq!(store.get_media("", "b", 0, 0, None).unwrap_err().kind, Kind::UnknownMessage);
}

#[test]
fn a_copy_that_was_read_by_reference_is_not_written_back() {
    let (_directory, mut store) = store();
    append(&mut store, &message("a", &file_part(&bytes(5, 4000))));
    let blank = store.get_message("", "a", MediaMode::Reference).unwrap().unwrap().json;
    let error = store.update_message("", &blank, Source::Server).unwrap_err();
    assert_eq!((error.kind, error.subject.as_deref()), (Kind::InvalidMessage, Some("a")));
    assert_eq!(read(&mut store, "a"), message("a", &file_part(&bytes(5, 4000))));
}

#[test]
fn budgets_and_totals_count_media_as_it_is_read() {
    let (_directory, mut store) = store();
    for n in 0..10 {
        append(&mut store, &message(&format!("m{n}"), &file_part(&bytes(n, 30_000))));
    }
    for media in [MediaMode::Inline, MediaMode::Reference] {
        let options = RecentOptions { max_bytes: 100_000, leaf_id: None, overlays: true, media };
        let recent = store.get_recent_history("", &options).unwrap();
        let view = HistoryView { media, ..HistoryView::default() };
        let all = store.get_history("", &view).unwrap();
        assert_eq!(recent.total_content_bytes, all.iter().map(|message| message.json.len() as u64).sum::<u64>());
        assert_eq!(recent.messages.len(), if media == MediaMode::Inline { 2 } else { 10 });
        let options = ReadOptions { view, max_batch_bytes: Some(100_000), ..ReadOptions::default() };
        let page = store.read_history("", &options, None).unwrap();
        assert_eq!(page.items.len(), if media == MediaMode::Inline { 2 } else { 10 });
    }
    let rows = store.get_history_row_stats("", None, None, None).unwrap().items;
    assert!(rows.iter().all(|row| row.bytes > 40_000));
}

#[test]
fn what_a_message_says_is_never_a_pointer() {
    let (_directory, mut store) = store();
    append(&mut store, &message("a", &file_part(&bytes(6, 4000))));
    let hash = blake3::hash(&bytes(6, 4000)).to_hex();
    for (n, text) in [
        r#"{"type":"file","mediaType":"image/png","url":""}"#.to_owned(),
        format!(r#"{{"type":"file","url":"blake3:{hash}"}}"#),
        r#"{"type":"file","url":"data:image/png;base64,"}"#.to_owned(),
        format!(r#"{{"type":"file","data":"","payload":1,"media":{{"hash":"{hash}"}}}}"#),
    ]
    .iter()
    .enumerate()
    {
        let text = message(&format!("f{n}"), text);
        append(&mut store, &text);
        assert_eq!(read(&mut store, &format!("f{n}")), text);
        let found = store.get_message("", &format!("f{n}"), MediaMode::Reference).unwrap().unwrap();
        assert_eq!((found.json, found.media), (text, Vec::new()));
    }
}

#[test]
fn a_text_that_shrinks_and_grows_leaves_nothing_behind() {
    let (_directory, mut store) = store();
    let text = |length: usize| message("a", &format!(r#"{{"type":"text","text":"{}"}}"#, "数据z".repeat(length / 7)));
    append(&mut store, &text(100));
    append(&mut store, r#"{"id":"after","role":"user","parts":[]}"#);
    for length in [5_000_000, 1000, 200_000, 3_000_000, 50] {
        let text = text(length);
        store.update_message("", &text, Source::Server).unwrap();
        assert_eq!(read(&mut store, "a"), text);
        let stats = store.stats().unwrap();
        assert_eq!(stats.largest.len(), usize::from(length > 100_000));
        assert!(store.check().unwrap().sound, "{length}");
    }
}

#[test]
fn sixty_four_mebibytes_come_back_whole() {
    let (_directory, mut store) = store();
    let text = message("big", &format!(r#"{{"type":"text","text":"{}"}}"#, "x".repeat(64 << 20)));
    append(&mut store, &text);
    assert!(read(&mut store, "big") == text);
    let preview = store.list_messages("", None, None).unwrap().items;
    assert_eq!(preview[0].preview.chars().count(), 120);
}

/// Strings that may or may not be payloads, and must come back either way.
fn payload_string() -> impl Strategy<Value = String> {
    let payload = (any::<u8>(), 0..3000_usize).prop_map(|(seed, length)| STANDARD.encode(bytes(seed, length)));
    let prefix = prop_oneof![
        Just("data:image/png;base64,"),
        Just("data:image/png;name=x;base64,"),
        Just("data:;base64,"),
        Just("data:text/plain;base64,"),
        Just("data:image/png,"),
        Just("DATA:image/png;base64,"),
        Just(""),
    ];
    (prefix, payload, 0..7_u8).prop_map(|(prefix, mut payload, change)| {
        match change {
            0 => payload.truncate(payload.len().saturating_sub(1)),
            1 => payload.push('='),
            2 => payload.insert_str(payload.len() / 2, "\\n"),
            3 => payload = payload.replace('/', "\\/"),
            4 => payload = payload.replace('+', "-"),
            _ => {}
        }
        format!("{prefix}{payload}")
    })
}

fn part() -> impl Strategy<Value = String> {
    let key = prop_oneof![Just("url"), Just("data"), Just("text"), Just("image"), Just("d\\u0061ta"), Just("a/b~c")];
    let media_type = prop_oneof![
        Just(String::new()),
        Just(r#","mediaType":"image/png""#.to_owned()),
        Just(r#","mimeType":"text/csv""#.to_owned()),
    ];
    let leaf = (key, payload_string(), media_type)
        .prop_map(|(key, value, media_type)| format!(r#"{{"type":"file","{key}":"{value}"{media_type}}}"#));
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            inner.prop_map(|item| format!(r#"{{"type":"tool-x","toolCallId":"c","output":{item},"n":1.0}}"#)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_carries_media_comes_back_byte_for_byte(
        messages in proptest::collection::vec(proptest::collection::vec(part(), 1..4), 1..6),
        delete in any::<prop::sample::Index>(),
    ) {
        let (_directory, mut store) = store();
        let messages: Vec<String> =
            messages.iter().enumerate().map(|(n, parts)| message(&format!("m{n}"), &parts.join(","))).collect();
        for message in &messages {
            append(&mut store, message);
        }
        for (n, message) in messages.iter().enumerate() {
            prop_assert_eq!(&read(&mut store, &format!("m{n}")), message);
            let blank = store.get_message("", &format!("m{n}"), MediaMode::Reference).unwrap().unwrap();
            let outside: u64 = blank.media.iter().map(|reference| reference.bytes).sum();
            prop_assert!(blank.json.len() as u64 + outside <= message.len() as u64);
        }
        // Each takes the text of the one before it, and then some go.
        for n in 1..messages.len() {
            let text = messages[n - 1].replacen(&format!("\"m{}\"", n - 1), &format!("\"m{n}\""), 1);
            store.update_message("", &text, Source::Server).unwrap();
            prop_assert_eq!(read(&mut store, &format!("m{n}")), text);
        }
        store.delete_messages("", &[format!("m{}", delete.index(messages.len()))], DeleteMode::Splice, false).unwrap();
        let report = store.check().unwrap();
        prop_assert!(report.sound, "{:?}", report.problems);
    }
}
