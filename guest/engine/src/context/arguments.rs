//! What a model gives to a tool: one JSON object, of which the members that are asked for count.

use crate::message::json::{Event, Fault, Reader};

/// A member of the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    /// Something else, by its name.
    Other(&'static str),
}

/// The arguments of a tool call. A member that is `null` is one that is not there; of two of one name the last counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arguments(Vec<(String, Value)>);

impl Arguments {
    /// Reads arguments; nothing at all is an empty object, and a JSON string may hold the object. The error says to the
    /// model what is wrong.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let refuse = |what: &str| format!("the arguments must be one JSON object, and they are {what}");
        let fault = |fault: Fault| format!("the arguments must be one JSON object, and they cannot be read: {fault}");
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut reader = Reader::new(text);
        match reader.pull().map_err(fault)? {
            Some(Event::ObjectStart) => Self::members(text).map_err(fault),
            Some(Event::String(raw)) => {
                reader.pull().map_err(fault)?;
                let inner = raw.unescape();
                match Reader::new(&inner).pull() {
                    Ok(Some(Event::ObjectStart)) => Self::members(&inner).map_err(fault),
                    _ => Err(refuse("a string")),
                }
            }
            Some(other) => Err(refuse(other.noun())),
            None => Ok(Self::default()),
        }
    }

    /// The members of an object.
    fn members(text: &str) -> Result<Self, Fault> {
        let mut members: Vec<(String, Value)> = Vec::new();
        let mut reader = Reader::new(text);
        reader.pull()?;
        while let Some(key) = reader.next_key()? {
            let name = key.unescape().into_owned();
            let first = reader.pull()?;
            reader.finish_value()?;
            members.retain(|(known, _)| *known != name);
            match first {
                Some(Event::String(raw)) => members.push((name, Value::Text(raw.unescape().into_owned()))),
                Some(Event::Null) | None => {}
                Some(other) => members.push((name, Value::Other(other.noun()))),
            }
        }
        // Nothing may follow.
        reader.pull()?;
        Ok(Self(members))
    }

    /// A text that may be left out.
    pub(super) fn optional(&self, name: &str) -> Result<Option<&str>, String> {
        match self.0.iter().find(|(known, _)| known == name) {
            None => Ok(None),
            Some((_, Value::Text(text))) => Ok(Some(text)),
            Some((_, Value::Other(noun))) => Err(format!("{name} must be a string, and it is {noun}")),
        }
    }

    /// A text that must be there.
    pub(super) fn required(&self, name: &str) -> Result<&str, String> {
        self.optional(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// What is looked for.
    pub(super) fn query(&self) -> Result<&str, String> {
        match self.required("query")? {
            query if query.trim().is_empty() => Err("query is empty; give words to look for".to_owned()),
            query => Ok(query),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_or_a_string_that_holds_one() {
        for text in [r#" {"a":"b\n","n":null,"x":[{"y":1}]} "#, r#""{\"a\":\"b\\n\",\"x\":{}}""#] {
            let read = Arguments::read(text).unwrap_or_default();
            assert_eq!(read.required("a"), Ok("b\n"));
            assert_eq!(read.optional("n"), Ok(None));
            assert!(read.optional("x").is_err_and(|error| error.starts_with("x must be a string, and it is an ")));
            assert_eq!(read.required("z"), Err("z is missing".to_owned()));
        }
        assert_eq!(Arguments::read(" "), Ok(Arguments::default()));
    }

    #[test]
    fn of_two_members_of_one_name_the_last_counts() {
        let read = Arguments::read(r#"{"a":1,"\u0061":"x","b":"y","b":null}"#).unwrap_or_default();
        assert_eq!((read.optional("a"), read.optional("b")), (Ok(Some("x")), Ok(None)));
    }

    #[test]
    fn what_is_no_object_is_refused_in_words() {
        for text in ["[1]", "1", "null", "{", "{}}", "{}x", r#"{"a":}"#, r#""x""#, r#""{\"a\":""#, "label: x", "\u{0}"]
        {
            let refused = Arguments::read(text);
            assert!(
                refused.as_ref().is_err_and(|error| error.starts_with("the arguments must be one JSON object")),
                "{text}: {refused:?}"
            );
        }
    }
}
