//! The tools as providers get them: which, in what bytes, and that their schemas are right.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use talktree_engine::{BlockDefinition, BlockKind, Tool};

use super::common::{Memory, entry, kind, replace, shared, store};

fn names(store: &mut Memory) -> Vec<String> {
    store.tools("").unwrap().into_iter().map(|tool| tool.name).collect()
}

/// Blocks of every kind.
fn all_kinds() -> (tempfile::TempDir, Memory) {
    let (directory, mut store) = store();
    store.define_block("", "soul", &kind(BlockKind::ReadOnly)).unwrap();
    let facts = BlockDefinition { description: Some("Facts of \"the\" user".into()), ..kind(BlockKind::Writable) };
    store.define_block("", "memory", &facts).unwrap();
    store.define_block("", "notes \"部署\"", &shared(BlockKind::Searchable)).unwrap();
    store.define_block("", "skills", &kind(BlockKind::Loadable)).unwrap();
    (directory, store)
}

/// Compiles a schema, which is judged by the meta-schema of JSON Schema 2020-12 at that.
fn compiled(tool: &Tool) -> (Schemas, SchemaIndex) {
    let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.set_default_draft(boon::Draft::V2020_12);
    compiler.add_resource("tool.json", schema).unwrap();
    let index = compiler.compile("tool.json", &mut schemas).unwrap();
    (schemas, index)
}

#[test]
fn there_are_exactly_the_tools_that_the_blocks_need() {
    let (_directory, mut store) = store();
    assert_eq!(names(&mut store), ["session_search"]);
    store.define_block("", "soul", &kind(BlockKind::ReadOnly)).unwrap();
    assert_eq!(names(&mut store), ["session_search"]);
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    assert_eq!(names(&mut store), ["set_context", "session_search"]);
    store.define_block("", "notes", &kind(BlockKind::Searchable)).unwrap();
    assert_eq!(names(&mut store), ["set_context", "search_context", "session_search"]);
    store.define_block("", "skills", &shared(BlockKind::Loadable)).unwrap();
    let all = ["set_context", "search_context", "load_context", "unload_context", "session_search"];
    assert_eq!(names(&mut store), all);
    store.remove_block("", "memory").unwrap();
    store.remove_block("", "notes").unwrap();
    assert_eq!(names(&mut store), ["set_context", "load_context", "unload_context", "session_search"]);
    assert_eq!(store.tools("never written").unwrap().len(), 4);
}

#[test]
fn equal_definitions_give_equal_bytes_whatever_the_blocks_hold() {
    let (_directory, mut store) = all_kinds();
    let before = store.tools("").unwrap();
    store.write_block("", "memory", &replace("x")).unwrap();
    store.write_block("", "skills", &entry("pdf", "x")).unwrap();
    store.call_tool("", "load_context", r#"{"label":"skills","key":"pdf"}"#).unwrap();
    assert_eq!(store.tools("").unwrap(), before);
    let (_directory, mut other) = all_kinds();
    assert_eq!(other.tools("").unwrap(), before);
}

#[test]
fn a_schema_has_these_bytes() {
    let (_directory, mut store) = all_kinds();
    let search = store.tools("").unwrap().remove(1);
    assert_eq!(
        search.input_schema,
        r#"{"type":"object","properties":{"label":{"type":"string","enum":["notes \"部署\""],"description":"Which block to search."},"query":{"type":"string","description":"Words to look for. \"...\" is a phrase, word* the beginning of a word."}},"required":["label","query"],"additionalProperties":false}"#
    );
}

#[test]
fn schemas_are_json_schema_and_keep_to_what_all_providers_take() {
    let (_directory, mut store) = all_kinds();
    for tool in store.tools("").unwrap() {
        compiled(&tool);
        // What the three say of names and descriptions.
        assert!(tool.name.len() <= 64 && tool.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        assert!(!tool.description.is_empty() && tool.description.chars().count() <= 1024);
        let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
        let schema = schema.as_object().unwrap();
        assert_eq!(schema.keys().collect::<Vec<_>>(), ["additionalProperties", "properties", "required", "type"]);
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        let properties = schema["properties"].as_object().unwrap();
        for required in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()));
        }
        for property in properties.values() {
            let property = property.as_object().unwrap();
            assert_eq!(property["type"], json!("string"));
            assert!(property["description"].as_str().unwrap().chars().count() <= 1024);
            assert!(property.keys().all(|key| ["type", "description", "enum"].contains(&key.as_str())));
        }
    }
}

#[test]
fn schemas_accept_what_the_tools_take_and_nothing_else() {
    let (_directory, mut store) = all_kinds();
    let tools = store.tools("").unwrap();
    let cases = [
        (
            "set_context",
            vec![
                json!({"label": "memory", "content": "x"}),
                json!({"label": "memory", "content": "x", "action": "append"}),
                json!({"label": "skills", "content": "x", "title": "t", "key": "k"}),
            ],
            vec![
                json!({"label": "soul", "content": "x"}),
                json!({"label": "memory"}),
                json!({"content": "x"}),
                json!({"label": "memory", "content": 1}),
                json!({"label": "memory", "content": "x", "action": "delete"}),
                json!({"label": "memory", "content": "x", "more": "y"}),
                json!([]),
            ],
        ),
        (
            "search_context",
            vec![json!({"label": "notes \"部署\"", "query": "x"})],
            vec![json!({"label": "memory", "query": "x"}), json!({"query": "x"})],
        ),
        (
            "load_context",
            vec![json!({"label": "skills", "key": "x"})],
            vec![json!({"label": "skills"}), json!({"label": "memory", "key": "x"})],
        ),
        ("unload_context", vec![json!({"label": "skills", "key": "x"})], vec![json!({"label": "skills", "key": 7})]),
        ("session_search", vec![json!({"query": "x"})], vec![json!({}), json!({"query": ["x"]})]),
    ];
    for (name, right, wrong) in cases {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        let (schemas, index) = compiled(tool);
        for arguments in right {
            assert!(schemas.validate(&arguments, index).is_ok(), "{name} {arguments}");
        }
        for arguments in wrong {
            assert!(schemas.validate(&arguments, index).is_err(), "{name} {arguments}");
        }
    }
}

#[test]
fn title_and_key_are_asked_for_only_where_there_are_entries() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    assert!(!store.tools("").unwrap()[0].input_schema.contains("\"title\""));
    store.define_block("", "notes", &kind(BlockKind::Searchable)).unwrap();
    let schema = &store.tools("").unwrap()[0].input_schema;
    assert!(schema.contains("\"title\"") && schema.contains("\"key\""));
}

#[test]
fn many_blocks_with_long_descriptions_stay_within_the_limits_of_providers() {
    let (_directory, mut store) = store();
    for number in 0..50 {
        let definition = BlockDefinition { description: Some("説".repeat(1000)), ..kind(BlockKind::Searchable) };
        store.define_block("", &format!("{number} {}", "記".repeat(80)), &definition).unwrap();
    }
    for tool in store.tools("").unwrap() {
        compiled(&tool);
        let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
        for property in schema["properties"].as_object().unwrap().values() {
            assert!(property["description"].as_str().unwrap().chars().count() <= 1024);
        }
    }
}
