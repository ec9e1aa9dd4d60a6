//! From a tenant's name to its directory's, and back.
//!
//! A name is any text of 1 to 512 bytes. Its directory's name holds only `a` to `z`, `0` to `9`, `-`, `_` and `%`, so
//! that it means the same on every file system, whether that tells `A` from `a` or not:
//!
//! - `a` to `z`, `0` to `9`, `-` and `_` stand for themselves; every other byte of the name's UTF-8 is written as `%`
//!   and two lower-case hexadecimal digits: `easy:test1` lies in `easy%3atest1`.
//! - Where that would be a name that Windows keeps for devices (`con`, `nul`, `com1`, ...), the first letter is
//!   escaped too: `%63on`.
//! - Where that would be longer than 200 bytes, the directory is called `%_` and the SHA-256 of the name in 64
//!   hexadecimal digits, and the name is written in the file `name` in it. `%_` is never the beginning of an escape.
//!
//! So different names lie in different directories, the way back is exact, no name climbs out of the root, and a
//! directory that is called otherwise is none of ours.

use std::fmt::Write;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};

/// The longest name of a tenant, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 512;

/// The longest escaped name that is used as it is. File systems take 255; the rest is room for tools that add to it.
const MAX_ESCAPED_BYTES: usize = 200;

const HASHED: &str = "%_";

/// What Windows keeps for devices. Its other such names hold characters that are escaped anyway.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The name of a tenant that is known to be one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TenantName(Arc<str>);

impl TenantName {
    /// Errors: `invalid-argument` for a name that is empty or too long.
    pub(crate) fn new(name: &str) -> Result<Self> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            let sentence = format!("a tenant's name has 1 to {MAX_NAME_BYTES} bytes, this one has {}", name.len());
            return Err(Error::new(ErrorKind::InvalidArgument, sentence)
                .with_subject("tenant")
                .with_numbers(name.len() as u64, MAX_NAME_BYTES as u64));
        }
        Ok(Self(Arc::from(name)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What its directory is called.
    pub(crate) fn directory(&self) -> String {
        let escaped = escape(&self.0);
        if escaped.len() <= MAX_ESCAPED_BYTES { escaped } else { hashed(&self.0) }
    }

    /// The directory's name does not say the tenant's: it has to be written down in it.
    pub(crate) fn is_hashed(&self) -> bool {
        self.directory().starts_with(HASHED)
    }
}

/// Whose directory is called so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// This tenant's.
    Tenant(TenantName),
    /// That of the tenant whose name is written in it, if [`TenantName::directory`] of that name leads back here.
    Hashed,
    /// No tenant's.
    Nobody,
}

/// Whose directory is called so.
pub(crate) fn owner(directory: &str) -> Owner {
    if directory.starts_with(HASHED) {
        return Owner::Hashed;
    }
    match unescape(directory).and_then(|name| TenantName::new(&name).ok()) {
        // Only the one spelling: `%61` is no other place for `a`.
        Some(name) if name.directory() == directory => Owner::Tenant(name),
        _ => Owner::Nobody,
    }
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_')
}

fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        if is_plain(byte) && !(at == 0 && is_reserved(name)) {
            escaped.push(char::from(byte));
        } else {
            push_escape(&mut escaped, byte);
        }
    }
    escaped
}

fn unescape(directory: &str) -> Option<String> {
    let mut name = Vec::with_capacity(directory.len());
    let mut bytes = directory.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => name.push(hex_digit(bytes.next()?)? * 16 + hex_digit(bytes.next()?)?),
            byte if is_plain(byte) => name.push(byte),
            _ => return None,
        }
    }
    String::from_utf8(name).ok()
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

fn push_escape(escaped: &mut String, byte: u8) {
    // Writing to a String does not fail.
    let _ = write!(escaped, "%{byte:02x}");
}

fn is_reserved(name: &str) -> bool {
    let numbered = |prefix| name.strip_prefix(prefix).is_some_and(|rest: &str| rest.len() == 1 && is_digit(rest));
    RESERVED.contains(&name) || numbered("com") || numbered("lpt")
}

