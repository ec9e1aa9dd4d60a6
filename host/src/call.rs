//! One call on its way: from the caller's future to the tenant's thread and back.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use wasmtime::Store;

use crate::bindings::Sessions;
use crate::bindings::talktree::sessions::types as wit;
use crate::error::{Error, ErrorKind, Result};
use crate::metrics::{Hooks, Report, weight};
use crate::sandbox::{Guest, Sandbox};
use crate::tenant_name::TenantName;

/// The answer of a call that is on its way.
///
/// The call was put into its tenant's queue when this future was made, and the calls of one tenant are carried out in
/// that order, whenever the futures are polled. A future that is dropped does not take its call back: it may still be
/// carried out. Works on any executor.
#[must_use = "the answer may be an error: `.await` it"]
pub struct Call<T>(State<T>);

enum State<T> {
    Refused(Option<Error>),
    Accepted(oneshot::Receiver<Result<T>>),
}

impl<T> Call<T> {
    /// A call that was not even queued.
    pub(crate) fn refused(error: Error) -> Self {
        Self(State::Refused(Some(error)))
    }

    /// A call, and the side that answers it.
    pub(crate) fn pair() -> (Answer<T>, Self) {
        Self::reported(None)
    }

    /// The same; what came of it is told.
    pub(crate) fn reported(report: Option<Report>) -> (Answer<T>, Self) {
        let (sender, receiver) = oneshot::channel();
        (Answer { sender, report }, Self(State::Accepted(receiver)))
    }
}

// Nothing in it is ever pinned.
impl<T> Unpin for Call<T> {}

impl<T> Future for Call<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Refused(error) => {
                let error =
                    error.take().unwrap_or_else(|| Error::new(ErrorKind::Other, "the call was answered before"));
                Poll::Ready(Err(error))
            }
            State::Accepted(receiver) => Pin::new(receiver).poll(context).map(|answer| match answer {
                Ok(answer) => answer,
                // The tenant's thread has gone without an answer: it panicked outside of what is caught there.
                Err(_) => Err(Error::new(ErrorKind::Crashed, "the call was lost; retry with the same message id")),
            }),
        }
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

/// The side of a call that answers it.
pub(crate) struct Answer<T> {
    sender: oneshot::Sender<Result<T>>,
    report: Option<Report>,
}

impl<T> Answer<T> {
    /// The call's turn has come.
    pub(crate) fn begin(&mut self) {
        if let Some(report) = &mut self.report {
            report.begin();
        }
    }

    pub(crate) fn send(self, answer: Result<T>) {
        let Self { sender, report } = self;
        // Whoever has the answer finds it counted.
        if let Some(report) = report {
            report.end(answer.as_ref().map(drop).map_err(Error::kind));
        }
        // Nobody may be waiting any more.
        let _ = sender.send(answer);
    }
}

impl<T: 'static> Answer<T> {
    /// The same as [`send`](Self::send), with how much content there is in the answer.
    fn send_content(mut self, answer: Result<T>) {
        if let (Some(report), Ok(answer)) = (&mut self.report, &answer) {
            report.carry(weight(answer));
        }
        self.send(answer);
    }
}

/// What a call is called, in the log and in metrics.
#[derive(Clone)]
pub(crate) struct Label {
    pub(crate) span: tracing::Span,
    operation: &'static str,
    /// Bytes of content that come with it.
    bytes: u64,
}

impl Label {
    pub(crate) fn new(span: tracing::Span, operation: &'static str) -> Self {
        Self { span, operation, bytes: 0 }
    }

    /// The same for a call that brings so many bytes of content.
    pub(crate) fn carrying(self, bytes: usize) -> Self {
        Self { bytes: u64::try_from(bytes).unwrap_or(u64::MAX), ..self }
    }

    /// What will be told of the call; it begins to wait now.
    pub(crate) fn report(&self, hooks: &Hooks, tenant: &TenantName) -> Option<Report> {
        hooks.report(tenant, self.operation, self.bytes)
    }
}

/// Runs something that blocks on a thread of its own, whatever executor the caller has.
pub(crate) fn blocking<T: Send + 'static>(run: impl FnOnce() -> Result<T> + Send + 'static) -> Call<T> {
    let (answer, call) = Call::pair();
    match std::thread::Builder::new().name("talktree-io".to_owned()).spawn(move || answer.send(run())) {
        Ok(_) => call,
        Err(error) => Call::refused(Error::new(ErrorKind::Busy, format!("no thread could be started: {error}"))),
    }
}

/// What a call does to a tenant.
pub(crate) enum Access<T> {
    /// It reads: a tenant that was never written answers as an empty one.
    Read,
    /// It may write, and from its answer one can tell whether it did.
    Write(fn(&T) -> bool),
    /// It is about a tenant as a whole: one that was never written is unknown.
    Existing,
}

/// What a call needs of a tenant that was never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing: it reads something empty.
    Nothing,
    /// That it comes into being.
    Birth,
    /// That it had been there.
    Tenant,
}

/// A call in the queue of a tenant.
pub(crate) struct Job {
    /// What the log says while it runs.
    pub(crate) span: tracing::Span,
    pub(crate) need: Need,
    pub(crate) work: Box<dyn Work>,
}

/// The part of a call that is done on the tenant's thread. The answer is kept until all that belongs to it is done.
pub(crate) trait Work: Send {
    /// Its turn has come.
    fn begin(&mut self);
    /// Makes the call, and tells whether something was written by it.
    fn run(&mut self, sandbox: &mut Sandbox) -> bool;
    /// Answers with this error instead of what came of it.
    fn refuse(self: Box<Self>, error: Error);
    /// Answers with what came of it.
    fn answer(self: Box<Self>);
}

/// A call of a function of the guest.
struct GuestCall<T, F> {
    function: Option<F>,
    access: Access<T>,
    result: Option<Result<T>>,
    answer: Answer<T>,
}

impl<T, F> Work for GuestCall<T, F>
where
    T: Send + 'static,
    F: FnOnce(&Sessions, &mut Store<Guest>) -> wasmtime::Result<Result<T, wit::Error>> + Send,
{
    fn begin(&mut self) {
        self.answer.begin();
    }

    fn run(&mut self, sandbox: &mut Sandbox) -> bool {
        let Some(function) = self.function.take() else { return false };
        let result = sandbox.call(function);
        let written = match (&result, &self.access) {
            (Ok(answer), Access::Write(written)) => written(answer),
            _ => false,
        };
        self.result = Some(result);
        written
    }

    fn refuse(self: Box<Self>, error: Error) {
        self.answer.send(Err(error));
    }

    fn answer(self: Box<Self>) {
        let result = self.result.unwrap_or_else(|| Err(Error::new(ErrorKind::Other, "the call was not made")));
        self.answer.send_content(result);
    }
}

impl Job {
    /// A call of a function of the guest, and the future of its answer.
    pub(crate) fn new<T, F>(
        span: tracing::Span,
        report: Option<Report>,
        access: Access<T>,
        function: F,
    ) -> (Self, Call<T>)
    where
        T: Send + 'static,
        F: FnOnce(&Sessions, &mut Store<Guest>) -> wasmtime::Result<Result<T, wit::Error>> + Send + 'static,
    {
        let (answer, call) = Call::reported(report);
        let need = match access {
            Access::Read => Need::Nothing,
            Access::Write(_) => Need::Birth,
            Access::Existing => Need::Tenant,
        };
        let work = Box::new(GuestCall { function: Some(function), access, result: None, answer });
        (Self { span, need, work }, call)
    }
}
