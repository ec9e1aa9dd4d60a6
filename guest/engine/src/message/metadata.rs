//! The reserved keys of a message's top-level `metadata`, which clients neither write nor lose.
//!
//! Members are moved as they are written, key and value; nothing is parsed and printed again. Texts are compact here.

use super::incoming::{Member, metadata_of};
use super::json::{Event, Fault, Reader};

/// Whether two messages say the same to a client: their compact texts are equal with the reserved keys of the top-level
/// `metadata` left out on both sides. A `metadata` that holds nothing but reserved keys equals both one that is `{}`
/// and none at all.
pub fn same_without_reserved(a: &str, b: &str, keys: &[String]) -> bool {
    if a == b {
        return true;
    }
    if keys.is_empty() {
        return false;
    }
    let plain_a = Plain::new(a, keys);
    let plain_b = Plain::new(b, keys);
    plain_a.pieces(false) == plain_b.pieces(false) || plain_a.pieces(true) == plain_b.pieces(true)
}

/// A message without its reserved members.
struct Plain<'t> {
    text: &'t str,
    cut: Option<(Member, Vec<&'t str>)>,
}

impl<'t> Plain<'t> {
    fn new(text: &'t str, keys: &[String]) -> Self {
        let cut = metadata_of(text).and_then(|member| {
            let split = Split::of(text, &member, keys)?;
            (!split.reserved.is_empty()).then_some((member, split.others))
        });
        Self { text, cut }
    }

    /// The text that is left. An emptied `metadata` goes, or stays as `{}`.
    fn pieces(&self, keep_empty: bool) -> String {
        match &self.cut {
            None => self.text.to_owned(),
            Some((member, others)) if others.is_empty() && !keep_empty => without(self.text, member),
            Some((member, others)) => with_members(self.text, member, others),
        }
    }
}

/// The message without the reserved members; none if it has none.
pub(super) fn strip(text: &str, member: &Member, keys: &[String]) -> Option<String> {
    let split = Split::of(text, member, keys)?;
    if split.reserved.is_empty() {
        None
    } else if split.others.is_empty() {
        Some(without(text, member))
    } else {
        Some(with_members(text, member, &split.others))
    }
}

/// The reserved members of a stored message, as they are written.
pub(super) fn reserved_members<'t>(text: &'t str, keys: &[String]) -> Result<Vec<&'t str>, Fault> {
    // A stored text was checked once; reading it again tells damage from a message without metadata.
    Reader::new(text).skip_value()?;
    let Some(member) = metadata_of(text) else { return Ok(Vec::new()) };
    Ok(Split::of(text, &member, keys).map_or_else(Vec::new, |split| split.reserved))
}

/// An object that has of a stored message only the top-level `metadata`, as it is written there.
pub fn only_metadata(text: &str) -> String {
    let member = metadata_of(text).and_then(|member| text.get(member.key..member.value.end));
    format!("{{{}}}", member.unwrap_or_default())
}

/// The message with its own reserved members replaced by those given, behind its other ones. If its metadata cannot
/// take them, the kind of value that it is.
pub(super) fn merge(
    text: &str,
    member: Option<&Member>,
    kept: &[&str],
    keys: &[String],
) -> Result<String, &'static str> {
    let Some(member) = member else {
        let end = text.len().saturating_sub(1);
        let before = text.get(..end).unwrap_or_default();
        return Ok(format!("{before},\"metadata\":{{{}}}}}", kept.join(",")));
    };
    let mut members = match Split::of(text, member, keys) {
        Some(split) => split.others,
        None => match first_event(text, member) {
            Some(Event::Null) => Vec::new(),
            other => return Err(other.map_or("broken", |event| event.noun())),
        },
    };
    members.extend_from_slice(kept);
    Ok(with_members(text, member, &members))
}

fn first_event<'t>(text: &'t str, member: &Member) -> Option<Event<'t>> {
    Reader::new(text.get(member.value.clone())?).pull().ok()?
}

/// The members of an object, as they are written.
struct Split<'t> {
    reserved: Vec<&'t str>,
    others: Vec<&'t str>,
}

impl<'t> Split<'t> {
    /// The members of the value; none if it is no object.
    fn of(text: &'t str, member: &Member, keys: &[String]) -> Option<Self> {
        let object = text.get(member.value.clone())?;
        let mut reader = Reader::new(object);
        let Some(Event::ObjectStart) = reader.pull().ok()? else { return None };
        let mut split = Self { reserved: Vec::new(), others: Vec::new() };
        while let Event::Key(key) = reader.pull().ok()?? {
            let start = reader.span().start;
            let end = reader.skip_value().ok()?.end;
            let written = object.get(start..end)?;
            if keys.iter().any(|reserved| key.is(reserved)) {
                split.reserved.push(written);
            } else {
                split.others.push(written);
            }
        }
        Some(split)
    }
}

/// The text with other members in the object that is this member's value.
fn with_members(text: &str, member: &Member, members: &[&str]) -> String {
    let before = text.get(..member.value.start).unwrap_or_default();
    let after = text.get(member.value.end..).unwrap_or_default();
    format!("{before}{{{}}}{after}", members.join(","))
}

/// The text without the member and the comma that set it apart.
fn without(text: &str, member: &Member) -> String {
    let before = text.get(..member.key).unwrap_or_default();
    let after = text.get(member.value.end..).unwrap_or_default();
    match before.strip_suffix(',') {
        Some(before) => format!("{before}{after}"),
        None => format!("{before}{}", after.strip_prefix(',').unwrap_or(after)),
    }
}
