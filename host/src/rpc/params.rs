//! The params of a request, by name and with their types.
//!
//! A missing, unknown, repeated or wrongly typed param is -32602, and the sentence names it. A value of the right type
//! that cannot be is `invalid-argument`. `null` is as if absent, but where a method asks with [`Params::nullable_text`]
//! or [`Params::setting`].

use std::{collections::HashSet, ops::Range};

use serde_json::value::RawValue;

use super::{
    failure::{Failure, shown},
    number::{Whole, whole},
    request::{Request, text},
};

/// A tenant's name is at most this many bytes.
const TENANT_BYTES: usize = 512;

/// What became of a param that may be left as it is, put back, or given.
#[derive(Debug, PartialEq)]
pub(super) enum Setting<T> {
    Keep,
    Reset,
    Value(T),
}

/// The params of one request.
#[derive(Clone, Copy)]
pub(super) struct Params<'a> {
    line: &'a str,
    members: &'a [(String, Range<usize>)],
}

impl<'a> Params<'a> {
    /// The params, of which each must be one of those known, and be there once.
    pub(super) fn of(request: &'a Request, known: &[&[&str]]) -> Result<Self, Failure> {
        let mut seen = HashSet::new();
        for (name, _) in &request.params {
            if !known.iter().any(|names| names.contains(&name.as_str())) {
                let names = known.concat().join(", ");
                let names = if names.is_empty() { "none" } else { &names };
                return Err(Failure::param(format!("there is no param {}; known are: {names}", shown(name))));
            }
            if !seen.insert(name.as_str()) {
                return Err(Failure::param(format!("the param {name:?} is there twice")));
            }
        }
        Ok(Self { line: &request.line, members: &request.params })
    }

