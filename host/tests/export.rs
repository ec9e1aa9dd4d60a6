//! Paths of real tenants, exported for other programs and read back.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use serde_json::Value;
use talktree::{
    Session, Talktree, Tenant,
    export::{ExportError, Format, Options, export},
    import::{self, Input},
};

async fn exported(session: &Session, format: Format, options: Options) -> String {
    let mut out = Vec::new();
    export(session, format, &options, &mut out).await.unwrap();
    String::from_utf8(out).unwrap()
}

async fn import(tenant: &mut Tenant, format: import::Format, session: &str, text: &str) {
    let input = Input::bytes("", text).unwrap();
    let options = import::Options { format: Some(format), session: Some(session.to_owned()), ..Default::default() };
    let report = import::run(input, tenant, options).await.unwrap();
    assert_eq!((report.failures(), report.stopped), (0, None));
}

fn leaf(id: &str) -> Options {
    Options { leaf: Some(id.to_owned()), ..Options::default() }
}

#[tokio::test]
async fn chat_completions_come_back_as_they_went_in() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let mut tenant = talktree.tenant("t").unwrap();
    let text = r#"[
        {"role":"system","content":"Be brief."},
        {"role":"user","content":[{"type":"text","text":"天気は? 🦊"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},
        {"role":"assistant","content":null,"tool_calls":[
            {"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Zürich\"}"}},
            {"id":"c2","type":"function","function":{"name":"time","arguments":"{\"zo"}}]},
        {"role":"tool","tool_call_id":"c1","content":"{\"c\":7}"},
        {"role":"tool","tool_call_id":"c2","content":"bad arguments"},
        {"role":"assistant","content":"Seven degrees."},
        {"role":"user","content":""}]"#;
    import(&mut tenant, import::Format::OpenAiMessages, "one", text).await;
    let first = exported(&tenant.session("one"), Format::OpenAiMessages, Options::default()).await;
    assert_eq!(serde_json::from_str::<Value>(&first).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    import(&mut tenant, import::Format::OpenAiMessages, "two", &first).await;
    assert_eq!(exported(&tenant.session("two"), Format::OpenAiMessages, Options::default()).await, first);
}

#[tokio::test]
async fn ui_messages_of_one_branch_come_back_byte_for_byte() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let mut tenant = talktree.tenant("t").unwrap();
    let session = tenant.session("s");
    let message = |id: &str| {
        format!(
            "{{\"id\":\"{id}\",\"role\":\"user\",\"n\":1e400,\"parts\":[{{\"type\":\"text\",\"text\":\"\\ud83d {id}\"}}]}}"
        )
    };
    for number in 0..200 {
        session.append_message(message(&format!("m{number}"))).await.unwrap();
    }
    session.append_message(message("side")).parent("m9").await.unwrap();
    let all = exported(&session, Format::AiSdk, leaf("m199")).await;
    let expected: Vec<_> = (0..200).map(|number| message(&format!("m{number}"))).collect();
    assert_eq!(all, format!("[\n{}\n]\n", expected.join(",\n")));
    let side = exported(&session, Format::AiSdk, leaf("side")).await;
    assert_eq!(side.lines().count(), 13);
    import(&mut tenant, import::Format::AiSdk, "copy", &all).await;
    assert_eq!(exported(&tenant.session("copy"), Format::AiSdk, Options::default()).await, all);
}

#[tokio::test]
async fn summaries_stand_in_place_only_where_they_are_wanted() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    for number in 0..4 {
        let message = format!(
            "{{\"id\":\"m{number}\",\"role\":\"user\",\"parts\":[{{\"type\":\"text\",\"text\":\"says {number}\"}}]}}"
        );
        session.append_message(message).await.unwrap();
    }
    session.add_compaction("in short", "m1", "m2").await.unwrap();
    let whole = exported(&session, Format::Markdown, Options::default()).await;
    assert!(whole.contains("says 1") && !whole.contains("in short"), "{whole}");
    let short = exported(&session, Format::Markdown, Options { leaf: None, summaries: true }).await;
    assert!(!short.contains("says 1") && short.contains("(summary)") && short.contains("in short"), "{short}");
}

#[tokio::test]
async fn nothing_is_exported_as_nothing_and_an_unknown_leaf_writes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    let empty = exported(&session, Format::OpenAiMessages, Options::default()).await;
    assert_eq!(serde_json::from_str::<Value>(&empty).unwrap(), serde_json::json!([]));
    assert_eq!(exported(&session, Format::Markdown, Options::default()).await, "");
    let mut out = Vec::new();
    let error = export(&session, Format::AiSdk, &leaf("none"), &mut out).await.unwrap_err();
    assert!(matches!(error, ExportError::Store(_)) && out.is_empty(), "{error}");
}
