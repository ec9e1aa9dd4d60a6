//! What a host sets by environment variables of the component.

#[cfg(target_arch = "wasm32")]
use talktree_engine::Options;
use talktree_engine::{Durability, Error, Kind, Result};

const DURABILITY: &str = "TALKTREE_DURABILITY";
const LOCKING: &str = "TALKTREE_LOCKING";
const INLINE_COMPACTION: &str = "TALKTREE_INLINE_COMPACTION";
const RESERVED_KEYS: &str = "TALKTREE_RESERVED_METADATA_KEYS";
const BUSY_TIMEOUT: &str = "TALKTREE_BUSY_TIMEOUT_MS";
const MAX_FILE_BYTES: &str = "TALKTREE_MAX_FILE_BYTES";

/// How long another instance is waited for where nothing else is said, in ms.
const DEFAULT_BUSY_TIMEOUT: u64 = 10_000;

/// Who sees to it that only one instance uses the store at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locking {
    /// The host.
    Host,
    /// We do, by marks in the directory.
    Marks,
}

/// What a host sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// What an acknowledged write survives.
    pub(crate) durability: Durability,
    /// Who keeps others out.
    pub(crate) locking: Locking,
    /// Whether sessions may be compacted within an append.
    pub(crate) inline_compaction: bool,
    /// Metadata keys that no client can write.
    pub(crate) reserved_keys: Vec<String>,
    /// How long another instance is waited for, in ms.
    pub(crate) busy_timeout: u64,
    /// Bytes that the store's file may have.
    pub(crate) max_file_bytes: Option<u64>,
}

impl Settings {
    /// Reads them; a value that means nothing is `not-configured`, since a default could be the wrong promise.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let given = |name: &str| variable(name).unwrap_or_default();
        let durability = match given(DURABILITY).as_str() {
            "" | "full" => Durability::Full,
            "normal" => Durability::Normal,
            other => return Err(wrong(DURABILITY, other, "`full` or `normal`")),
        };
        let locking = match given(LOCKING).as_str() {
            "" | "marks" => Locking::Marks,
            "host" => Locking::Host,
            other => return Err(wrong(LOCKING, other, "`marks` or `host`")),
        };
        let inline_compaction = match given(INLINE_COMPACTION).as_str() {
            "" | "on" => true,
            "off" => false,
            other => return Err(wrong(INLINE_COMPACTION, other, "`on` or `off`")),
        };
        let reserved_keys = given(RESERVED_KEYS).split(',').filter(|key| !key.is_empty()).map(str::to_owned).collect();
        let busy_timeout = match given(BUSY_TIMEOUT).as_str() {
            "" => DEFAULT_BUSY_TIMEOUT,
            number => number.parse().map_err(|_| wrong(BUSY_TIMEOUT, number, "a number of milliseconds"))?,
        };
        let max_file_bytes = match given(MAX_FILE_BYTES).as_str() {
            "" => None,
            number => Some(number.parse().map_err(|_| wrong(MAX_FILE_BYTES, number, "a number of bytes"))?),
        };
        Ok(Self { durability, locking, inline_compaction, reserved_keys, busy_timeout, max_file_bytes })
    }

    /// What the engine wants to know of them.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn options(&self) -> Options {
        Options {
            durability: self.durability,
            reserved_metadata_keys: self.reserved_keys.clone(),
            max_file_bytes: self.max_file_bytes,
            ..Options::default()
        }
    }
}

fn wrong(variable: &str, value: &str, right: &str) -> Error {
    Error::new(Kind::NotConfigured, format!("the environment variable {variable} is {value:?}; it must be {right}"))
        .subject(variable)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    fn read(name: &str, value: &str) -> Result<Settings> {
        Settings::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn what_is_not_set_is_the_safe_choice() {
        let settings = Settings::read(|_| None).unwrap();
        assert_eq!(
            settings,
            Settings {
                durability: Durability::Full,
                locking: Locking::Marks,
                inline_compaction: true,
                reserved_keys: Vec::new(),
                busy_timeout: DEFAULT_BUSY_TIMEOUT,
                max_file_bytes: None,
            }
        );
    }

    #[test]
    fn what_is_set_is_taken() {
        assert_eq!(read(DURABILITY, "normal").unwrap().durability, Durability::Normal);
        assert_eq!(read(LOCKING, "host").unwrap().locking, Locking::Host);
        assert!(!read(INLINE_COMPACTION, "off").unwrap().inline_compaction);
        assert_eq!(read(RESERVED_KEYS, "a,,b c").unwrap().reserved_keys, ["a", "b c"]);
        assert_eq!(read(BUSY_TIMEOUT, "0").unwrap().busy_timeout, 0);
        assert_eq!(read(MAX_FILE_BYTES, "1048576").unwrap().max_file_bytes, Some(1 << 20));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for (name, value) in [
            (DURABILITY, "FULL"),
            (LOCKING, "none"),
            (INLINE_COMPACTION, "1"),
            (BUSY_TIMEOUT, "-1"),
            (BUSY_TIMEOUT, "5s"),
            (MAX_FILE_BYTES, "1MiB"),
        ] {
            let error = read(name, value).unwrap_err();
            assert_eq!((error.kind, error.subject.as_deref()), (Kind::NotConfigured, Some(name)));
        }
    }
}