    /// The JSON text of a param; none where it is absent or null.
    fn given(&self, name: &str) -> Option<&'a str> {
        self.present(name).filter(|json| *json != "null")
    }

    /// The JSON text of a param; none where it is absent.
    fn present(&self, name: &str) -> Option<&'a str> {
        self.members.iter().find(|(known, _)| known == name).map(|(_, range)| &self.line[range.clone()])
    }

    /// The tenant's name; absent: the one that goes without saying, if there is one.
    pub(super) fn tenant(&self, otherwise: Option<&str>) -> Result<String, Failure> {
        let named = self.named("tenant")?;
        let tenant = named.or_else(|| otherwise.map(str::to_owned)).ok_or_else(|| missing("tenant"))?;
        if tenant.is_empty() || tenant.len() > TENANT_BYTES {
            let bytes = tenant.len();
            return Err(Failure::param(format!("\"tenant\" has to be 1 to {TENANT_BYTES} bytes long, it is {bytes}")));
        }
        Ok(tenant)
    }

    /// The session's id; absent: the default session.
    pub(super) fn session(&self) -> Result<String, Failure> {
        Ok(self.named("session")?.unwrap_or_default())
    }

    /// The session's id, where its absence means something else.
    pub(super) fn session_if_given(&self) -> Result<Option<String>, Failure> {
        self.named("session")
    }

    /// The session's id, where null means something else; absent: the default session.
    pub(super) fn nullable_session(&self) -> Result<Option<String>, Failure> {
        if self.present("session") == Some("null") { Ok(None) } else { self.session().map(Some) }
    }

    /// A name of something of ours that has to be given.
    pub(super) fn required_name(&self, name: &str) -> Result<String, Failure> {
        self.named(name)?.ok_or_else(|| missing(name))
    }

    /// A text that names something of ours: a lone surrogate in it is a mistake of the request's form.
    fn named(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(json) = self.given(name) else { return Ok(None) };
        check_type(name, json, "a string", json.starts_with('"'))?;
        match text(json) {
            Some(text) => Ok(Some(text)),
            None => Err(Failure::param(format!("{name:?} holds a lone surrogate"))),
        }
    }

    /// A text, where it is given.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        self.given(name).map(|json| string(name, json)).transpose()
    }

    /// A text that has to be given and may be anything: lone surrogates, which are no characters, become the sign for one
    /// that is unknown.
    pub(super) fn required_any_text(&self, name: &str) -> Result<String, Failure> {
        let json = self.given(name).ok_or_else(|| missing(name))?;
        check_type(name, json, "a string", json.starts_with('"'))?;
        Ok(text(json).unwrap_or_else(|| String::from_utf16_lossy(&units(json))))
    }

    /// Any JSON, null too, as it stands.
    pub(super) fn json_or_null(&self, name: &str) -> Result<String, Failure> {
        self.present(name).map(str::to_owned).ok_or_else(|| missing(name))
    }

    /// A text that has to be given.
    pub(super) fn required_text(&self, name: &str) -> Result<String, Failure> {
        self.text(name)?.ok_or_else(|| missing(name))
    }

    /// A text or null, which mean different things; none where it is absent.
    pub(super) fn nullable_text(&self, name: &str) -> Result<Option<Option<String>>, Failure> {
        match self.present(name) {
            None => Ok(None),
            Some("null") => Ok(Some(None)),
            Some(json) => string(name, json).map(|text| Some(Some(text))),
        }
    }

    /// A text or null, one of which has to be there.
    pub(super) fn required_nullable_text(&self, name: &str) -> Result<Option<String>, Failure> {
        self.nullable_text(name)?.ok_or_else(|| missing(name))
    }

    /// Any JSON, as it stands: whether it is a message is for the store to say.
    pub(super) fn json(&self, name: &str) -> Result<String, Failure> {
        self.given(name).map(str::to_owned).ok_or_else(|| missing(name))
    }

    /// A list of anything, each as it stands.
    pub(super) fn jsons(&self, name: &str) -> Result<Vec<String>, Failure> {
        let json = self.given(name).ok_or_else(|| missing(name))?;
        Ok(elements(name, json)?.into_iter().map(|element| element.get().to_owned()).collect())
    }

    /// A list of anything, each as it stands, where it is given.
    pub(super) fn jsons_if_given(&self, name: &str) -> Result<Option<Vec<String>>, Failure> {
        let Some(json) = self.given(name) else { return Ok(None) };
        Ok(Some(elements(name, json)?.into_iter().map(|element| element.get().to_owned()).collect()))
    }

    /// A list of texts that has to be given.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, Failure> {
        let json = self.given(name).ok_or_else(|| missing(name))?;
        strings(name, json)
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Failure> {
        match self.given(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(mistyped(name, "true or false")),
        }
    }

    /// A whole number in the range of its type.
    pub(super) fn number<T: TryFrom<i128>>(&self, name: &str) -> Result<Option<T>, Failure> {
        self.given(name).map(|json| number(name, json)).transpose()
    }

    /// A whole number that has to be given.
    pub(super) fn required_number<T: TryFrom<i128>>(&self, name: &str) -> Result<T, Failure> {
        self.number(name)?.ok_or_else(|| missing(name))
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Failure> {
        self.given(name).map(|json| choice(name, json, words)).transpose()
    }

    /// A setting: absent keeps it, null puts it back.
    pub(super) fn setting<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str, &str) -> Result<T, Failure>,
    ) -> Result<Setting<T>, Failure> {
        match self.present(name) {
            None => Ok(Setting::Keep),
            Some("null") => Ok(Setting::Reset),
            Some(json) => read(name, json).map(Setting::Value),
        }
    }
}

/// Reads a text.
pub(super) fn string(name: &str, json: &str) -> Result<String, Failure> {
    check_type(name, json, "a string", json.starts_with('"'))?;
    text(json).ok_or_else(|| Failure::argument(name, format!("{name:?} holds a lone surrogate: nothing is named so")))
}

/// The UTF-16 code units of a JSON string, lone surrogates among them.
fn units(json: &str) -> Vec<u16> {
    let mut units = Vec::new();
    let mut rest = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(json);
    while let Some(at) = rest.find('\\') {
        units.extend(rest[..at].encode_utf16());
        let escape = &rest[at..];
        let length = if escape.as_bytes().get(1) == Some(&b'u') { 6 } else { 2 };
        let (escape, behind) = escape.split_at(length.min(escape.len()));
        match escape.strip_prefix("\\u").and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
            Some(unit) => units.push(unit),
            None => units.extend(text(&format!("\"{escape}\"")).unwrap_or_default().encode_utf16()),
        }
        rest = behind;
    }
    units.extend(rest.encode_utf16());
    units
}

/// Reads a list of texts.
pub(super) fn strings(name: &str, json: &str) -> Result<Vec<String>, Failure> {
    elements(name, json)?
        .into_iter()
        .map(|element| {
            check_type(name, element.get(), "a list of strings", element.get().starts_with('"'))?;
            string(name, element.get())
        })
        .collect()
}

