//! Random trees, written as each format would write them, and read back.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Value, json};

use super::{Format, Input, Memory, Options, Report, Stored, run};

fn import(name: &str, format: Format, text: &str) -> (Report, Memory) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut store = Memory::default();
    let options = Options { format: Some(format), session: Some("s".to_owned()), now: Some(1), ..Options::default() };
    let input = Input::bytes(name, text).unwrap();
    let report = runtime.block_on(run(input, &mut store, options)).unwrap();
    (report, store)
}

/// Any JSON value, small.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((".{0,4}", inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A block of a Pi message: one that has a part, with or without members of its own, or anything at all.
fn block() -> impl Strategy<Value = Value> {
    let known = prop_oneof![
        ".{0,12}".prop_map(|text| json!({"type": "text", "text": text})),
        ".{0,12}".prop_map(|text| json!({"type": "thinking", "thinking": text})),
        "[a-zA-Z0-9+/]{0,12}".prop_map(|data| json!({"type": "image", "data": data, "mimeType": "image/png"})),
        (".{0,4}", "[a-z]{1,5}", any_json())
            .prop_map(|(id, name, input)| json!({"type": "toolCall", "id": id, "name": name, "arguments": input})),
    ];
    let more = prop::option::of(("[a-z]{1,6}Signature", any_json()));
    prop_oneof![
        4 => (known, more).prop_map(|(mut block, more)| {
            if let Some((key, value)) = more {
                block[key] = value;
            }
            block
        }),
        1 => any_json(),
    ]
}

fn content() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        4 => vec(block(), 0..4).prop_map(|blocks| Some(Value::from(blocks))),
        2 => ".{0,20}".prop_map(|text| Some(Value::from(text))),
        1 => Just(Some(Value::Null)),
        1 => any_json().prop_map(Some),
        1 => Just(None),
    ]
}

fn pi_message() -> impl Strategy<Value = Value> {
    let role =
        prop::sample::select(vec!["user", "assistant", "system", "toolResult", "custom", "hookMessage", "oracle"]);
    let told =
        (role, content(), any::<bool>(), ".{0,4}", any_json()).prop_map(|(role, content, error, id, details)| {
            let mut message = json!({"role": role, "details": details});
            if let Some(content) = content {
                message["content"] = content;
            }
            if role == "toolResult" {
                message["toolCallId"] = id.into();
                message["toolName"] = "read".into();
                message["isError"] = error.into();
            }
            message
        });
    prop_oneof![
        6 => told,
        1 => (".{0,8}", ".{0,8}", 0..3).prop_map(|(command, output, code)| {
            json!({"role": "bashExecution", "command": command, "output": output, "exitCode": code})
        }),
        1 => ".{0,8}".prop_map(|summary| json!({"role": "branchSummary", "summary": summary})),
    ]
}

/// What an entry is besides its place in the tree.
fn pi_entry() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => pi_message().prop_map(|message| json!({"type": "message", "message": message})),
        1 => (".{0,8}", any_json()).prop_map(|(summary, d)| json!({"type": "branch_summary", "summary": summary, "details": d})),
        1 => content().prop_map(|content| match content {
            Some(content) => json!({"type": "custom_message", "customType": "x", "content": content}),
            None => json!({"type": "custom_message", "customType": "x"}),
        }),
        1 => any_json().prop_map(|data| json!({"type": "custom", "data": data})),
        1 => Just(json!({"type": "label", "label": "here"})),
        1 => ".{0,8}".prop_map(|summary| json!({"type": "compaction", "summary": summary})),
    ]
}

fn is_message(entry: &Value) -> bool {
    ["message", "branch_summary", "custom_message"].iter().any(|kind| entry["type"] == *kind)
}

/// Entries with ids, parents (any entry before it, or none) and times.
fn pi_tree() -> impl Strategy<Value = Vec<Value>> {
    vec((pi_entry(), prop::option::weighted(0.95, any::<Index>()), 0..60u32), 1..24).prop_map(|entries| {
        let mut tree: Vec<Value> = Vec::new();
        for (number, (mut entry, parent, second)) in entries.into_iter().enumerate() {
            entry["id"] = format!("{number:08x}").into();
            // Mostly the entry before, as people talk; sometimes any.
            entry["parentId"] = match parent {
                Some(index) if !tree.is_empty() => {
                    let back = if second < 40 { tree.len() - 1 } else { index.index(tree.len()) };
                    tree[back]["id"].clone()
                }
                _ => Value::Null,
            };
            entry["timestamp"] = format!("2026-11-02T08:00:{second:02}.000Z").into();
            tree.push(entry);
        }
        tree
    })
}

