//! Rules that hold for the text of the WIT. Each rule answers what breaks it, and is tried on a text that does.

use wit_parser::{FunctionKind, Stability, Type, TypeDefKind};

use crate::{items::Contract, names::reserved_in};

/// Functions of `store` and `context` that are about the whole store, and so take no session.
const STORE_WIDE: &[&str] = &[
    "configure",
    "update-index",
    "search",
    "list-sessions",
    "changes",
    "export-lines",
    "import-lines",
    "snapshot",
    "vacuum",
    "stats",
    "check",
    "close",
];

/// Complains with everything that breaks a rule at once.
fn nothing_breaks(rule: fn(&Contract) -> Vec<String>) {
    let broken = rule(&Contract::read());
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// The rule finds what is wrong in a text that was made to break it, and it only.
fn breaks(rule: fn(&Contract) -> Vec<String>, text: &str, expected: &[&str]) {
    let mut found = rule(&Contract::of(text));
    found.iter_mut().for_each(|line| line.truncate(line.find(':').unwrap_or(line.len())));
    assert_eq!(found, expected);
}

fn undocumented(contract: &Contract) -> Vec<String> {
    let items = contract.items();
    let silent = items.iter().filter(|item| {
        let text = item.docs.as_ref().map(|docs| docs.contents.as_deref().unwrap_or_default());
        text.is_some_and(|text| text.trim().is_empty())
    });
    silent.map(|item| format!("{}: no documentation", item.path)).collect()
}

fn without_since(contract: &Contract) -> Vec<String> {
    let items = contract.items();
    let ageless = items
        .iter()
        .filter(|item| item.stability.as_ref().is_some_and(|stability| !matches!(stability, Stability::Stable { .. })));
    ageless.map(|item| format!("{}: no @since", item.path)).collect()
}

fn reserved_names(contract: &Contract) -> Vec<String> {
    let items = contract.items();
    items.iter().filter_map(|item| Some(format!("{}: a word of {}", item.path, reserved_in(&item.name)?))).collect()
}

/// A nested option is a value inside a value in some languages and lost in others.
fn nested_options(contract: &Contract) -> Vec<String> {
    let is_option = |ty: Type| matches!(contract.kind(ty), Some(TypeDefKind::Option(_)));
    let nested = contract.all_types().filter(|id| match contract.resolve.types[*id].kind {
        TypeDefKind::Option(inner) => is_option(inner),
        _ => false,
    });
    nested.map(|id| format!("{}: an option of an option", place(contract, id))).collect()
}

/// What not every generator of bindings has, and what a host in another process could not hold.
fn beyond_plain_values(contract: &Contract) -> Vec<String> {
    let kinds = contract.all_types().filter_map(|id| {
        let kind = &contract.resolve.types[id].kind;
        let odd = matches!(
            kind,
            TypeDefKind::Resource
                | TypeDefKind::Handle(_)
                | TypeDefKind::Future(_)
                | TypeDefKind::Stream(_)
                | TypeDefKind::Map(..)
                | TypeDefKind::FixedLengthList(..)
        );
        odd.then(|| format!("{}: a {}", place(contract, id), kind.as_str()))
    });
    let functions = contract.functions().filter(|(_, function)| !matches!(function.kind, FunctionKind::Freestanding));
    kinds
        .chain(functions.map(|(interface, function)| format!("{interface}.{}: no plain function", function.name)))
        .collect()
}

/// The session comes first, so that every binding reads alike.
fn without_session(contract: &Contract) -> Vec<String> {
    let of_sessions = contract.functions().filter(|(interface, function)| {
        ["store", "context"].contains(interface) && !STORE_WIDE.contains(&function.name.as_str())
    });
    let wrong = of_sessions.filter(|(_, function)| {
        let first = function.params.first();
        first.is_none_or(|param| param.name != "session" || param.ty != Type::String)
    });
    wrong
        .map(|(interface, function)| format!("{interface}.{}: `session: string` is not first", function.name))
        .collect()
}

/// Every function can fail, and says why in its interface's one way.
fn without_error(contract: &Contract) -> Vec<String> {
    let name_of = |ty: Type| match contract.behind(ty) {
        Type::Id(id) => contract.resolve.types[id].name.as_deref(),
        _ => None,
    };
    let wrong = contract.functions().filter(|(interface, function)| {
        let expected = if *interface == "summarizer" { "summarize-error" } else { "error" };
        let error = match function.result.and_then(|result| contract.kind(result)) {
            Some(TypeDefKind::Result(result)) => result.err,
            _ => None,
        };
        error.and_then(name_of) != Some(expected)
    });
    wrong.map(|(interface, function)| format!("{interface}.{}: no result with the error", function.name)).collect()
}

/// One record in all cases of `error`: a caller that does not know a case still has the sentence.
fn uneven_error_cases(contract: &Contract) -> Vec<String> {
    let resolve = &contract.resolve;
    let errors = resolve.types.iter().filter(|(_, ty)| ty.name.as_deref() == Some("error"));
    let variants =
        errors.filter_map(|(_, ty)| if let TypeDefKind::Variant(variant) = &ty.kind { Some(variant) } else { None });
    let is_info = |ty: Type| matches!(ty, Type::Id(id) if resolve.types[id].name.as_deref() == Some("error-info"));
    let cases = variants.flat_map(|variant| &variant.cases).filter(|case| !case.ty.is_some_and(is_info));
    cases.map(|case| format!("error.{}: carries no error-info", case.name)).collect()
}

/// Where a type stands, or what it is where it has no name.
fn place(contract: &Contract, id: wit_parser::TypeId) -> String {
    let ty = &contract.resolve.types[id];
    ty.name.clone().unwrap_or_else(|| format!("a type without a name ({})", ty.kind.as_str()))
}

#[test]
fn the_list_of_items_holds_all_that_the_text_names() {
    let contract = Contract::read();
    let paths: Vec<_> = contract.items().into_iter().map(|item| item.path).collect();
    for expected in [
        "types",
        "types.error",
        "types.error.busy",
        "types.error-info.limit",
        "types.delete-mode.splice",
        "types.search-fields.tools",
        "store.append-message",
        "store.append-message.options",
        "summarizer.summarize",
        "sessions",
        "sessions.talktree:sessions/store@0_1_0",
    ] {
        assert!(paths.iter().any(|path| path == expected), "{expected} is not in {paths:#?}");
    }
    // Each `@since` of the text belongs to one item that is looked at.
    let text: String = ["types", "store", "context", "summarizer", "world"]
        .iter()
        .filter_map(|name| std::fs::read_to_string(crate::items::wit_dir().join(name).with_extension("wit")).ok())
        .collect();
    let dated = contract.items().iter().filter(|item| item.stability.is_some()).count();
    assert_eq!(dated, text.matches("@since(").count());
}

#[test]
fn every_item_is_documented() {
    nothing_breaks(undocumented);
    let text = "package a:b@0.1.0;\n/// I.\ninterface i {\n/// R.\nrecord r { x: u8 }\n f: func(p: u8);\n}";
    breaks(undocumented, text, &["i.r.x", "i.f"]);
}

#[test]
fn every_item_says_since_when_it_is_there() {
    nothing_breaks(without_since);
    let text = "package a:b@0.1.0;\n@since(version = 0.1.0)\ninterface i {\nrecord r { x: u8 }\n@since(version = 0.1.0)\nf: func();\n}";
    breaks(without_since, text, &["i.r"]);
}

#[test]
fn no_name_is_a_word_of_wit_javascript_or_python() {
    nothing_breaks(reserved_names);
    let text = "package a:b@0.1.0;\ninterface i {\nenum e { none, fine }\nrecord r { %type: u8, then: u8 }\ndelete: func(lambda: u8);\n}";
    breaks(reserved_names, text, &["i.e.none", "i.r.type", "i.r.then", "i.delete", "i.delete.lambda"]);
}

#[test]
fn no_option_holds_an_option() {
    nothing_breaks(nested_options);
    let text = "package a:b@0.1.0;\ninterface i {\ntype o = option<u8>;\nrecord r { x: option<o> }\n}";
    breaks(nested_options, text, &["a type without a name (option)"]);
}

#[test]
fn there_are_plain_values_and_plain_functions_only() {
    nothing_breaks(beyond_plain_values);
    let text = "package a:b@0.1.0;\ninterface i {\nresource cursor;\nf: async func();\ng: func(c: list<u8, 4>);\n}";
    breaks(beyond_plain_values, text, &["cursor", "a type without a name (fixed-length list)", "i.f"]);
}

#[test]
fn every_function_takes_the_session_first_or_is_about_the_store() {
    nothing_breaks(without_session);
    let text = "package a:b@0.1.0;\ninterface store {\nf: func(session: string);\ng: func(id: string, session: string);\nh: func();\ncheck: func();\n}";
    breaks(without_session, text, &["store.g", "store.h"]);
    let contract = Contract::read();
    for name in STORE_WIDE {
        assert!(contract.functions().any(|(_, function)| function.name == *name), "{name} is no function any more");
    }
}

#[test]
fn every_function_answers_a_result_with_the_error() {
    nothing_breaks(without_error);
    let text = "package a:b@0.1.0;\ninterface i {\nvariant error { x }\nf: func() -> result<u8, error>;\ng: func() -> u8;\nh: func() -> result<u8, string>;\nk: func();\n}";
    breaks(without_error, text, &["i.g", "i.h", "i.k"]);
}

#[test]
fn every_error_carries_the_same_record() {
    nothing_breaks(uneven_error_cases);
    let text = "package a:b@0.1.0;\ninterface i {\nrecord error-info { m: string }\nvariant error { x(error-info), y, z(string) }\n}";
    breaks(uneven_error_cases, text, &["error.y", "error.z"]);
}