/// Reads a whole number.
pub(super) fn number<T: TryFrom<i128>>(name: &str, json: &str) -> Result<T, Failure> {
    check_type(name, json, "a whole number", is_number(json))?;
    match whole(json) {
        Whole::Fraction => Err(mistyped(name, "a whole number")),
        Whole::Huge => Err(out_of_range(name, json)),
        Whole::Is(value) => T::try_from(value).map_err(|_| out_of_range(name, json)),
    }
}

/// Reads any number.
pub(super) fn factor(name: &str, json: &str) -> Result<f64, Failure> {
    check_type(name, json, "a number", is_number(json))?;
    match json.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(out_of_range(name, json)),
    }
}

/// Reads one of a few words.
pub(super) fn choice<T: Copy>(name: &str, json: &str, words: &[(&str, T)]) -> Result<T, Failure> {
    let given = string(name, json)?;
    words.iter().find(|(word, _)| *word == given).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        Failure::argument(name, format!("{name:?} is one of {}, not {}", words.join(", "), shown(&given)))
    })
}

fn elements<'j>(name: &str, json: &'j str) -> Result<Vec<&'j RawValue>, Failure> {
    check_type(name, json, "a list", json.starts_with('['))?;
    serde_json::from_str(json).map_err(|_| mistyped(name, "a list"))
}

fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

fn check_type(name: &str, json: &str, what: &str, right: bool) -> Result<(), Failure> {
    if right { Ok(()) } else { Err(mistyped_as(name, what, json)) }
}

fn mistyped_as(name: &str, what: &str, json: &str) -> Failure {
    let is = match json.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    };
    Failure::param(format!("{name:?} has to be {what}, it is {is}"))
}

fn mistyped(name: &str, what: &str) -> Failure {
    Failure::param(format!("{name:?} has to be {what}"))
}

fn missing(name: &str) -> Failure {
    Failure::param(format!("{name:?} is missing"))
}

