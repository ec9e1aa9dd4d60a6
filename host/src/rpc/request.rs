//! One line as a request: where its parts stand in it.
//!
//! Nothing is decoded that need not be: a param stays a range of the line, so that a message reaches the store in the
//! very bytes of the request, whatever its depth and its numbers.

use std::{fmt, ops::Range};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::failure::Failure;

/// A request that is well formed. Whether there is such a method, and whether the params are right, is not known yet.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) line: String,
    /// The JSON text of the id, to be repeated in the answer; none: no answer is wanted.
    pub(super) id: Option<String>,
    pub(super) method: String,
    /// Names of the params and where their values stand in the line, in order; a name may be there twice.
    pub(super) params: Vec<(String, Range<usize>)>,
}

/// A line that is no request, and the id to answer to (`null` where there is none to be seen). None: no answer is
/// wanted.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) id: Option<String>,
    pub(super) failure: Failure,
}

impl Refused {
    pub(super) fn without_id(failure: Failure) -> Self {
        Self { id: Some("null".to_owned()), failure }
    }
}

impl Request {
    /// Reads a line. None: it is blank.
    pub(super) fn parse(line: Vec<u8>) -> Result<Option<Self>, Refused> {
        let line = String::from_utf8(line).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Refused::without_id(Failure::parse(format!("the line is not UTF-8 (from byte {at} on)")))
        })?;
        let start = line.trim_start_matches([' ', '\t', '\r']);
        if start.is_empty() {
            return Ok(None);
        }
        if !start.starts_with('{') {
            return Err(Refused::without_id(match serde_json::from_str::<&RawValue>(&line) {
                Err(error) => Failure::parse(format!("the line is not JSON: {error}")),
                Ok(_) if start.starts_with('[') => {
                    Failure::request("arrays of requests are not taken: send one request per line")
                }
                Ok(_) => Failure::request("a request is a JSON object"),
            }));
        }
        let Members(members) = serde_json::from_str(&line)
            .map_err(|error| Refused::without_id(Failure::parse(format!("the line is not JSON: {error}"))))?;
        let (id, method, params) = envelope(&line, &members)?;
        Ok(Some(Self { id, method, params, line }))
    }
}

/// The id's JSON text, the method and the params of a request.
type Envelope = (Option<String>, String, Vec<(String, Range<usize>)>);