fn is_digit(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn hashed(name: &str) -> String {
    let mut directory = HASHED.to_owned();
    for byte in Sha256::digest(name.as_bytes()) {
        let _ = write!(directory, "{byte:02x}");
    }
    directory
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

    use proptest::prelude::*;

    use super::{MAX_NAME_BYTES, Owner, TenantName, owner};

    fn directory(name: &str) -> String {
        TenantName::new(name).unwrap().directory()
    }

    #[test]
    fn the_documented_examples_hold() {
        assert_eq!(directory("easy:test1"), "easy%3atest1");
        assert_eq!(directory("con"), "%63on");
        assert_eq!(directory("com1"), "%63om1");
        assert_eq!(directory("com10"), "com10");
        assert_eq!(directory("console"), "console");
        assert_eq!(directory(".."), "%2e%2e");
        assert_eq!(directory("A"), "%41");
        assert_eq!(directory("部"), "%e9%83%a8");
        assert_eq!(directory(&"x".repeat(200)), "x".repeat(200));
        assert!(directory(&"x".repeat(201)).starts_with("%_"));
    }

    #[test]
    fn a_name_has_1_to_512_bytes() {
        assert!(TenantName::new("").is_err());
        assert!(TenantName::new(&"x".repeat(MAX_NAME_BYTES)).is_ok());
        let error = TenantName::new(&"ä".repeat(257)).unwrap_err();
        assert_eq!((error.current(), error.limit()), (Some(514), Some(512)));
    }

    #[test]
    fn directories_of_others_belong_to_nobody() {
        for other in ["", "con", "%61", "%4", "%4g", "%3A", "A", "a.b", "%ff", "lost+found", ".git"] {
            assert_eq!(owner(other), Owner::Nobody, "{other}");
        }
    }

    /// Names of all kinds, with many of those that file systems treat in their own ways.
    fn names() -> impl Strategy<Value = String> {
        let hostile = prop_oneof![
            Just("con"),
            Just("NUL"),
            Just("com1"),
            Just("lpt9"),
            Just("."),
            Just(".."),
            Just("/"),
            Just("\\"),
            Just("../../etc"),
            Just(" "),
            Just("a "),
            Just("a."),
            Just("\0"),
            Just("%"),
            Just("%_"),
            Just("%2e"),
            Just("É"),
            Just("e\u{301}"),
            Just("ß"),
            Just("İ"),
            Just("\u{202e}"),
            Just("😀"),
            Just("~"),
            Just(":"),
        ];
        prop_oneof![
            "[a-zA-Z0-9._:%/ -]{1,12}",
            "\\PC{1,40}",
            proptest::collection::vec(hostile, 1..6).prop_map(|parts| parts.concat()),
            "[aA]{190,220}",
            "[é/a]{60,250}",
        ]
        .prop_filter("of 1 to 512 bytes", |name| (1..=MAX_NAME_BYTES).contains(&name.len()))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn every_name_has_a_safe_directory_that_leads_back(name in names()) {
            let directory = directory(&name);
            prop_assert!(directory.len() <= 200);
            prop_assert!(directory.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'%')));
            let device = ["con", "prn", "aux", "nul"].contains(&directory.as_str())
                || directory.len() == 4 && (directory.starts_with("com") || directory.starts_with("lpt"))
                    && directory.ends_with(|last: char| last.is_ascii_digit());
            prop_assert!(!device, "{} is a device", directory);
            match owner(&directory) {
                Owner::Tenant(back) => prop_assert_eq!(back.as_str(), name),
                Owner::Hashed => prop_assert!(TenantName::new(&name).unwrap().is_hashed()),
                Owner::Nobody => prop_assert!(false, "{} leads nowhere", directory),
            }
        }

        #[test]
        fn different_names_have_different_directories(one in names(), other in names()) {
            prop_assert_eq!(one == other, directory(&one) == directory(&other));
            // A name that differs in case only.
            let upper = one.to_uppercase();
            if upper != one && upper.len() <= MAX_NAME_BYTES {
                prop_assert_ne!(directory(&one).to_lowercase(), directory(&upper).to_lowercase());
            }
        }
    }
}
