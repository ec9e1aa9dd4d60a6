//! JSON texts for properties: every way of writing things, with white space and without.

use proptest::prelude::*;

/// A value as it is written: once with white space strewn in, once without.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) spaced: String,
    pub(super) compact: String,
}

impl Written {
    fn token(text: impl Into<String>) -> Self {
        let compact = text.into();
        Self { spaced: compact.clone(), compact }
    }

    fn push(&mut self, other: &Self) {
        self.spaced += &other.spaced;
        self.compact += &other.compact;
    }
}

fn space() -> impl Strategy<Value = Written> {
    prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\n\t "), 1 => Just("\r\n")]
        .prop_map(|space| Written { spaced: space.to_owned(), compact: String::new() })
}

/// The inside of a string: characters and escapes of every kind, lone surrogates among them.
pub(super) fn inside() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zA-Z0-9 ,:{}\\[\\]]{1,12}",
        2 => "[é日本語ก한😀\u{feff}\u{2028}\u{7f}]",
        1 => r#"\\["\\/bfnrt]"#,
        1 => r"\\u00[0-9a-fA-F]{2}",
        1 => r"\\ud83d\\ude0[0-9]",
        1 => r"\\u[dD][89abAB][0-9a-f]{2}",
        1 => r"\\u[dD][c-fC-F][0-9a-f]{2}",
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn string() -> impl Strategy<Value = Written> {
    inside().prop_map(|inside| Written::token(format!("\"{inside}\"")))
}

fn number() -> impl Strategy<Value = Written> {
    "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?".prop_map(Written::token)
}

/// Any value.
pub(super) fn value() -> impl Strategy<Value = Written> {
    let leaf = prop_oneof![
        string(),
        number(),
        prop_oneof![Just("true"), Just("false"), Just("null")].prop_map(Written::token),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec((space(), inner.clone(), space()), 0..6).prop_map(|elements| {
                let elements = elements.into_iter().map(|(before, value, after)| [before, value, after]);
                joined("[", elements.collect(), "]")
            }),
            prop::collection::vec(member(inner), 0..6).prop_map(|members| joined("{", members, "}")),
        ]
    })
}

fn member(value: impl Strategy<Value = Written>) -> impl Strategy<Value = [Written; 3]> {
    (space(), string(), space(), space(), value, space()).prop_map(|(before, key, between, behind, value, after)| {
        let mut middle = key;
        middle.push(&between);
        middle.push(&Written::token(":"));
        middle.push(&behind);
        middle.push(&value);
        [before, middle, after]
    })
}

fn joined(open: &str, items: Vec<[Written; 3]>, close: &str) -> Written {
    let mut whole = Written::token(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            whole.push(&Written::token(","));
        }
        item.iter().for_each(|piece| whole.push(piece));
    }
    whole.push(&Written::token(close));
    whole
}

/// A part: known members with values of every kind.
fn part() -> impl Strategy<Value = Written> {
    let name = prop_oneof![
        Just("type"),
        Just("text"),
        Just("toolCallId"),
        Just("id"),
        Just("output"),
        Just("input"),
        Just("url"),
        Just("mediaType"),
        Just("state"),
        Just("errorText"),
        Just("data"),
        Just("t\\u0065xt"),
    ];
    let kind = prop_oneof![
        Just("text"),
        Just("tool-x"),
        Just("tool_use"),
        Just("tool-result"),
        Just("dynamic-tool"),
        Just("file"),
        Just("image"),
        Just("step-start"),
    ]
    .prop_map(|kind| Written::token(format!("\"{kind}\"")));
    let member = (name, prop_oneof![1 => kind, 2 => value()]).prop_map(|(name, value)| {
        let mut member = Written::token(format!("\"{name}\":"));
        member.push(&value);
        [Written::token(""), member, Written::token("")]
    });
    prop_oneof![3 => prop::collection::vec(member, 0..6).prop_map(|members| joined("{", members, "}")), 1 => value()]
}

/// A member of the top-level metadata, and whether its key is `owner`, written in one of its ways.
pub(super) fn metadata_member() -> impl Strategy<Value = (bool, Written)> {
    let key = prop_oneof![Just("\"owner\""), Just("\"\\u006fwner\""), Just("\"own\\u0065r\""),];
    prop_oneof![
        (key, value()).prop_map(|(key, value)| {
            let mut member = Written::token(format!("{key}:"));
            member.push(&value);
            (true, member)
        }),
        (inside(), value()).prop_map(|(key, value)| {
            let mut member = Written::token(format!("\"m{key}\":"));
            member.push(&value);
            (false, member)
        }),
    ]
}

/// A message whose metadata has these members; where it stands and what else there is varies.
pub(super) fn message() -> impl Strategy<Value = (Message, Written)> {
    let parts = prop::collection::vec((space(), part(), space()), 0..5)
        .prop_map(|parts| joined("[", parts.into_iter().map(|(a, b, c)| [a, b, c]).collect(), "]"));
    let other = (inside(), value());
    (parts, prop::option::of(prop::collection::vec(metadata_member(), 0..5)), other, 0..4usize, space()).prop_map(
        |(parts, metadata, (key, value), place, space)| {
            let message = Message { parts, metadata, other: (key, value), place, space };
            let written = message.written(|_| true);
            (message, written)
        },
    )
}

/// What a generated message is made of.
#[derive(Debug, Clone)]
pub(super) struct Message {
    parts: Written,
    pub(super) metadata: Option<Vec<(bool, Written)>>,
    other: (String, Written),
    place: usize,
    space: Written,
}

impl Message {
    /// The message with those members of the metadata that are wanted. If none is left of some it has no metadata.
    pub(super) fn written(&self, wanted: impl Fn(bool) -> bool) -> Written {
        let around = |middle: Written| [self.space.clone(), middle, self.space.clone()];
        let mut parts = Written::token("\"parts\":");
        parts.push(&self.parts);
        let mut other = Written::token(format!("\"x{}\":", self.other.0));
        other.push(&self.other.1);
        let mut members = vec![
            around(Written::token(r#""id":"m\u0031""#)),
            around(other),
            around(Written::token(r#""role":"user""#)),
            around(parts),
        ];
        if let Some(metadata) = &self.metadata {
            let left: Vec<_> = metadata
                .iter()
                .filter(|(reserved, _)| wanted(*reserved))
                .map(|(_, member)| around(member.clone()))
                .collect();
            if !left.is_empty() || metadata.is_empty() {
                let mut member = Written::token("\"metadata\":");
                member.push(&joined("{", left, "}"));
                members.insert(self.place, around(member));
            }
        }
        joined("{", members, "}")
    }
}
