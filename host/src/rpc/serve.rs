//! From a stream of lines to a stream of answers.
//!
//! Reading and writing block, so each has a thread of its own; the calls between them are tasks of the runtime. A
//! request takes its share of a budget when it is read and gives it back when its answer is written, which bounds the
//! memory of all, and tells when everything is done.

use std::{
    io::{self, BufWriter, Read, Write},
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use futures::FutureExt as _;
use tokio::{
    runtime::Handle,
    sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
};

use super::{
    failure::Failure,
    lanes::Lanes,
    lines::{Line, Lines},
    methods::Call,
    request::{Refused, Request},
};
use crate::Talktree;

/// A request is at most so many bytes long, where nothing else is said: 128 MiB.
pub const DEFAULT_MAX_REQUEST: usize = 128 * 1024 * 1024;

/// What may be under way, in KiB of request lines.
const BUDGET: u32 = 128 * 1024;
/// What a request costs whatever its length, in KiB: so about a thousand of them are under way at most.
const SHARE: u32 = 128;
/// Answers that wait for being written.
const ANSWERS: usize = 16;

/// An answer on its way out.
struct Answer {
    /// JSON text of the request's id.
    id: String,
    outcome: Result<String, Failure>,
    /// Given back when the answer is written.
    share: OwnedSemaphorePermit,
}

/// What reading, calls and writing have in common.
struct Shared {
    talktree: Talktree,
    lanes: Arc<Lanes>,
    budget: Arc<Semaphore>,
    /// None: that was the last one.
    answers: mpsc::Sender<Option<Answer>>,
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
    let (answers, waiting) = mpsc::channel(ANSWERS);
    let shared = Arc::new(Shared {
        talktree,
        lanes: Arc::default(),
        budget: Arc::new(Semaphore::new(BUDGET as usize)),
        answers,
        closed: AtomicBool::new(false),
        ended: Notify::new(),
    });

    let (written, all_written) = oneshot::channel();
    let for_writing = Arc::clone(&shared);
    thread::Builder::new().name("rpc-answers".into()).spawn(move || {
        let _ = written.send(write_answers(&for_writing, waiting, output));
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
    shared.talktree.end_compactions();
    // Whatever was taken in gives back its share once it is answered. From then on the thread that reads, which may
    // still be inside a read, gets no share any more.
    let done = Arc::clone(&shared.budget).acquire_many_owned(BUDGET).await;
    shared.budget.close();
    drop(done);
    let _ = shared.answers.send(None).await;
    all_written.await.unwrap_or(Ok(()))?;
    all_read.try_recv().unwrap_or(Ok(()))
}

fn read_requests(shared: &Arc<Shared>, runtime: &Handle, input: impl Read, max_request: usize) -> io::Result<()> {
    let _runtime = runtime.enter();
    let mut lines = Lines::new(input, max_request);
    while let Some(line) = lines.next()? {
        if shared.closed.load(Ordering::Acquire) {
            break;
        }
        let length = match &line {
            Line::Whole(line) => line.len() / 1024,
            Line::TooLong => 0,
        };
        let cost = u32::try_from(length).unwrap_or(BUDGET).saturating_add(SHARE).min(BUDGET);
        let Ok(share) = runtime.block_on(Arc::clone(&shared.budget).acquire_many_owned(cost)) else { break };
        let request = match line {
            Line::Whole(line) => Request::parse(line),
            Line::TooLong => Err(Refused::without_id(Failure::request(format!(
                "a request is at most {max_request} bytes long; this one was skipped (see --max-request)"
            )))),
        };
        match request {
            Ok(None) => {}
            Ok(Some(request)) => begin(shared, request, share),
            Err(refused) => {
                let Some(id) = refused.id else { continue };
                let answer = Answer { id, outcome: Err(refused.failure), share };
                // The writer lives until everything taken in is answered.
                let _ = shared.answers.blocking_send(Some(answer));
            }
        }
    }
    Ok(())
}

/// Puts a request into its lane.
fn begin(shared: &Arc<Shared>, mut request: Request, share: OwnedSemaphorePermit) {
    let id = request.id.take();
    let call = Call::of(request);
    let gives_way = call.as_ref().is_ok_and(Call::gives_way);
    let lane = call.as_ref().ok().and_then(|call| call.tenant().map(str::to_owned));
    let for_call = Arc::clone(shared);
    let job = async move {
        let outcome = match call {
            Ok(call) => AssertUnwindSafe(call.run(&for_call.talktree)).catch_unwind().await.unwrap_or_else(|_| {
                let sentence = "the call broke down; its outcome is unknown: retry with the same message id";
                Err(Failure::store("crashed", sentence, None, None, None))
            }),
            Err(failure) => Err(failure),
        };
        match (id, outcome) {
            (Some(id), outcome) => {
                let _ = for_call.answers.send(Some(Answer { id, outcome, share })).await;
            }
            (None, Err(failure)) => tracing::debug!("a request without id failed: {}", failure.json()),
            (None, Ok(_)) => {}
        }
    };
    match lane {
        Some(tenant) if gives_way => shared.lanes.push(tenant, begin_only(job).boxed()),
        Some(tenant) => shared.lanes.push(tenant, job.boxed()),
        None => drop(tokio::spawn(job)),
    }
}

/// Lets a job begin, which puts its first call into the tenant's queue, and go on beside the lane.
async fn begin_only(job: impl Future<Output = ()> + Send + 'static) {
    let mut job = job.boxed();
    if futures::poll!(&mut job).is_pending() {
        tokio::spawn(job);
    }
}

/// Writes answers until the last one. If nobody reads them any more it tells so, and drops the rest.
fn write_answers(shared: &Shared, mut answers: mpsc::Receiver<Option<Answer>>, output: impl Write) -> io::Result<()> {
    let mut output = BufWriter::with_capacity(64 * 1024, output);
    let mut done = Ok(());
    while let Some(Some(answer)) = answers.blocking_recv() {
        if done.is_ok() {
            // What is ready goes out together; nothing waits in the buffer while nothing follows.
            done = write_answer(&mut output, &answer)
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

fn write_answer(output: &mut impl Write, answer: &Answer) -> io::Result<()> {
    write!(output, r#"{{"jsonrpc":"2.0","id":{},"#, answer.id)?;
    match &answer.outcome {
        Ok(result) => write!(output, r#""result":{result}"#)?,
        Err(failure) => write!(output, r#""error":{}"#, failure.json())?,
    }
    output.write_all(b"}\n")
}