/// The text of a part under `key`, as the member of a block, with what its provider metadata kept.
fn block_of(part: &Value) -> Value {
    let rest = ["providerMetadata", "callProviderMetadata", "providerOptions"]
        .iter()
        .find_map(|key| part.get(*key))
        .map_or(json!({}), |under| under["pi"].clone());
    let mut block = rest;
    match part["type"].as_str().unwrap() {
        "text" => {
            block["type"] = "text".into();
            block["text"] = part["text"].clone();
        }
        "reasoning" => {
            block["type"] = "thinking".into();
            block["thinking"] = part["text"].clone();
        }
        "file" => {
            let media_type = part["mediaType"].as_str().unwrap();
            let data = part["url"].as_str().unwrap().strip_prefix(&format!("data:{media_type};base64,")).unwrap();
            (block["type"], block["mimeType"], block["data"]) = ("image".into(), media_type.into(), data.into());
        }
        "image-data" => {
            block["type"] = "image".into();
            (block["mimeType"], block["data"]) = (part["mediaType"].clone(), part["data"].clone());
        }
        "dynamic-tool" => {
            block["type"] = "toolCall".into();
            (block["id"], block["name"]) = (part["toolCallId"].clone(), part["toolName"].clone());
            block["arguments"] = part["input"].clone();
        }
        "data-pi" => block = part["data"].clone(),
        // An item of a tool's output that is kept whole.
        "custom" => {}
        other => panic!("a part of type {other}"),
    }
    block
}

/// The entry that a message was made from.
fn entry_of(message: &Value) -> Value {
    let pi = &message["metadata"]["pi"];
    let mut entry = pi["entry"].clone();
    let parts = message["parts"].as_array().unwrap();
    let of_message = entry["type"] == "message";
    let said = if of_message { &mut entry["message"] } else { &mut entry };
    let summary = said["role"] == "branchSummary" || said["type"] == "branch_summary";
    if summary {
        said["summary"] = parts[0]["text"].clone();
        return entry;
    }
    if said["role"] == "bashExecution" {
        let prefix = format!("$ {}\n", said["command"].as_str().unwrap());
        said["output"] = parts[0]["text"].as_str().unwrap().strip_prefix(&prefix).unwrap().into();
        return entry;
    }
    let was = pi["content"].as_str();
    let content = if said["role"] == "toolResult" {
        let output = &parts[0]["output"];
        match was {
            Some("text" | "other") => output["value"].clone(),
            _ if output["type"] == "content" => output["value"].as_array().unwrap().iter().map(block_of).collect(),
            _ => json!([{"type": "text", "text": output["value"]}]),
        }
    } else {
        match was {
            Some("text") => parts[0]["text"].clone(),
            Some("other") => parts[0]["data"].clone(),
            _ => parts.iter().map(block_of).collect(),
        }
    };
    match was {
        Some("absent") => {}
        Some("null") => said["content"] = Value::Null,
        _ => said["content"] = content,
    }
    entry
}

/// The nearest message above an entry of the tree.
fn above<'t>(tree: &'t [Value], entry: &'t Value) -> Option<&'t str> {
    let mut at = entry;
    loop {
        let parent = at["parentId"].as_str()?;
        at = tree.iter().find(|entry| entry["id"] == parent)?;
        if is_message(at) {
            return Some(parent);
        }
    }
}

fn check_pi(tree: &[Value], lines: &[String]) {
    let header = r#"{"type":"session","version":3,"id":"x","timestamp":"2026-11-02T08:00:00.000Z","cwd":"/w"}"#;
    let (report, store) = import("", Format::Pi, &format!("{header}\n{}\n", lines.join("\n")));
    assert!(report.sessions[0].failed.is_empty(), "{:?}", report.sessions[0].failed);
    let stored = store.messages("s");
    let messages: Vec<_> = tree.iter().filter(|entry| is_message(entry)).collect();
    assert_eq!(stored.len(), messages.len());
    let mut asides = 0;
    for entry in messages {
        let id = entry["id"].as_str().unwrap();
        let found = stored.iter().find(|stored| stored.id == id).unwrap();
        assert_eq!(found.parent_id.as_deref(), above(tree, entry));
        let message: Value = serde_json::from_str(&found.message).unwrap();
        assert_eq!(&entry_of(&message), entry, "the entry can be put together again from {message}");
        for key in ["before", "after"] {
            for aside in message["metadata"]["pi"][key].as_array().into_iter().flatten() {
                assert!(aside["type"] == "session" || tree.contains(aside), "{aside}");
                asides += 1;
            }
        }
    }
    if !stored.is_empty() {
        let header_and_asides = 1 + tree.iter().filter(|entry| !is_message(entry)).count();
        assert_eq!(asides, header_and_asides, "nothing is lost, nothing is there twice");
    }
    let last = tree.last().unwrap();
    let leaf = if is_message(last) { last["id"].as_str() } else { above(tree, last) };
    assert_eq!(report.sessions[0].leaf.as_deref(), leaf);
}

