//! A file that may change while it is used: tokens are taken back, keys are exchanged.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use crate::error::{Error, ErrorKind, Result};

/// How long a change may go unnoticed.
pub(super) const NOTICE: Duration = Duration::from_secs(2);

/// The longest file of its kind, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// What a file says. When it changes it is read again; while it cannot be read or makes no sense, what it said last holds.
pub(super) struct Reloaded<T> {
    path: PathBuf,
    parse: fn(&str) -> Result<T, String>,
    state: Mutex<State<T>>,
}

struct State<T> {
    value: Arc<T>,
    /// How often it was read.
    generation: u64,
    stamp: Stamp,
    looked: Instant,
}

/// By what a change is noticed.
type Stamp = (Option<SystemTime>, u64);

impl<T> Reloaded<T> {
    /// Errors: `not-configured` if the file cannot be read or makes no sense.
    pub(super) fn open(path: &Path, parse: fn(&str) -> Result<T, String>) -> Result<Self> {
        let refuse = |why: String| Error::new(ErrorKind::NotConfigured, format!("{}: {why}", path.display()));
        let (value, stamp) = read(path, parse).map_err(refuse)?;
        let state = State { value: Arc::new(value), generation: 0, stamp, looked: Instant::now() };
        Ok(Self { path: path.to_owned(), parse, state: Mutex::new(state) })
    }

    /// What the file says now, or said some moments ago.
    pub(super) fn get(&self) -> Arc<T> {
        Arc::clone(&self.look().value)
    }

    /// Another number whenever what the file says has changed.
    pub(super) fn generation(&self) -> u64 {
        self.look().generation
    }

    /// What is known of the file, which is looked at now and then.
    fn look(&self) -> MutexGuard<'_, State<T>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= NOTICE {
            state.looked = Instant::now();
            if stamp(&self.path).ok() != Some(state.stamp) {
                self.read_again(&mut state);
            }
        }
        state
    }

    fn read_again(&self, state: &mut State<T>) {
        match read(&self.path, self.parse) {
            Ok((value, stamp)) => {
                state.value = Arc::new(value);
                state.generation += 1;
                state.stamp = stamp;
                tracing::info!(path = %self.path.display(), "read again");
            }
            Err(error) => {
                tracing::error!(path = %self.path.display(), error, "it has changed and cannot be used; what it said before holds");
            }
        }
    }
}

impl<T> fmt::Debug for Reloaded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reloaded").field(&self.path).finish()
    }
}

fn read<T>(path: &Path, parse: fn(&str) -> Result<T, String>) -> Result<(T, Stamp), String> {
    let before = stamp(path).map_err(|error| error.to_string())?;
    if before.1 > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    // With the stamp from before, what is written meanwhile is read the next time.
    Ok((parse(&text)?, before))
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.modified().ok(), metadata.len()))
}
