//! Work with files that belongs to no tenant's thread: few threads for all of it, and a bounded line before them.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call::Call;
use crate::error::{Error, ErrorKind, Result};

/// Threads at a time. One that has nothing to do ends.
const MAX_THREADS: usize = 4;

/// Pieces of work that may wait. Beyond that they are refused.
const MAX_WAITING: usize = 1_024;

type Work = Box<dyn FnOnce() + Send>;

/// Threads for such work.
#[derive(Default)]
pub(crate) struct FileWork {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    threads: usize,
}

impl FileWork {
    /// Runs something that blocks, and answers with what comes of it. Errors: `busy` where too much is waiting.
    pub(crate) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Call<T> {
        let (answer, call) = Call::pair();
        let mut state = self.lock();
        if state.waiting.len() >= MAX_WAITING {
            let limit = MAX_WAITING as u64;
            let error = Error::new(ErrorKind::Busy, "too much work with files is waiting: try again later");
            return Call::refused(error.with_numbers(limit, limit));
        }
        if state.threads < MAX_THREADS {
            let pool = Arc::clone(self);
            match std::thread::Builder::new().name("talktree-files".to_owned()).spawn(move || pool.work()) {
                Ok(_) => state.threads += 1,
                // Others will come to it, if there are any.
                Err(_) if state.threads > 0 => {}
                Err(error) => {
                    let sentence = format!("no thread could be started: {error}");
                    return Call::refused(Error::new(ErrorKind::Busy, sentence));
                }
            }
        }
        state.waiting.push_back(Box::new(move || answer.send(work())));
        call
    }

    fn work(&self) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.waiting.pop_front();
                if next.is_none() {
                    state.threads -= 1;
                }
                next
            };
            let Some(next) = next else { return };
            // Whoever waits for the answer learns that there is none.
            let _ = catch_unwind(AssertUnwindSafe(next));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for FileWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWork").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_flood_has_few_threads_and_what_is_too_much_is_refused() {
        let pool = Arc::new(FileWork::default());
        let (go, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let calls: Vec<_> = (0..MAX_WAITING * 2)
            .map(|number| {
                let gate = Arc::clone(&gate);
                pool.run(move || {
                    // Until the sender has gone.
                    let _ = gate.lock().unwrap().recv();
                    Ok(number)
                })
            })
            .collect();
        assert!(pool.lock().threads <= MAX_THREADS);
        drop(go);
        let (mut done, mut refused) = (0, 0);
        for call in calls {
            match call.await {
                Ok(_) => done += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Busy);
                    refused += 1;
                }
            }
        }
        assert!((MAX_WAITING..=MAX_WAITING + MAX_THREADS).contains(&done), "{done} done, {refused} refused");
        // What breaks down breaks nothing else.
        assert_eq!(pool.run::<()>(|| panic!("on purpose")).await.unwrap_err().kind(), ErrorKind::Crashed);
        assert_eq!(pool.run(|| Ok(5)).await.unwrap(), 5);
    }
}