fn ui_message() -> impl Strategy<Value = Value> {
    let part = prop_oneof![
        ".{0,20}".prop_map(|text| json!({"type": "text", "text": text})),
        any_json().prop_map(|data| json!({"type": "data-x", "data": data})),
    ];
    let role = prop::sample::select(vec!["user", "assistant", "system"]);
    (role, vec(part, 0..4), any_json())
        .prop_map(|(role, parts, metadata)| json!({"role": role, "parts": parts, "metadata": metadata}))
}

fn check_chain(messages: &[String], stored: &[Stored]) {
    assert_eq!(stored.len(), messages.len());
    for (number, (stored, message)) in stored.iter().zip(messages).enumerate() {
        assert_eq!(&stored.message, message);
        assert_eq!(stored.parent_id, number.checked_sub(1).map(|above| format!("m{above}")));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_pi_session_comes_back_whole(tree in pi_tree()) {
        let lines: Vec<_> = tree.iter().map(Value::to_string).collect();
        check_pi(&tree, &lines);
    }

    #[test]
    fn a_pi_session_comes_back_whole_whatever_the_order_of_its_lines(tree in pi_tree(), order in any::<u64>()) {
        // Only the last line is special: the conversation stands there.
        let mut lines: Vec<_> = tree.iter().map(Value::to_string).collect();
        let last = lines.pop().unwrap();
        lines.sort_by_key(|line| line.bytes().fold(order, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())));
        lines.push(last);
        check_pi(&tree, &lines);
    }

    #[test]
    fn ui_messages_come_back_byte_for_byte(messages in vec(ui_message(), 0..12), pretty in any::<bool>()) {
        let texts: Vec<_> = messages
            .into_iter()
            .enumerate()
            .map(|(number, mut message)| {
                message["id"] = format!("m{number}").into();
                if pretty { format!("{message:#}") } else { message.to_string() }
            })
            .collect();
        let list = format!("[{}]", texts.join(",\n"));
        check_chain(&texts, import("", Format::AiSdk, &list).1.messages("s"));
        let chat = format!("{{\"id\":\"c\",\"messages\":{list}}}");
        check_chain(&texts, import("", Format::AiSdk, &chat).1.messages("s"));
        if !pretty {
            check_chain(&texts, import("", Format::AiSdk, &texts.join("\n")).1.messages("s"));
        }
    }

    /// Whatever stands in a file, the import ends, and what it reports adds up.
    #[test]
    fn damage_is_survived(tree in pi_tree(), cuts in vec((any::<Index>(), 0..40usize, any::<u8>()), 0..6), ai in any::<bool>()) {
        let mut bytes = if ai {
            let messages: Vec<_> = tree.iter().enumerate()
                .map(|(n, entry)| json!({"id": format!("m{n}"), "role": "user", "parts": [entry]})).collect();
            Value::from(messages).to_string().into_bytes()
        } else {
            tree.iter().map(|entry| format!("{entry}\n")).collect::<String>().into_bytes()
        };
        for (at, length, byte) in cuts {
            let at = at.index(bytes.len() + 1);
            let end = bytes.len().min(at + length);
            if byte < 128 { bytes[at..end].fill(byte % 3 * 5) } else { bytes.drain(at..end).for_each(drop) }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let format = if ai { Format::AiSdk } else { Format::Pi };
        let import = |store: &mut Memory| {
            let options = Options { format: Some(format), session: Some("s".to_owned()), now: Some(1), ..Options::default() };
            runtime.block_on(run(Input::bytes("", bytes.clone()).unwrap(), store, options)).unwrap()
        };
        let mut store = Memory::default();
        let first = import(&mut store);
        prop_assert_eq!(first.imported() as usize, store.messages("s").len());
        let again = import(&mut store);
        prop_assert_eq!((again.imported(), again.skipped()), (0, first.imported()));
    }
}