fn envelope(line: &str, members: &[(&RawValue, &RawValue)]) -> Result<Envelope, Refused> {
    let mut version = None;
    let mut id = None;
    let mut method = None;
    let mut params = None;
    let mut twice = None;
    for (key, value) in members {
        let Some(key) = text(key.get()) else { continue };
        let place = match key.as_str() {
            "jsonrpc" => &mut version,
            "id" => &mut id,
            "method" => &mut method,
            "params" => &mut params,
            _ => continue,
        };
        if place.replace(value.get()).is_some() {
            twice = Some(key);
        }
    }
    let good = |id: &&str| id.starts_with(['"', '-', 'n']) || id.starts_with(|first: char| first.is_ascii_digit());
    let answer_to = match (id.filter(good), &twice) {
        (Some(id), None) => id.to_owned(),
        _ => "null".to_owned(),
    };
    let refuse = |sentence: &str| Refused { id: Some(answer_to.clone()), failure: Failure::request(sentence) };
    if let Some(key) = &twice {
        return Err(refuse(&format!("{key:?} is there twice")));
    }
    if id.is_some() && id.filter(good).is_none() {
        return Err(refuse("the id has to be a string, a number or null"));
    }
    if version.and_then(text).as_deref() != Some("2.0") {
        return Err(refuse(r#""jsonrpc":"2.0" is missing"#));
    }
    let Some(method) = method else { return Err(refuse("there is no method")) };
    let Some(method) = text(method) else { return Err(refuse("the method has to be a string")) };
    let params = match params {
        None | Some("null") => Vec::new(),
        Some(params) if params.starts_with('{') => {
            // It was read as a value before: reading it again cannot fail.
            let Members(members) = serde_json::from_str(params)
                .map_err(|error| Refused { id: Some(answer_to.clone()), failure: Failure::parse(error.to_string()) })?;
            let offset = |value: &str| value.as_ptr() as usize - line.as_ptr() as usize;
            members
                .into_iter()
                .map(|(key, value)| {
                    let name = text(key.get()).unwrap_or_else(|| key.get().to_owned());
                    let start = offset(value.get());
                    (name, start..start + value.get().len())
                })
                .collect()
        }
        Some(_) => {
            return Err(Refused {
                id: id.map(str::to_owned),
                failure: Failure::param("\"params\" has to be an object with the params by name"),
            });
        }
    };
    Ok((id.map(str::to_owned), method, params))
}

/// The members of an object, as they stand.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

/// The text of a JSON string; none where it is no string or holds a lone surrogate.
pub(super) fn text(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn parsed(line: &str) -> Request {
        Request::parse(line.as_bytes().to_vec()).unwrap().unwrap()
    }

    fn refused(line: &[u8]) -> (String, String) {
        let refused = Request::parse(line.to_vec()).unwrap_err();
        (refused.id.unwrap(), refused.failure.json())
    }

    #[test]
    fn a_param_is_the_very_bytes_of_the_line() {
        let message = r#"{"id":"m", "n":[1.0,1e3,18446744073709551616], "t":"\ud83d\/ é"}"#;
        let request = parsed(&format!(
            r#" {{ "params" : {{"tenant":"t","message":  {message}  }},"method":"a","id":"x\u0031","jsonrpc":"2.0"}} "#
        ));
        assert_eq!(request.id.as_deref(), Some(r#""x\u0031""#));
        assert_eq!(request.method, "a");
        let (name, range) = &request.params[1];
        assert_eq!((name.as_str(), &request.line[range.clone()]), ("message", message));
    }

    #[test]
    fn depth_is_no_matter_of_the_protocol() {
        for depth in [128, 129, 100_000] {
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let request = parsed(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"message":{deep}}}}}"#));
            assert_eq!(&request.line[request.params[0].1.clone()], deep);
        }
    }

    #[test]
    fn blank_lines_are_nothing() {
        for line in ["", " ", "\t \r"] {
            assert!(Request::parse(line.as_bytes().to_vec()).unwrap().is_none());
        }
    }

    #[test]
    fn what_is_not_json_is_a_parse_error_without_id() {
        for line in [
            &b"{"[..],
            b"hello",
            b"[1,",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\tng\"}",
            b"{\"a\tb\":1}",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            b"\xed\xa0\x80",
        ] {
            let (id, json) = refused(line);
            assert_eq!(id, "null");
            assert!(json.contains("-32700"), "{json}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused_with_its_id_where_it_has_one() {
        for (line, id) in [
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "null"),
            ("[]", "null"),
            ("7", "null"),
            ("{}", "null"),
            (r#"{"id":1,"method":"ping"}"#, "1"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "1"),
            (r#"{"jsonrpc":2.0,"id":"a","method":"ping"}"#, "\"a\""),
            (r#"{"jsonrpc":"2.0","id":1}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "1"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "null"),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "null"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "null"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "null"),
            (r#"{"jsonrpc":"2.0","method":5}"#, "null"),
        ] {
            let (to, json) = refused(line.as_bytes());
            assert_eq!(to, id, "{line}");
            assert!(json.contains("-32600"), "{line}: {json}");
        }
    }

    #[test]
    fn params_are_an_object_or_nothing() {
        assert!(parsed(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).params.is_empty());
        assert!(parsed(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#).params.is_empty());
        for params in ["[]", "\"x\"", "5", "true"] {
            let (_, json) =
                refused(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#).as_bytes());
            assert!(json.contains("-32602"), "{json}");
        }
        let unanswered = Request::parse(br#"{"jsonrpc":"2.0","method":"ping","params":[]}"#.to_vec()).unwrap_err();
        assert_eq!(unanswered.id, None);
    }

    #[test]
    fn ids_may_be_any_string_number_or_null() {
        for id in ["1", "-1.50", "1e3", "\"\\ud83d\"", "null", "18446744073709551616"] {
            let request = parsed(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
            assert_eq!(request.id.as_deref(), Some(id));
        }
        assert_eq!(parsed(r#"{"jsonrpc":"2.0","method":"ping"}"#).id, None);
    }
}
