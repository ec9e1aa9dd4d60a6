//! The file of a store, as far as its first bytes tell.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::{Finding, Level};

/// How much of the file is read.
const HEADER_BYTES: usize = 100;

/// What SQLite writes at the beginning of its files.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What says that a SQLite file is ours: `docs/file-format.md`.
const APPLICATION_ID: u32 = 0x546b_5472;

/// The schema that the component has.
const SCHEMA_VERSION: u32 = 2;

/// What is wrong with the store in this file; none: nothing, as far as its beginning tells. Where there is a log, what counts
/// may stand there: then only what no log changes is judged.
pub(super) fn examine(file: &Path, has_log: bool) -> Option<Finding> {
    let unreadable = |error: std::io::Error| {
        Finding::new("integrity", Level::Problem, format!("{} cannot be read: {error}", file.display()))
            .advice("give it to the user that talktree runs as (chown)")
    };
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let opened = File::open(file).and_then(|opened| {
        let length = opened.metadata()?.len();
        opened.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
        Ok(length)
    });
    match opened {
        Ok(_) if has_log && header.starts_with(MAGIC) => None,
        Ok(length) => judge(&header, length),
        Err(error) => Some(unreadable(error)),
    }
}

fn judge(header: &[u8], length: u64) -> Option<Finding> {
    let damaged = |sentence: String| {
        Finding::new("integrity", Level::Problem, sentence)
            .advice("look at it with --deep; a snapshot from before is the way back")
    };
    let number = |at: usize| {
        let bytes = header.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    if !header.starts_with(MAGIC) || header.len() < HEADER_BYTES {
        return Some(damaged("its file is no database: it was overwritten, or cut off".to_owned()));
    }
    if number(68) != Some(APPLICATION_ID) {
        let finding = Finding::new("integrity", Level::Problem, "its file is a database of another program");
        return Some(finding.advice("it was left alone: put the right file there"));
    }
    match number(60) {
        Some(SCHEMA_VERSION) => {}
        Some(version) if version > SCHEMA_VERSION => {
            let sentence =
                format!("it was written by a later version (schema {version}, this one knows {SCHEMA_VERSION})");
            return Some(Finding::new("schema", Level::Problem, sentence).advice("use that version of talktree"));
        }
        version => {
            let version = version.unwrap_or_default();
            let sentence = format!("it is of an earlier schema ({version}); opening it makes a copy and migrates it");
            return Some(Finding::new("schema", Level::Note, sentence));
        }
    }
    let page = match header.get(16..18).map(|bytes| u64::from(bytes[0]) << 8 | u64::from(bytes[1])) {
        Some(1) => 65_536,
        page => page.unwrap_or_default(),
    };
    let (pages, changed, valid) = (number(28).unwrap_or_default(), number(24), number(92));
    // The number of pages counts where the last writer has kept it.
    if changed == valid && page > 0 && length < u64::from(pages) * page {
        let wanted = u64::from(pages) * page;
        return Some(damaged(format!("its file was cut off: {length} bytes of {wanted} are there")));
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    /// The beginning of a store with two pages.
    fn header() -> Vec<u8> {
        let mut header = vec![0; HEADER_BYTES];
        header[..16].copy_from_slice(MAGIC);
        header[16..18].copy_from_slice(&4096_u16.to_be_bytes());
        header[28..32].copy_from_slice(&2_u32.to_be_bytes());
        header[60..64].copy_from_slice(&SCHEMA_VERSION.to_be_bytes());
        header[68..72].copy_from_slice(&APPLICATION_ID.to_be_bytes());
        header
    }

    fn changed(at: usize, value: u32) -> Option<Finding> {
        let mut header = header();
        header[at..at + 4].copy_from_slice(&value.to_be_bytes());
        judge(&header, 8192)
    }

    #[test]
    fn a_sound_beginning_says_nothing() {
        assert_eq!(judge(&header(), 8192), None);
        // In the log there may be more.
        assert_eq!(judge(&header(), 12_288), None);
    }

    #[test]
    fn what_is_wrong_is_told_with_what_to_do() {
        let told = |finding: Option<Finding>| finding.map(|finding| (finding.check, finding.level)).unwrap();
        assert_eq!(told(judge(&header()[..50], 50)), ("integrity", Level::Problem));
        assert_eq!(told(judge(&[0; 100], 100)), ("integrity", Level::Problem));
        assert_eq!(told(judge(&header(), 8191)), ("integrity", Level::Problem));
        assert_eq!(told(changed(68, 1)), ("integrity", Level::Problem));
        assert_eq!(told(changed(60, SCHEMA_VERSION + 1)), ("schema", Level::Problem));
        assert_eq!(told(changed(60, 1)), ("schema", Level::Note));
    }
}
