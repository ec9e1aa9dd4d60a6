//! The system prompt: how blocks are shown, how it is kept as it was, and what has changed since.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rusqlite::{OptionalExtension, params};

use super::block::Row;
use crate::append::now;
use crate::chain::damaged;
use crate::error::{Kind, Result};
use crate::place::Place;
use crate::store::{Store, Tx};
use crate::types::{BlockKind, WhenChanged};

/// The line above and below the header of a block.
const RULE: &str = "══════════════════════════════════════════════";

/// What stands between two blocks.
const GAP: &str = "\n\n";

/// What a reminder begins with.
const REMINDER: &str =
    "These blocks have changed since the system prompt was written. What follows takes the place of what it says:";

/// A block as the prompt shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    label: String,
    remind: bool,
    text: String,
}

/// A prompt as it was frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frozen {
    /// The prompt.
    pub(crate) text: String,
    /// For each block in it a line: bytes, 1 for one to be reminded of and else 0, label.
    pub(crate) sections: String,
}

impl Frozen {
    fn new(sections: &[Section]) -> Self {
        let mut lines = String::new();
        for section in sections {
            // Writing to a string does not fail; a label has no line break.
            let _ = writeln!(lines, "{} {} {}", section.text.len(), u8::from(section.remind), section.label);
        }
        let texts: Vec<&str> = sections.iter().map(|section| section.text.as_str()).collect();
        Self { text: texts.join(GAP), sections: lines }
    }

    /// The blocks in it by their labels: whether to be reminded of, and how it was shown. None: the lines do not tell
    /// what the text is made of.
    fn read(&self) -> Option<BTreeMap<&str, (bool, &str)>> {
        let mut sections = BTreeMap::new();
        let mut rest = self.text.as_str();
        for (number, line) in self.sections.lines().enumerate() {
            let mut words = line.splitn(3, ' ');
            let bytes: usize = words.next()?.parse().ok()?;
            let remind = match words.next()? {
                "0" => false,
                "1" => true,
                _ => return None,
            };
            if number > 0 {
                rest = rest.strip_prefix(GAP)?;
            }
            let (text, after) = rest.split_at_checked(bytes)?;
            sections.insert(words.next()?, (remind, text));
            rest = after;
        }
        rest.is_empty().then_some(sections)
    }

    /// Whether it holds together.
    pub(crate) fn is_sound(&self) -> bool {
        self.read().is_some()
    }
}

impl<P: Place> Store<P> {
    /// The system prompt of a session. The first call stores it; it then comes back byte for byte until it is
    /// refreshed.
    ///
    /// Nothing is stored where there is nothing to show in a session that was never written, and where the place can
    /// only be read: the prompt is then made anew each time. A prompt is at most 32 MiB of content and its headers.
    pub fn system_prompt(&mut self, session: &str) -> Result<String> {
        let (prompt, stays) = self.read(|tx| {
            let key = tx.session(session)?.map(|session| session.key);
            if let Some(frozen) = key.map(|key| tx.frozen(key)).transpose()?.flatten() {
                return Ok((frozen.text, true));
            }
            let rows = tx.visible_blocks(key)?;
            Ok((Frozen::new(&tx.sections(&rows)?).text, key.is_none() && rows.is_empty()))
        })?;
        if stays || self.place().read_only() {
            return Ok(prompt);
        }
        match self.write(|tx| tx.freeze(session, false)) {
            Err(error) if error.kind == Kind::ReadOnly => Ok(prompt),
            frozen => frozen,
        }
    }

    /// Makes the system prompt anew, stores it and answers it.
    pub fn refresh_system_prompt(&mut self, session: &str) -> Result<String> {
        self.write(|tx| tx.freeze(session, true))
    }

    /// The blocks to be reminded of ([`WhenChanged::Remind`]) that are shown otherwise now than in the frozen prompt,
    /// as text for the model. None: there are none, or nothing was frozen yet.
    pub fn reminder(&mut self, session: &str) -> Result<Option<String>> {
        self.read(|tx| {
            let Some(key) = tx.session(session)?.map(|session| session.key) else { return Ok(None) };
            let Some(frozen) = tx.frozen(key)? else { return Ok(None) };
            let Some(mut frozen) = frozen.read() else {
                return Err(damaged(format!("the frozen prompt of the session {session:?}")));
            };
            let mut parts = Vec::new();
            for row in tx.visible_blocks(Some(key))? {
                let then = frozen.remove(row.label.as_str());
                if row.when_changed != WhenChanged::Remind {
                    continue;
                }
                let shown = tx.section(&row)?;
                let now = shown.as_ref().map(|section| section.text.as_str());
                if then.map(|(_, text)| text) != now {
                    // One that is left out of a prompt is shown here, so that its being empty is seen.
                    parts.push(shown.map_or_else(|| header(&row), |section| section.text));
                }
            }
            // What is left was there then, and is gone now.
            for (label, (remind, _)) in frozen {
                if remind {
                    parts.push(format!("{RULE}\n{} has been removed.\n{RULE}", label.to_uppercase()));
                }
            }
            Ok((!parts.is_empty()).then(|| format!("{REMINDER}{GAP}{}", parts.join(GAP))))
        })
    }
}