fn out_of_range(name: &str, json: &str) -> Failure {
    let short: String = json.chars().take(40).collect();
    Failure::argument(name, format!("{name:?} is out of its range: {short}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn request(params: &str) -> Request {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        Request::parse(line.into_bytes()).unwrap().unwrap()
    }

    /// What a reading of the params `{"p": json}` fails with: the code, or the kind.
    fn failure<T: std::fmt::Debug>(json: &str, read: impl Fn(Params<'_>) -> Result<T, Failure>) -> String {
        let request = request(&format!(r#"{{"p":{json}}}"#));
        let failure = read(Params::of(&request, &[&["p"]]).unwrap()).unwrap_err().json();
        assert!(failure.contains("\\\"p\\\"") || failure.contains("\\\"q\\\""), "the param is named: {failure}");
        if failure.contains("-32602") { "params".into() } else { failure }
    }

    fn value<T>(json: &str, read: impl Fn(Params<'_>) -> Result<T, Failure>) -> T {
        let request = request(&format!(r#"{{"p":{json}}}"#));
        read(Params::of(&request, &[&["p"]]).unwrap()).unwrap()
    }

    #[test]
    fn any_text_can_be_looked_for_lone_surrogates_among_it() {
        for (json, expected) in [
            (r#""plain""#, "plain"),
            (r#""\ud800""#, "\u{fffd}"),
            (r#""部\udc00 a\"b\\""#, "部\u{fffd} a\"b\\"),
            (r#""\ud83d\ude00 \ud83d""#, "\u{1f600} \u{fffd}"),
        ] {
            assert_eq!(value(json, |p| p.required_any_text("p")), expected, "{json}");
        }
    }

    #[test]
    fn unknown_and_repeated_params_are_refused_by_name() {
        for (params, name) in [(r#"{"a":1,"b":2}"#, "b"), (r#"{"a":1,"\u0061":2}"#, "a"), (r#"{"\ud83d":1}"#, "ud83d")]
        {
            let request = request(params);
            let failure = Params::of(&request, &[&["a"]]).err().unwrap().json();
            assert!(failure.contains("-32602") && failure.contains(name), "{failure}");
        }
    }

    #[test]
    fn null_is_absent_where_it_means_nothing() {
        assert_eq!(value("null", |p| p.text("p")), None);
        assert_eq!(value("null", |p| p.flag("p")), None);
        assert_eq!(value("null", |p| p.number::<u32>("p")), None);
        assert_eq!(failure("null", |p| p.required_text("p")), "params");
        assert_eq!(failure("null", |p| p.json("p")), "params");
        assert_eq!(failure("null", |p| p.texts("p")), "params");
    }

    #[test]
    fn null_is_a_value_where_it_means_something() {
        assert_eq!(value("null", |p| p.nullable_text("p")), Some(None));
        assert_eq!(value("null", |p| p.nullable_text("absent")), None);
        assert_eq!(value("null", |p| p.setting("p", number::<u32>)), Setting::Reset);
        assert_eq!(value("null", |p| p.setting("absent", number::<u32>)), Setting::Keep);
        assert_eq!(value("7", |p| p.setting("p", number::<u32>)), Setting::Value(7));
        assert_eq!(failure("\"p\"", |p| p.required_nullable_text("q")), "params");
    }

    #[test]
    fn wrong_types_are_refused_by_name() {
        for json in ["1", "true", "{}", "[]"] {
            assert_eq!(failure(json, |p| p.text("p")), "params", "{json}");
            assert_eq!(failure(json, |p| p.nullable_text("p")), "params", "{json}");
            assert_eq!(failure(json, |p| p.choice("p", &[("a", 1)])), "params", "{json}");
        }
        for json in ["\"1\"", "true", "{}", "[]", "1.5", "1e-1"] {
            assert_eq!(failure(json, |p| p.number::<u32>("p")), "params", "{json}");
        }
        for json in ["\"true\"", "1", "{}"] {
            assert_eq!(failure(json, |p| p.flag("p")), "params", "{json}");
        }
        for json in ["\"a\"", "{}", "[1]", "[null]", "[\"a\",[]]"] {
            assert_eq!(failure(json, |p| p.texts("p")), "params", "{json}");
        }
        assert_eq!(failure("{}", |p| p.jsons("p")), "params");
        assert_eq!(failure("\"1.0\"", |p| p.setting("p", factor)), "params");
    }

    #[test]
    fn numbers_beyond_their_range_are_invalid_arguments() {
        for json in ["-1", "4294967296", "1e400", "99999999999999999999999999999999999999999999"] {
            assert!(failure(json, |p| p.number::<u32>("p")).contains("invalid-argument"), "{json}");
        }
        assert_eq!(value("4294967295.0", |p| p.number("p")), Some(u32::MAX));
        assert_eq!(value("18446744073709551615", |p| p.number("p")), Some(u64::MAX));
        assert_eq!(value("-5", |p| p.number("p")), Some(-5i64));
        assert!(failure("1e999", |p| p.setting("p", factor)).contains("invalid-argument"));
    }

    #[test]
    fn words_beyond_those_known_are_invalid_arguments() {
        let failure = failure("\"c\"", |p| p.choice("p", &[("a", 1), ("b", 2)]));
        assert!(failure.contains("invalid-argument") && failure.contains(r#"\"a\", \"b\""#), "{failure}");
        assert_eq!(value("\"b\"", |p| p.choice("p", &[("a", 1), ("b", 2)])), Some(2));
    }

    #[test]
    fn a_tenant_has_1_to_512_bytes() {
        let tenant = |json: &str| {
            let request = request(&format!(r#"{{"tenant":{json}}}"#));
            Params::of(&request, &[&["tenant"]]).unwrap().tenant(None)
        };
        assert_eq!(tenant("\"é\"").unwrap(), "é");
        assert_eq!(tenant(&format!("\"{}\"", "é".repeat(256))).unwrap().len(), 512);
        for json in ["\"\"", "null", "5", "\"\\ud83d\"", &format!("\"{}x\"", "é".repeat(256))] {
            assert!(tenant(json).unwrap_err().json().contains("-32602"), "{json}");
        }
    }

    #[test]
    fn a_lone_surrogate_names_no_session_and_no_message() {
        let request = request(r#"{"session":"\ud83d","id":"a\udc00"}"#);
        let params = Params::of(&request, &[&["session", "id"]]).unwrap();
        assert!(params.session().unwrap_err().json().contains("-32602"));
        assert!(params.required_text("id").unwrap_err().json().contains("invalid-argument"));
    }

    #[test]
    fn lists_of_messages_keep_their_bytes() {
        assert_eq!(
            value(r#"[ {"a": 1.0} , "x\ud83d",null ]"#, |p| p.jsons("p")),
            [r#"{"a": 1.0}"#, r#""x\ud83d""#, "null"]
        );
    }
}
