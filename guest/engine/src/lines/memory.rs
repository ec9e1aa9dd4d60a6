//! Lines of memory blocks: a block with all versions that are kept, in one line.

use std::fmt::Write as _;

use super::line::Line;
use crate::context::{CarriedBlock, CarriedEntry};
use crate::message::quote;
use crate::types::{BlockKind, WhenChanged};

/// Writes a block; without a session it is one of the store's.
pub(super) fn write_block(out: &mut String, session: Option<&str>, block: &CarriedBlock) {
    out.push_str(r#"{"type":"block""#);
    write_text(out, "session", session);
    let when_changed = match block.when_changed {
        WhenChanged::Wait => "wait",
        WhenChanged::Remind => "remind",
    };
    let _ = write!(
        out,
        r#","label":{},"kind":"{}","whenChanged":"{when_changed}","declared":{},"version":{}"#,
        quote(&block.label),
        block.kind.name(),
        block.declared,
        block.version,
    );
    if let Some(max_tokens) = block.max_tokens {
        let _ = write!(out, r#","maxTokens":{max_tokens}"#);
    }
    write_text(out, "description", block.description.as_deref());
    out.push_str(r#","versions":["#);
    for (number, (version, created_at)) in block.versions.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(out, r#"{comma}{{"version":{version},"createdAt":{created_at}}}"#);
    }
    out.push_str(r#"],"entries":["#);
    for (number, entry) in block.entries.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(out, r#"{comma}{{"born":{}"#, entry.born);
        if let Some(died) = entry.died {
            let _ = write!(out, r#","died":{died}"#);
        }
        let _ = write!(out, r#","place":{}"#, entry.place);
        write_text(out, "key", Some(entry.name.as_str()).filter(|name| !name.is_empty()));
        write_text(out, "title", entry.title.as_deref());
        write_text(out, "content", Some(&entry.content));
        out.push('}');
    }
    out.push_str("]}");
}

fn write_text(out: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        let _ = write!(out, r#","{name}":{}"#, quote(text));
    }
}

/// Reads a block.
pub(super) fn read_block(line: &Line<'_>) -> Result<CarriedBlock, String> {
    let kind = line.needed_text("kind")?;
    let kind = BlockKind::from_name(&kind).ok_or_else(|| format!("{kind:?} is no kind of block"))?;
    let when_changed = match line.text("whenChanged")?.as_deref() {
        None | Some("wait") => WhenChanged::Wait,
        Some("remind") => WhenChanged::Remind,
        Some(other) => return Err(format!("`whenChanged` is {other:?}, which is neither wait nor remind")),
    };
    let versions = line.objects("versions")?;
    let versions = versions.iter().map(|version| Ok((needed(version, "version")?, needed(version, "createdAt")?)));
    let entries = line.objects("entries")?.iter().map(read_entry).collect::<Result<_, String>>()?;
    Ok(CarriedBlock {
        declared: needed(line, "declared")?,
        label: line.needed_text("label")?.into_owned(),
        description: line.text("description")?.map(Into::into),
        kind,
        when_changed,
        max_tokens: line.number("maxTokens")?,
        version: needed(line, "version")?,
        versions: versions.collect::<Result<_, String>>()?,
        entries,
    })
}

fn read_entry(entry: &Line<'_>) -> Result<CarriedEntry, String> {
    Ok(CarriedEntry {
        born: needed(entry, "born")?,
        died: entry.number("died")?,
        place: needed(entry, "place")?,
        name: entry.text("key")?.unwrap_or_default().into_owned(),
        title: entry.text("title")?.map(Into::into),
        content: entry.needed_text("content")?.into_owned(),
    })
}

fn needed<T: std::str::FromStr>(line: &Line<'_>, name: &str) -> Result<T, String> {
    line.number(name)?.ok_or_else(|| format!("`{name}` is missing"))
}
