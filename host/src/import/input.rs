//! What is imported from: bytes that can be read twice.
//!
//! A transcript is read once to learn where its records are, and once more, record by record, in the order in which
//! they are stored. So the memory that an import takes does not grow with what the messages say.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

/// Bytes between two reports of progress.
const REPORT_EVERY: u64 = 1 << 20;

/// Bytes at the start that a format is recognised by.
const HEAD: u64 = 64 << 10;

/// Which of its two readings an import is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Finding the records.
    Reading,
    /// Storing the messages.
    Storing,
}

/// How far an import has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// Bytes of the input that are done in this phase.
    pub bytes: u64,
    /// Bytes of the input.
    pub total: u64,
}

/// Is told about progress, about once for every MiB. It is called from a blocking thread and should be quick.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// A stretch of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) len: u64,
}

trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// A transcript: a file, bytes, or a stream that was copied to a temporary file.
pub struct Input {
    reader: BufReader<Box<dyn ReadSeek>>,
    name: String,
    at: u64,
    len: u64,
    reported: u64,
    progress: Option<ProgressFn>,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("name", &self.name).field("len", &self.len).finish_non_exhaustive()
    }
}

impl Input {
    fn new(name: String, mut from: Box<dyn ReadSeek>) -> io::Result<Self> {
        let len = from.seek(SeekFrom::End(0))?;
        from.rewind()?;
        Ok(Self { reader: BufReader::with_capacity(256 << 10, from), name, at: 0, len, reported: 0, progress: None })
    }

    /// The file of this path. What is appended to it later is not seen.
    pub fn file(path: &Path) -> io::Result<Self> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self::new(name, Box::new(File::open(path)?))
    }

    /// Bytes in memory. The name serves to recognise the format; it may be empty.
    pub fn bytes(name: &str, bytes: impl Into<Vec<u8>>) -> io::Result<Self> {
        Self::new(name.to_owned(), Box::new(Cursor::new(bytes.into())))
    }

    /// A stream such as standard input, copied to a temporary file that goes when the import ends.
    pub fn spool(name: &str, mut from: impl Read) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut from, &mut file)?;
        Self::new(name.to_owned(), Box::new(file))
    }

    /// Whom to tell about progress.
    #[must_use]
    pub fn with_progress(mut self, progress: ProgressFn) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// There are no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The file's name without its directory, or what it was called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the next byte is read.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The first bytes. Reading goes on at the start afterwards.
    pub(crate) fn head(&mut self) -> io::Result<Vec<u8>> {
        self.seek(0)?;
        let mut head = Vec::new();
        self.reader.by_ref().take(HEAD).read_to_end(&mut head)?;
        self.at = head.len() as u64;
        self.seek(0)?;
        Ok(head)
    }

    /// Some bytes from where we are on; none at the end. What was there at opening counts, so that a file to which
    /// someone appends meanwhile has an end.
    pub(crate) fn fill(&mut self) -> io::Result<&[u8]> {
        let left = self.len.saturating_sub(self.at);
        let buffer = loop {
            match self.reader.fill_buf() {
                Ok(_) => break self.reader.buffer(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        let upto = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        Ok(&buffer[..upto])
    }

    /// Goes on behind so many of the bytes that `fill` gave.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.at += bytes as u64;
        if self.at >= self.reported + REPORT_EVERY {
            self.reported = self.at;
            self.tell(Phase::Reading, self.at);
        }
    }

    pub(crate) fn seek(&mut self, to: u64) -> io::Result<()> {
        // Offsets of a file are below 2^63, so the difference fits.
        self.reader.seek_relative(to as i64 - self.at as i64)?;
        self.at = to;
        Ok(())
    }

    /// The bytes of one record. Fewer, if the file has been cut meanwhile.
    pub(crate) fn read(&mut self, span: Span) -> io::Result<Vec<u8>> {
        self.seek(span.start)?;
        let mut bytes = Vec::with_capacity(usize::try_from(span.len.min(self.len)).unwrap_or(0));
        self.reader.by_ref().take(span.len).read_to_end(&mut bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }

    pub(crate) fn tell(&self, phase: Phase, bytes: u64) {
        if let Some(progress) = &self.progress {
            progress(Progress { phase, bytes: bytes.min(self.len), total: self.len });
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_record_is_read_again_after_the_first_reading() {
        let mut input = Input::spool("x", &b"0123456789"[..]).unwrap();
        assert_eq!(input.head().unwrap(), b"0123456789");
        while !input.fill().unwrap().is_empty() {
            input.consume(1);
        }
        assert_eq!(input.at(), 10);
        assert_eq!(input.read(Span { start: 3, len: 2 }).unwrap(), b"34");
        assert_eq!(input.read(Span { start: 8, len: 9 }).unwrap(), b"89");
        assert_eq!(input.read(Span { start: 0, len: 1 }).unwrap(), b"0");
    }

    #[test]
    fn what_is_appended_later_is_not_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, "abc").unwrap();
        let mut input = Input::file(&path).unwrap();
        std::fs::write(&path, "abcdef").unwrap();
        assert_eq!(input.fill().unwrap(), b"abc");
        input.consume(3);
        assert!(input.fill().unwrap().is_empty());
        assert_eq!(input.name(), "a.jsonl");
    }

    #[test]
    fn progress_is_told_in_bytes_of_the_whole() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let mut input = Input::bytes("", vec![b' '; 3 << 20])
            .unwrap()
            .with_progress(Arc::new(move |progress| told.lock().unwrap().push(progress)));
        loop {
            let some = input.fill().unwrap().len();
            if some == 0 {
                break;
            }
            input.consume(some);
        }
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 3);
        assert!(seen.iter().all(|p| p.total == 3 << 20 && p.phase == Phase::Reading));
        assert_eq!(seen[2].bytes, 3 << 20);
    }
}
