//! The arguments of a tool as the params of a method.

use serde_json::{Map, Value, value::RawValue};

use super::{
    Confinement,
    catalogue::{MESSAGE, ROLE, SESSION, Scope, TENANT, TEXT, Tool},
};
use crate::{fresh, rpc::Object};

/// What an agent has got wrong, in a sentence for it.
pub(super) type Wrong = String;

/// The params for a call of a tool, and the id of the message that goes with it.
pub(super) fn params(
    tool: &Tool,
    confinement: &Confinement,
    arguments: &Map<String, Value>,
) -> Result<(Object, Option<String>), Wrong> {
    let places: Vec<_> = tool.places(confinement).collect();
    for name in arguments.keys() {
        let known = places.contains(&name.as_str()) || tool.arguments.iter().any(|argument| argument.name == name);
        if !known {
            let names = places.iter().copied().chain(tool.arguments.iter().map(|argument| argument.name));
            let names: Vec<_> = names.collect();
            return Err(format!("{} has no argument {name:?}; it takes: {}", tool.name, names.join(", ")));
        }
    }
    let mut params = Object::new();
    if let Some(tenant) = arguments.get(TENANT) {
        params.json(TENANT, &tenant.to_string());
    }
    let session = arguments.get(SESSION).map(Value::to_string);
    let fixed = confinement.session.as_ref().map(|session| Value::from(session.as_str()).to_string());
    if matches!(tool.scope, Scope::Session | Scope::Within) {
        params.maybe_json(SESSION, fixed.or(session).as_deref());
    }
    for (name, json) in tool.constants {
        params.json(name, json);
    }
    let makes_message = tool.arguments.iter().any(|argument| argument.name == MESSAGE);
    for argument in tool.arguments {
        let of_message = makes_message && matches!(argument.name, MESSAGE | TEXT | ROLE);
        match (arguments.get(argument.name), argument.default) {
            _ if of_message => {}
            (Some(Value::String(text)), _) if argument.nullable && text.is_empty() => {
                params.json(argument.name, "null");
            }
            (Some(value), _) => {
                params.json(argument.name, &value.to_string());
            }
            (None, Some(default)) => {
                params.json(argument.name, default);
            }
            (None, None) if argument.required => return Err(format!("{} needs {:?}", tool.name, argument.name)),
            (None, None) => {}
        }
    }
    let mut id = None;
    if makes_message {
        let message;
        (id, message) = message_of(tool, arguments)?;
        params.json(MESSAGE, &message);
    }
    Ok((params, id))
}

/// The message that is given, or made of a text, and its id.
fn message_of(tool: &Tool, arguments: &Map<String, Value>) -> Result<(Option<String>, String), Wrong> {
    let text = |name: &str| match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("{name:?} has to be a string")),
    };
    match (text(MESSAGE)?, text(TEXT)?) {
        (Some(message), None) => {
            // Whatever is in the string must stay one JSON text among the others.
            let message = serde_json::from_str::<&RawValue>(message)
                .map_err(|error| format!("{MESSAGE:?} has to be a string with the JSON of a message: {error}"))?;
            Ok((id_of(message.get()), message.get().to_owned()))
        }
        (None, Some(said)) => {
            let role = text(ROLE)?.unwrap_or("user");
            let (id, message) = fresh::text_message(role, said).map_err(|error| error.message().to_owned())?;
            Ok((Some(id), message))
        }
        (Some(_), Some(_)) => Err(format!("{} takes {MESSAGE:?} or {TEXT:?}, not both", tool.name)),
        (None, None) => Err(format!("{} needs {MESSAGE:?}", tool.name)),
    }
}

fn id_of(message: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Message {
        id: String,
    }
    serde_json::from_str::<Message>(message).ok().map(|message| message.id)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use serde_json::json;

    use super::{super::catalogue::find, *};

    fn given(name: &str, confinement: &Confinement, arguments: Value) -> Result<Value, Wrong> {
        let Value::Object(arguments) = arguments else { panic!() };
        let (mut params, _) = params(find(name, confinement).unwrap(), confinement, &arguments)?;
        Ok(serde_json::from_str(&params.finish()).unwrap())
    }

    #[test]
    fn arguments_are_params() {
        let open = Confinement::default();
        let params = given("read_history", &open, json!({"tenant": "t", "session": "s", "leafId": "m"})).unwrap();
        let expected = json!({"tenant": "t", "session": "s", "media": "reference", "maxBytes": 32768, "leafId": "m"});
        assert_eq!(params, expected);
        let params = given("list_branches", &open, json!({"tenant": "t", "id": null})).unwrap();
        assert_eq!(params, json!({"tenant": "t", "session": null, "id": null, "limit": 50}));
    }

    #[test]
    fn an_empty_text_stands_for_null_where_there_is_one() {
        let open = Confinement::default();
        let params = given("list_branches", &open, json!({"tenant": "t", "id": ""})).unwrap();
        assert_eq!(params["id"], Value::Null);
        let params = given("append_message", &open, json!({"tenant": "t", "text": "x", "parentId": ""})).unwrap();
        assert_eq!(params.get("parentId"), Some(&Value::Null));
        let params = given("get_message", &open, json!({"tenant": "t", "id": ""})).unwrap();
        assert_eq!(params["id"], "", "a message of no name is none");
    }

    #[test]
    fn who_is_confined_stays_so_whatever_the_arguments_say() {
        let confined = Confinement { tenant: Some("t".into()), session: Some("\"s".into()), read_only: false };
        let params = given("get_message", &confined, json!({"id": "m"})).unwrap();
        assert_eq!(params, json!({"session": "\"s", "media": "reference", "id": "m"}));
        for arguments in [json!({"id": "m", "tenant": "other"}), json!({"id": "m", "session": "other"})] {
            assert!(given("get_message", &confined, arguments).unwrap_err().contains("no argument"));
        }
    }

    #[test]
    fn a_message_is_the_json_in_a_string_and_nothing_more() {
        let open = Confinement::default();
        let append = |message: &str| given("append_message", &open, json!({"tenant": "t", "message": message}));
        assert_eq!(append(r#" {"id":"m","n":1.0} "#).unwrap()["message"], json!({"id": "m", "n": 1.0}));
        for hostile in [r#"{},"tenant":"other""#, r#"{}} {"#, "", "{", "{}x", "{\"a\":1,}"] {
            assert!(append(hostile).unwrap_err().contains("JSON"), "{hostile}");
        }
        let made = given("append_message", &open, json!({"tenant": "t", "text": "hi", "role": "assistant"})).unwrap();
        assert_eq!(made["message"]["role"], "assistant");
        assert_eq!(made["message"]["parts"][0]["text"], "hi");
        for wrong in [json!({"tenant": "t"}), json!({"tenant": "t", "text": "a", "message": "{}"}), json!({"text": 5})]
        {
            assert!(given("append_message", &open, wrong).is_err());
        }
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        let open = Confinement::default();
        assert!(given("get_message", &open, json!({"tenant": "t"})).unwrap_err().contains("\"id\""));
        assert!(
            given("get_message", &open, json!({"tenant": "t", "id": "m", "di": 1})).unwrap_err().contains("\"di\"")
        );
    }
}
