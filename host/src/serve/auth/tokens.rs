//! The token file: who has a token, and for which tenants.
//!
//! ```json
//! {"tokens": [
//!   {"name": "chat-app", "sha256": "9f86d081…", "prefixes": ["user:"]},
//!   {"name": "easy", "sha256": "60303ae2…", "tenants": ["easy:test1"], "expires": "2027-01-01T00:00:00Z"},
//!   {"name": "operator", "sha256": "fd61a03a…", "all": true}
//! ]}
//! ```
//!
//! Only hashes are kept. Tokens are made by [`add_token`], 256 bits at random each: so a plain hash is as good as a slow
//! one, since there is nothing to guess.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    time::SystemTime,
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Identity, reload::Reloaded};
use crate::{
    access::Tenants,
    error::{Error, ErrorKind, Result},
};

/// What tokens begin with, so that they are known as such where they turn up by mistake.
const MARK: &str = "tt_";

/// The file as it is written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    tokens: Vec<Entry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// In hexadecimal digits.
    sha256: String,
    #[serde(default, skip_serializing_if = "is_false")]
    all: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tenants: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prefixes: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    metrics: bool,
    /// As RFC 3339 writes times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Entry {
    fn expires(&self) -> Result<Option<SystemTime>, String> {
        let time = self.expires.as_deref().map(str::parse::<Timestamp>).transpose();
        time.map(|time| time.map(SystemTime::from)).map_err(|error| format!("token {:?}: {error}", self.name))
    }

    fn tenants(&self) -> Result<Tenants, String> {
        if self.all {
            if self.tenants.is_empty() && self.prefixes.is_empty() {
                return Ok(Tenants::all());
            }
            return Err(format!("token {:?} has all tenants and some, too: which is meant?", self.name));
        }
        let names = self.tenants.iter().fold(Tenants::none(), |tenants, name| tenants.with_name(name));
        self.prefixes
            .iter()
            .try_fold(names, Tenants::with_prefix)
            .map_err(|error| format!("token {:?}: {error}", self.name))
    }
}

type Hash = [u8; 32];

/// The identities by the hashes of their tokens.
type Identities = HashMap<Hash, Identity>;

/// The tokens of a file.
#[derive(Debug)]
pub(super) struct TokenFile(Reloaded<Identities>);

impl TokenFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        Reloaded::open(path, parse).map(Self)
    }

    /// Another number whenever the file has changed.
    pub(super) fn generation(&self) -> u64 {
        self.0.generation()
    }

    /// Whose token that is. The look-up is by hash: its time tells nothing of a token.
    pub(super) fn identity(&self, token: &str) -> Option<Identity> {
        self.0.get().get(&hash(token)).cloned()
    }
}

/// Whether a file of tokens can be read and makes sense.
///
/// # Errors
///
/// `not-configured` where it is missing or does not.
pub(crate) fn check_token_file(path: &Path) -> Result<()> {
    TokenFile::open(path).map(drop)
}

fn hash(token: &str) -> Hash {
    Sha256::digest(token.as_bytes()).into()
}

fn parse(text: &str) -> Result<Identities, String> {
    let contents: Contents = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut identities = Identities::new();
    for entry in &contents.tokens {
        let hash = unhex(&entry.sha256)
            .ok_or_else(|| format!("token {:?}: \"sha256\" has to be 64 hexadecimal digits", entry.name))?;
        let identity =
            Identity::new(format!("token {}", entry.name), entry.tenants()?, entry.expires()?, entry.metrics);
        if identities.insert(hash, identity).is_some() {
            return Err(format!("token {:?} is there twice", entry.name));
        }
    }
    Ok(identities)
}

/// What a new token is for.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// Who gets it, for people.
    pub name: String,
    /// It is good for every tenant.
    pub all: bool,
    /// It is good for these tenants.
    pub tenants: Vec<String>,
    /// It is good for the tenants whose names begin so; each ends with `:`.
    pub prefixes: Vec<String>,
    /// It may read `/metrics`. One that is good for every tenant may do so anyway.
    pub metrics: bool,
    /// From then on it is good for nothing.
    pub expires: Option<SystemTime>,
}

