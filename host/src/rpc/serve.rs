//! From a stream of lines to a stream of answers.
//!
//! Reading and writing block, so each has a thread of its own; the calls between them are tasks of the runtime.

use std::{
    io::{self, BufWriter, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
};

use super::{
    failure::Failure,
    lines::{Line, Lines},
    pipeline::{Answers, Pipeline},
    service::{Caller, Service},
};
use crate::Talktree;

/// A request is at most so many bytes long, where nothing else is said: 128 MiB.
pub const DEFAULT_MAX_REQUEST: usize = 128 * 1024 * 1024;

/// What reading, calls and writing have in common.
struct Shared {
    pipeline: Arc<Pipeline>,
    /// Nothing more is taken in.
    closed: AtomicBool,
    /// Tells that reading has come to its end, or that nobody reads the answers.
    ended: Notify,
}

impl Shared {
    fn end(&self) {
        self.closed.store(true, Ordering::Release);
        self.ended.notify_one();
    }
}

/// Serves requests until the input ends, `stop` is ready, or the output is closed; then carries out and answers what was
/// taken in. Automatic compactions of this Talktree end then for good, and a `compact` that was taken in has ten seconds
/// left.
///
/// A line is at most `max_request` bytes long. Fails where the input cannot be read, the output cannot be written or the
/// threads cannot be started; an output that is closed is no failure.
///
/// Reading goes on in a thread of its own, which cannot be interrupted: after `stop` it may stay in its last read until
/// the input ends. What it then reads is dropped.
pub async fn serve(
    talktree: Talktree,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    max_request: usize,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let (pipeline, answers) = Pipeline::new(Service::new(talktree.clone(), Caller::trusted(), None), None);
    let shared = Arc::new(Shared { pipeline, closed: AtomicBool::new(false), ended: Notify::new() });

    let (written, all_written) = oneshot::channel();
    let for_writing = Arc::clone(&shared);
    thread::Builder::new().name("rpc-answers".into()).spawn(move || {
        let _ = written.send(write_answers(&for_writing, answers, output));
    })?;
    let (read, mut all_read) = oneshot::channel();
    let for_reading = Arc::clone(&shared);
    let runtime = Handle::current();
    thread::Builder::new().name("rpc-requests".into()).spawn(move || {
        let _ = read.send(read_requests(&for_reading, &runtime, input, max_request));
        for_reading.end();
    })?;

    tokio::select! {
        () = shared.ended.notified() => {}
        () = stop => shared.end(),
    }
    talktree.end_compactions();
    // From then on the thread that reads, which may still be inside a read, gets no share any more.
    shared.pipeline.finish().await;
    all_written.await.unwrap_or(Ok(()))?;
    all_read.try_recv().unwrap_or(Ok(()))
}

fn read_requests(shared: &Shared, runtime: &Handle, input: impl Read, max_request: usize) -> io::Result<()> {
    let mut lines = Lines::new(input, max_request);
    while let Some(line) = lines.next()? {
        if shared.closed.load(Ordering::Acquire) {
            break;
        }
        let length = match &line {
            Line::Whole(line) => line.len(),
            Line::TooLong => 0,
        };
        let taken = runtime.block_on(async {
            let share = shared.pipeline.room(length).await?;
            match line {
                Line::Whole(line) => shared.pipeline.take(line, share).await,
                Line::TooLong => shared.pipeline.refuse(too_long(max_request), share).await,
            }
            Some(())
        });
        if taken.is_none() {
            break;
        }
    }
    Ok(())
}

fn too_long(max_request: usize) -> Failure {
    Failure::request(format!("a request is at most {max_request} bytes long; this one was skipped (see --max-request)"))
}

/// Writes answers until the last one. If nobody reads them any more it tells so, and drops the rest.
fn write_answers(shared: &Shared, mut answers: Answers, output: impl Write) -> io::Result<()> {
    let mut output = BufWriter::with_capacity(64 * 1024, output);
    let mut done = Ok(());
    while let Some(Some(answer)) = answers.blocking_recv() {
        if done.is_ok() {
            // What is ready goes out together; nothing waits in the buffer while nothing follows.
            done = answer
                .reply
                .write(&mut output)
                .and_then(|()| output.write_all(b"\n"))
                .and_then(|()| if answers.is_empty() { output.flush() } else { Ok(()) });
            if done.is_err() {
                shared.end();
            }
        }
        drop(answer.share);
    }
    match done.and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}
