//! What users do with the component, done with components that do nothing: a summarizer is plugged into it, and it is
//! plugged into something that keeps its conversations there.

use wac_graph::PlugError;

use crate::dummy::{Sides, of_our_world, of_package, of_world, plugged, sides};

pub(crate) const STORE: &str = "talktree:sessions/store@0.1.0";
pub(crate) const CONTEXT: &str = "talktree:sessions/context@0.1.0";
pub(crate) const SUMMARIZER: &str = "talktree:sessions/summarizer@0.1.0";

/// Interfaces are imported for their types alone, too: nothing has to be provided for that.
pub(crate) const TYPES: &str = "talktree:sessions/types@0.1.0";

/// A component that can summarise.
pub(crate) fn provider() -> Vec<u8> {
    of_world(&format!("export {SUMMARIZER};"))
}

/// A component that stores conversations in another.
pub(crate) fn consumer() -> Vec<u8> {
    of_world(&format!("import {STORE};\nexport run: func();"))
}

#[test]
fn the_world_exports_the_store_and_needs_a_summarizer() {
    let Sides { imports, exports } = sides(&of_our_world("sessions"));
    assert!(imports.contains(&SUMMARIZER.to_owned()), "{imports:?}");
    assert!(exports.contains(&STORE.to_owned()), "{exports:?}");
    assert!(imports.iter().all(|name| [SUMMARIZER, TYPES].contains(&name.as_str())), "{imports:?}");
}

#[test]
fn a_summarizer_can_be_plugged_and_none_is_asked_for_afterwards() {
    let whole = plugged(&of_our_world("sessions"), &provider()).unwrap();
    let Sides { imports, exports } = sides(&whole);
    assert!(!imports.iter().any(|name| name.contains("summarizer")), "{imports:?}");
    assert!(exports.contains(&STORE.to_owned()), "{exports:?}");
}

#[test]
fn a_summarizer_of_another_shape_is_refused() {
    let text = "package talktree:sessions@0.1.0;\ninterface summarizer {\nsummarize: func(prompt: string) -> string;\n}\n\
                world provider { export summarizer; }";
    let error = plugged(&of_our_world("sessions"), &of_package(text, "provider")).unwrap_err();
    assert!(matches!(error, PlugError::NoPlugHappened), "{error:?}");
}

#[test]
fn a_consumer_of_the_store_can_be_composed_on_top() {
    let sessions = plugged(&of_our_world("sessions"), &provider()).unwrap();
    let whole = plugged(&consumer(), &sessions).unwrap();
    assert_eq!(sides(&whole), Sides { imports: vec![TYPES.to_owned()], exports: vec!["run".to_owned()] });
}

#[test]
fn a_consumer_can_be_composed_while_the_summarizer_is_still_open() {
    let whole = plugged(&consumer(), &of_our_world("sessions")).unwrap();
    let Sides { imports, exports } = sides(&whole);
    assert!(imports.contains(&SUMMARIZER.to_owned()), "{imports:?}");
    assert!(!imports.contains(&STORE.to_owned()), "{imports:?}");
    assert_eq!(exports, ["run"]);
}
