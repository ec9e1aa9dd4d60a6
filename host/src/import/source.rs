//! Where transcripts are: in files, in directories, and in the archives in which other programs hand them out.
//!
//! Nothing is unpacked to a place that an archive names: an entry is read as a stream and spooled to a temporary file
//! without a name. An entry that grows out of all proportion is given up.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use zip::{ZipArchive, result::ZipError};

use super::{Format, input::Input};

/// Bytes at the start that a format is recognised by.
const HEAD: u64 = 64 << 10;

/// How many entries an archive may have.
const MOST_ENTRIES: usize = 100_000;

/// How deep directories are gone into.
const DEEPEST: usize = 64;

/// An entry may always be this large ...
const ALWAYS_ALLOWED: u64 = 64 << 20;

/// ... and above that so many times as large as it is in the archive. Transcripts shrink to a tenth or so.
const MOST_GROWTH: u64 = 200;

/// One transcript that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    path: PathBuf,
    entry: Option<Entry>,
    searched: bool,
}

/// What is inside an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    number: usize,
    name: String,
}

/// What a search came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The transcripts, in the order of their names.
    pub sources: Vec<Source>,
    /// How many other files were there, which look like no transcript.
    pub others: u64,
    /// Files that could not be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl Source {
    /// A file, whatever it looks like.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), entry: None, searched: false }
    }

    /// Opens it. Out of an archive it is copied to a temporary file first.
    pub fn open(&self) -> io::Result<Input> {
        let Some(entry) = &self.entry else { return Input::file(&self.path) };
        let mut archive = archive(&self.path)?;
        let file = archive.by_index(entry.number).map_err(broken)?;
        let most = file.compressed_size().saturating_mul(MOST_GROWTH).max(ALWAYS_ALLOWED);
        let input = Input::spool(base_name(&entry.name), file.take(most.saturating_add(1)))?;
        if input.len() > most {
            let why = format!("it grows to more than {MOST_GROWTH} times its size in the archive, and was given up");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(input)
    }

    /// What to call a session that it does not name: its name without the ending. None for a file that was named itself,
    /// unless it was one of several.
    pub fn session_name(&self, one_of_several: bool) -> Option<String> {
        let name = match &self.entry {
            Some(entry) => base_name(&entry.name).to_owned(),
            None if self.searched || one_of_several => self.path.file_name()?.to_string_lossy().into_owned(),
            None => return None,
        };
        Some(name.rsplit_once('.').map_or(&*name, |(stem, _)| stem).to_owned())
    }
}

/// The path, and behind it the entry of the archive.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entry {
            None => write!(f, "{}", self.path.display()),
            Some(entry) => write!(f, "{}: {}", self.path.display(), entry.name),
        }
    }
}

/// Looks for transcripts. A file counts as one without being looked at. In an archive, and in a directory with all
/// that is below it, those files count whose name ends in `.json` or `.jsonl` and which look like a transcript (of
/// this format, if one is given); in a directory also what is in its archives. Symbolic links are not followed.
pub fn find(path: &Path, format: Option<Format>) -> io::Result<Found> {
    let mut found = Found::default();
    if fs::metadata(path)?.is_dir() {
        search(path, format, 0, &mut found)?;
    } else if is_archive(path)? {
        search_archive(path, format, &mut found)?;
    } else {
        found.sources.push(Source::file(path));
    }
    Ok(found)
}

fn search(directory: &Path, format: Option<Format>, depth: usize, found: &mut Found) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(directory)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type()?;
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        let done = match ending.as_deref() {
            _ if kind.is_dir() && depth < DEEPEST => search(&path, format, depth + 1, found),
            Some("zip") if kind.is_file() => search_archive(&path, format, found),
            Some("json" | "jsonl") if kind.is_file() => search_file(&path, format, found),
            _ => {
                found.others += u64::from(!kind.is_dir());
                Ok(())
            }
        };
        if let Err(error) = done {
            found.unreadable.push((path, error.to_string()));
        }
    }
    Ok(())
}

fn search_file(path: &Path, format: Option<Format>, found: &mut Found) -> io::Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if looks_right(File::open(path)?, &name, format)? {
        found.sources.push(Source { path: path.to_owned(), entry: None, searched: true });
    } else {
        found.others += 1;
    }
    Ok(())
}