/// What stands above the content of a block.
fn header(row: &Row) -> String {
    let mut line = row.label.to_uppercase();
    if let Some(description) = &row.description {
        line.push_str(&format!(" ({description})"));
    }
    if let Some(usage) = usage(row) {
        line.push_str(&format!(" [{usage}]"));
    }
    let kind = match row.kind {
        BlockKind::ReadOnly => "readonly",
        BlockKind::Writable => "writable",
        BlockKind::Searchable => "searchable",
        BlockKind::Loadable => "loadable",
    };
    format!("{RULE}\n{line} [{kind}]\n{RULE}")
}

/// How full a block with a limit is.
pub(super) fn usage(row: &Row) -> Option<String> {
    let most = row.max_tokens?;
    let (tokens, limit) = (u64::from(row.tokens), u64::from(most.max(1)));
    let percent = (200 * tokens + limit) / (2 * limit);
    Some(format!("{percent}% — {tokens}/{most} tokens"))
}

impl Tx<'_> {
    /// The blocks as the prompt shows them.
    fn sections(&self, rows: &[Row]) -> Result<Vec<Section>> {
        let mut sections = Vec::with_capacity(rows.len());
        for row in rows {
            sections.extend(self.section(row)?);
        }
        Ok(sections)
    }

    /// A block as the prompt shows it; none for one that it leaves out.
    fn section(&self, row: &Row) -> Result<Option<Section>> {
        let content = match row.kind {
            BlockKind::ReadOnly | BlockKind::Writable => {
                self.block_entry(row, "")?.map(|entry| entry.content).unwrap_or_default()
            }
            BlockKind::Searchable => match self.block_keys(row)?.len() {
                1 => "1 entry".to_owned(),
                count => format!("{count} entries"),
            },
            BlockKind::Loadable => {
                let lines: Vec<String> = self
                    .block_keys(row)?
                    .into_iter()
                    .map(|(key, title)| match title {
                        Some(title) => format!("{key}: {title}"),
                        None => key,
                    })
                    .collect();
                lines.join("\n")
            }
        };
        if row.kind == BlockKind::ReadOnly && content.is_empty() {
            return Ok(None);
        }
        let mut text = header(row);
        if !content.is_empty() {
            text.push('\n');
            text.push_str(&content);
        }
        Ok(Some(Section { label: row.label.clone(), remind: row.when_changed == WhenChanged::Remind, text }))
    }

    /// The prompt of a session that was frozen.
    pub(crate) fn frozen(&self, session: i64) -> Result<Option<Frozen>> {
        Ok(self
            .statement("SELECT text, sections FROM prompt WHERE session = ?1")?
            .query_row([session], |row| Ok(Frozen { text: row.get(0)?, sections: row.get(1)? }))
            .optional()?)
    }

    /// Writes the prompt of a session as it is to come back.
    pub(crate) fn save_frozen(&self, session: i64, frozen: &Frozen) -> Result<()> {
        self.statement("INSERT OR REPLACE INTO prompt(session, sections, text) VALUES (?1, ?2, ?3)")?
            .execute(params![session, frozen.sections, frozen.text])?;
        Ok(())
    }

    /// Freezes the prompt of a session, if there is none or a new one is wanted.
    fn freeze(&mut self, session: &str, anew: bool) -> Result<String> {
        let key = self.session(session)?.map(|session| session.key);
        let present = key.map(|key| self.frozen(key)).transpose()?.flatten();
        if let Some(present) = present.as_ref().filter(|_| !anew) {
            return Ok(present.text.clone());
        }
        let rows = self.visible_blocks(key)?;
        if key.is_none() && rows.is_empty() {
            return Ok(String::new());
        }
        let frozen = Frozen::new(&self.sections(&rows)?);
        if present.as_ref() != Some(&frozen) {
            let key = self.ensure_session(session, now())?.key;
            self.save_frozen(key, &frozen)?;
        }
        Ok(frozen.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_has_46_strokes() {
        assert_eq!(RULE, "═".repeat(46));
    }

    #[test]
    fn a_frozen_prompt_tells_its_parts_whatever_they_say() {
        let section = |label: &str, remind, text: &str| Section { label: label.into(), remind, text: text.into() };
        let sections =
            [section("a b", true, "x\n\ny\n\n"), section("", false, ""), section("記", false, "\u{0}\n\n\n部署")];
        let mut frozen = Frozen::new(&sections);
        let read = frozen.read().expect("sound");
        assert_eq!(read.len(), 3);
        for section in &sections {
            assert_eq!(read[section.label.as_str()], (section.remind, section.text.as_str()));
        }
        frozen.text.push('x');
        assert!(!frozen.is_sound());
        assert!(Frozen::new(&[]).is_sound());
    }
}