/// Makes a token at random and adds its hash to the file, which is made where it is missing. The token itself is what is
/// given back, and kept nowhere.
///
/// # Errors
///
/// `invalid-argument` for a name that is there already, and for a token that would be good for nothing;
/// `not-configured` for a file that makes no sense.
pub fn add_token(path: &Path, token: NewToken) -> Result<String> {
    let refuse = |why: String| Error::new(ErrorKind::NotConfigured, format!("{}: {why}", path.display()));
    let argument = |sentence: String| Error::new(ErrorKind::InvalidArgument, sentence);
    let mut contents = match fs::read_to_string(path) {
        Ok(text) => {
            parse(&text).map_err(refuse)?;
            serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Contents::default(),
        Err(error) => return Err(refuse(error.to_string())),
    };
    let NewToken { name, all, tenants, prefixes, metrics, expires } = token;
    if !all && !metrics && tenants.is_empty() && prefixes.is_empty() {
        return Err(argument("a token for no tenant is good for nothing".to_owned()));
    }
    if contents.tokens.iter().any(|entry| entry.name == name) {
        return Err(argument(format!("there is a token {name:?} already")));
    }
    let expires = match expires.map(Timestamp::try_from).transpose() {
        Ok(expires) => expires.map(|time| time.to_string()),
        Err(error) => return Err(argument(format!("it cannot end then: {error}"))),
    };
    let secret = secret().map_err(refuse)?;
    let entry = Entry { name, sha256: hex(&hash(&secret)), all, tenants, prefixes, metrics, expires };
    entry.tenants().map_err(argument)?;
    contents.tokens.push(entry);
    write(path, &contents).map_err(|error| refuse(error.to_string()))?;
    Ok(secret)
}

fn secret() -> Result<String, String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "this system gives no random numbers".to_owned())?;
    Ok(format!("{MARK}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)))
}

/// Writes the file beside its place and moves it there, so that nobody ever reads half of it.
fn write(path: &Path, contents: &Contents) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Readable for this user alone.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    serde_json::to_writer_pretty(&mut file, contents)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(directory).and_then(|directory| directory.sync_all()).or(Ok(()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(digits: &str) -> Option<Hash> {
    let digits = digits.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| pair.get(at).and_then(|&digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use std::time::Duration;

    use super::*;

    fn new(name: &str) -> NewToken {
        NewToken { name: name.into(), tenants: vec!["a:b".into()], ..NewToken::default() }
    }

    #[test]
    fn a_token_is_good_for_its_tenants_and_kept_as_a_hash_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens.json");
        let first = add_token(&path, new("first")).unwrap();
        let second =
            add_token(&path, NewToken { prefixes: vec!["user:".into()], tenants: vec![], ..new("second") }).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&first) && !text.contains(&second));
        assert!(first.starts_with(MARK) && first.len() > 40 && first != second);
        let file = TokenFile::open(&path).unwrap();
        assert!(file.identity(&first).unwrap().caller.tenants().covers("a:b"));
        assert!(!file.identity(&first).unwrap().caller.tenants().covers("user:x"));
        assert!(file.identity(&second).unwrap().caller.tenants().covers("user:x"));
        for wrong in ["", "tt_", &first[..first.len() - 1], &first.to_uppercase(), &hex(&hash(&first))] {
            assert!(file.identity(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_token_ends_when_it_says() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens.json");
        let past = SystemTime::now() - Duration::from_secs(5);
        let token = add_token(&path, NewToken { expires: Some(past), ..new("late") }).unwrap();
        let identity = TokenFile::open(&path).unwrap().identity(&token).unwrap();
        assert_eq!(identity.left(), Some(Duration::ZERO));
    }

    #[test]
    fn files_that_make_no_sense_are_refused_with_a_reason() {
        let digits = "0".repeat(64);
        for (text, reason) in [
            ("", "EOF"),
            (r#"{"tokens":[{"name":"a","sha256":"00"}]}"#, "64"),
            (&format!(r#"{{"tokens":[{{"name":"a","sha256":"{}"}}]}}"#, "g".repeat(64)), "64"),
            (&format!(r#"{{"tokens":[{{"name":"a","sha256":"{digits}","prefixes":["user"]}}]}}"#), "user"),
            (&format!(r#"{{"tokens":[{{"name":"a","sha256":"{digits}","tenant":["user"]}}]}}"#), "unknown field"),
            (&format!(r#"{{"tokens":[{{"name":"a","sha256":"{digits}","expires":"soon"}}]}}"#), "\"a\""),
            (&format!(r#"{{"tokens":[{{"name":"a","sha256":"{digits}","all":true,"tenants":["x"]}}]}}"#), "which"),
            (
                &format!(r#"{{"tokens":[{{"name":"a","sha256":"{digits}"}},{{"name":"b","sha256":"{digits}"}}]}}"#),
                "twice",
            ),
        ] {
            let error = parse(text).map(drop).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn a_token_for_nothing_and_a_second_of_one_name_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens.json");
        let refused = |token| add_token(&path, token).unwrap_err().kind();
        assert_eq!(refused(NewToken { tenants: vec![], ..new("a") }), ErrorKind::InvalidArgument);
        assert_eq!(refused(NewToken { prefixes: vec!["user".into()], ..new("a") }), ErrorKind::InvalidArgument);
        add_token(&path, new("a")).unwrap();
        assert_eq!(refused(new("a")), ErrorKind::InvalidArgument);
    }
}
