//! Sandboxes that are killed at any moment of a call: what was acknowledged stays, and nothing is there twice.
//!
//! A trap of the guest at a random instruction is made as the time limit makes one: its epoch ends. Here that happens a
//! random while after the call has begun, by a thread that moves the engine's clock.

#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::call::{Access, Call};
use crate::types::{AppendOptions, AppendResult};
use crate::{ErrorKind, Session, Talktree};

/// Appends, each of which may be killed.
const APPENDS: u32 = 600;

/// How long a call may go on before it is killed: those without a kill take about as long.
const LONGEST: Duration = Duration::from_micros(900);

/// A sequence of numbers that looks random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Appends a message, and kills the sandbox so long after that has begun, if it is not done before.
fn append(session: &Session, id: &str, kill_after: Option<Duration>) -> Call<AppendResult> {
    let message =
        format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(3_000));
    let options = AppendOptions::default();
    let access = Access::Write(|result: &AppendResult| result.inserted);
    session.call("append-message", access, move |guest, store, session| {
        if let Some(after) = kill_after {
            store.set_epoch_deadline(1);
            let engine = store.engine().clone();
            let begun = Instant::now();
            thread::spawn(move || {
                while begun.elapsed() < after {
                    std::hint::spin_loop();
                }
                engine.increment_epoch();
            });
        }
        guest.call_append_message(store, session, &message, &options)
    })
}

#[tokio::test]
async fn what_was_acknowledged_stays_when_sandboxes_are_killed_at_any_moment() {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
    println!("seed {seed}");
    let mut random = Random(seed);
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    let mut acknowledged = Vec::new();
    let (mut kills, mut stored_all_the_same) = (0, 0);
    for number in 0..APPENDS {
        let id = format!("m{number}");
        let after = Duration::from_nanos(random.below(LONGEST.as_nanos() as u64));
        match append(&session, &id, Some(after)).await {
            Ok(result) => assert!(result.inserted, "{id}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
                kills += 1;
                if random.below(4) == 0 {
                    // Given up: it may be there or not.
                    continue;
                }
                let again = append(&session, &id, None).await.unwrap();
                assert!(!again.conflict);
                stored_all_the_same += u32::from(!again.inserted);
            }
        }
        acknowledged.push(id);
    }
    println!("{kills} of {APPENDS} were killed, {stored_all_the_same} of those that were sent again had been stored");
    assert!(kills >= APPENDS / 20, "only {kills} kills");
    let stored: Vec<_> = session.get_history().await.unwrap().into_iter().map(|message| message.id).collect();
    let mut sorted = stored.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), stored.len(), "one is there twice");
    let missing: Vec<_> = acknowledged.iter().filter(|id| sorted.binary_search(id).is_err()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(session.tenant().check().await.unwrap().sound);
    talktree.close().await.unwrap();
}