fn search_archive(path: &Path, format: Option<Format>, found: &mut Found) -> io::Result<()> {
    let mut archive = archive(path)?;
    if archive.len() > MOST_ENTRIES {
        let why = format!("the archive has {} entries, more than {MOST_ENTRIES}", archive.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let mut left = fs::metadata(path)?.len();
    let mut entries = Vec::new();
    for number in 0..archive.len() {
        let name = archive.name_for_index(number).transpose().map_err(broken)?.unwrap_or_default().into_owned();
        let lower = name.to_ascii_lowercase();
        if !lower.ends_with(".json") && !lower.ends_with(".jsonl") {
            found.others += u64::from(!name.ends_with('/'));
            continue;
        }
        let looked = archive.by_index(number).map_err(broken).and_then(|file| {
            let bytes = file.compressed_size();
            Ok((bytes, looks_right(file, base_name(&name), format)?))
        });
        match looked {
            Ok((bytes, true)) => {
                // Entries that share their bytes are how a small archive becomes a large one.
                left = left.checked_sub(bytes).ok_or_else(|| {
                    io::Error::new(io::ErrorKind::InvalidData, "the archive is smaller than what is in it")
                })?;
                entries.push(Entry { number, name });
            }
            Ok((_, false)) => found.others += 1,
            Err(error) => found.unreadable.push((path.to_owned(), format!("{name}: {error}"))),
        }
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let source = |entry| Source { path: path.to_owned(), entry: Some(entry), searched: true };
    found.sources.extend(entries.into_iter().map(source));
    Ok(())
}

fn looks_right(file: impl Read, name: &str, format: Option<Format>) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    // Other files of an export are often empty lists.
    if head.trim_ascii() == b"[]" {
        return Ok(false);
    }
    Ok(match format {
        None => Format::of_head(&head, name).is_some(),
        Some(format) => format.fits(&head, name),
    })
}

fn is_archive(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut start)?;
    // The second is an archive without entries.
    Ok(start == b"PK\x03\x04" || start == b"PK\x05\x06")
}

fn archive(path: &Path) -> io::Result<ZipArchive<io::BufReader<File>>> {
    ZipArchive::new(io::BufReader::new(File::open(path)?)).map_err(broken)
}

fn broken(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        error => io::Error::new(io::ErrorKind::InvalidData, format!("the archive cannot be read: {error}")),
    }
}

/// A name without the directories before it, whoever wrote them.
fn base_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::io::Write as _;

    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

    use super::*;

    const CHAT: &str = r#"[{"id":"a","role":"user","parts":[]}]"#;

    fn zipped(path: &Path, entries: &[(&str, &[u8])]) {
        let mut writer = ZipWriter::new(File::create(path).unwrap());
        for (name, bytes) in entries {
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap();
    }

    fn names(found: &Found) -> Vec<String> {
        found.sources.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn transcripts_are_found_below_a_directory_and_in_its_archives() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("b/deep")).unwrap();
        fs::write(root.join("b/deep/chat.json"), CHAT).unwrap();
        fs::write(root.join("b/other.json"), "{\"a\":1}").unwrap();
        fs::write(root.join("readme.txt"), CHAT).unwrap();
        fs::write(root.join("broken.zip"), "PK\x03\x04 and no more").unwrap();
        zipped(&root.join("a.zip"), &[("x/chat.json", CHAT.as_bytes()), ("user.json", b"{}"), ("x/", b"")]);
        let found = find(root, None).unwrap();
        assert_eq!(
            names(&found),
            [
                format!("{}: x/chat.json", root.join("a.zip").display()),
                root.join("b/deep/chat.json").display().to_string()
            ]
        );
        assert_eq!(found.others, 3);
        assert_eq!(found.unreadable.len(), 1);
        let mut input = found.sources[0].open().unwrap();
        assert_eq!((input.name(), input.len()), ("chat.json", CHAT.len() as u64));
        assert_eq!(Format::detect(&mut input).unwrap(), Format::AiSdk);
        assert_eq!(found.sources[0].session_name(false).as_deref(), Some("chat"));
        assert!(find(root, Some(Format::Pi)).unwrap().sources.is_empty());
    }

    #[test]
    fn a_name_in_an_archive_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("in");
        fs::create_dir(&inside).unwrap();
        let path = inside.join("a.zip");
        zipped(&path, &[("../escaped.json", CHAT.as_bytes()), ("/tmp/absolute.json", CHAT.as_bytes())]);
        for source in find(&path, None).unwrap().sources {
            assert_eq!(source.open().unwrap().len(), CHAT.len() as u64);
        }
        assert!(!dir.path().join("escaped.json").exists());
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 1);
    }

    #[test]
    fn what_grows_out_of_proportion_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bomb.zip");
        let mut bomb = CHAT.as_bytes().to_vec();
        bomb.resize(usize::try_from(ALWAYS_ALLOWED).unwrap() + 1, b' ');
        zipped(&path, &[("chat.json", &bomb)]);
        let found = find(&path, None).unwrap();
        let error = found.sources[0].open().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
