//! The transcripts of `tests/transcripts/<format>/<case>/`: what is imported from each `input.*` is in its
//! `expected.json`. `BLESS=1` writes those anew.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Format, Input, Memory, Options, Report, run};

/// The time of the import: 2026-12-01.
const NOW: i64 = 1_796_083_200_000;

fn transcripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/transcripts")
}

fn import(input: &Path, format: Option<Format>, store: &mut Memory) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let options = Options { format, now: Some(NOW), ..Options::default() };
    runtime.block_on(run(Input::file(input).unwrap(), store, options)).unwrap()
}

/// The message as a value; of one that a value cannot hold (lone surrogates) the text.
fn summary(message: &str, format: &str) -> Value {
    let Ok(value) = serde_json::from_str::<Value>(message) else { return json!({ "text": message }) };
    let mut short = json!({ "role": value["role"] });
    short["parts"] = value["parts"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|part| {
            let kind = part["type"].as_str().unwrap_or("?");
            let detail = ["text", "toolCallId", "url", "data"].iter().map(|key| &part[*key]).find(|it| !it.is_null());
            match detail {
                Some(Value::String(detail)) => json!(format!("{kind}: {detail}")),
                Some(detail) => json!(format!("{kind}: {detail}")),
                None => json!(kind),
            }
        })
        .collect();
    for key in ["origin", "before", "after"] {
        let place = if key == "origin" { &value["metadata"][key] } else { &value["metadata"][format][key] };
        match place {
            Value::Null => {}
            Value::Array(asides) => short[key] = asides.iter().map(|aside| aside["type"].clone()).collect(),
            other => short[key] = other.clone(),
        }
    }
    if !value["originalId"].is_null() {
        short["originalId"] = value["originalId"].clone();
    }
    short
}

fn outcome(report: &Report, store: &Memory) -> Value {
    let mut outcome = serde_json::to_value(report).unwrap();
    for session in outcome["sessions"].as_array_mut().unwrap() {
        let id = session["id"].as_str().unwrap().to_owned();
        let messages = store.messages(&id).iter().map(|stored| {
            let mut short = summary(&stored.message, report.format);
            short["id"] = json!(stored.id);
            short["parentId"] = json!(stored.parent_id);
            short["createdAt"] = json!(stored.created_at);
            short
        });
        session["messages"] = messages.collect();
        if !store.summaries(&id).is_empty() {
            session["summaries"] = json!(store.summaries(&id));
        }
    }
    outcome
}

/// What must hold whatever the input.
fn check_promises(report: &Report, store: &mut Memory, input: &Path, format: Format) {
    for session in &report.sessions {
        let mut seen = BTreeSet::new();
        for stored in store.messages(&session.id) {
            if let Some(parent) = &stored.parent_id {
                assert!(seen.contains(parent.as_str()), "parents come first");
            }
            assert!(seen.insert(stored.id.as_str()), "ids are unique");
        }
        if session.leaf_chosen {
            assert_eq!(store.leaf(&session.id), session.leaf.as_deref());
            assert!(seen.contains(session.leaf.as_deref().unwrap()));
        }
    }
    let again = import(input, Some(format), store);
    assert_eq!((again.imported(), again.skipped()), (0, report.imported()), "a second import stores nothing twice");
    assert!(again.sessions.iter().all(|session| !session.leaf_chosen || session.imported + session.skipped == 0));
}

fn check_cases(format: Format) {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    let mut cases: Vec<_> =
        fs::read_dir(transcripts().join(format.name())).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for case in &cases {
        let input = fs::read_dir(case)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_name().unwrap().to_string_lossy().contains("input"))
            .unwrap();
        let mut store = Memory::default();
        let report = import(&input, Some(format), &mut store);
        let found = outcome(&report, &store);
        check_promises(&report, &mut store, &input, format);
        if report.imported() > 0 {
            assert_eq!(Format::detect(&mut Input::file(&input).unwrap()).unwrap(), format, "{}", case.display());
        }
        let expected = case.join("expected.json");
        if bless {
            fs::write(&expected, format!("{found:#}\n")).unwrap();
        } else if serde_json::from_slice::<Value>(&fs::read(&expected).unwrap_or_default()).ok() != Some(found.clone())
        {
            wrong.push(format!("{}:\n{found:#}", case.display()));
        }
    }
    assert!(cases.len() >= 5, "the transcripts of {format} are there");
    assert!(wrong.is_empty(), "these differ from their expected.json:\n{}", wrong.join("\n"));
}

#[test]
fn every_ai_sdk_transcript_gives_what_is_expected() {
    check_cases(Format::AiSdk);
}

#[test]
fn every_chatgpt_transcript_gives_what_is_expected() {
    check_cases(Format::ChatGpt);
}

#[test]
fn every_claude_ai_transcript_gives_what_is_expected() {
    check_cases(Format::ClaudeAi);
}

#[test]
fn every_claude_code_transcript_gives_what_is_expected() {
    check_cases(Format::ClaudeCode);
}

#[test]
fn every_codex_transcript_gives_what_is_expected() {
    check_cases(Format::Codex);
}

#[test]
fn every_openai_messages_transcript_gives_what_is_expected() {
    check_cases(Format::OpenAiMessages);
}

#[test]
fn every_pi_transcript_gives_what_is_expected() {
    check_cases(Format::Pi);
}
