//! Who writes summaries: the trait that the host asks, and the implementations that come with it.
//!
//! [`Extractive`] is the default: it needs no model and no network. [`Command`] runs a program, [`OpenAi`] and
//! [`Anthropic`] ask a server, and [`from_fn`] takes a closure. [`Spec`] names one of them in a text, as
//! `talktree rpc --summarizer` does.
//!
//! A summarizer is asked in the background: no call of a tenant waits for it but `compact`. Whoever asks ends a request
//! that takes too long ([`Builder::summarizer_timeout`](crate::Builder::summarizer_timeout)) by dropping its future.

mod anthropic;
mod command;
mod extractive;
mod http;
mod openai;
mod spec;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub(crate) use http::secret;

pub use anthropic::Anthropic;
pub use command::Command;
pub use extractive::Extractive;
pub use openai::OpenAi;
pub use spec::Spec;

pub use crate::bindings::talktree::sessions::summarizer::{Purpose, SummarizeError, Summary, SummaryRequest};

/// The answer of a summarizer that is on its way.
pub type Summarizing<'a> = Pin<Box<dyn Future<Output = Result<Summary, SummarizeError>> + Send + 'a>>;

/// Writes summaries.
///
/// Several requests may be under way at the same time. Dropping the future ends the request, with all that it started.
/// The texts of errors are for people and are logged, so neither content nor keys belong there.
pub trait Summarizer: Send + Sync + 'static {
    /// Answers the prompt with a text that should have at most so many tokens as the request says.
    fn summarize<'a>(&'a self, request: &'a SummaryRequest) -> Summarizing<'a>;
}

impl<S: Summarizer + ?Sized> Summarizer for Arc<S> {
    fn summarize<'a>(&'a self, request: &'a SummaryRequest) -> Summarizing<'a> {
        (**self).summarize(request)
    }
}

/// A summarizer of a closure.
///
/// ```
/// use talktree::summarizer::{Summary, SummaryRequest, from_fn};
///
/// let summarizer = from_fn(|request: SummaryRequest| async move {
///     let text = format!("{} bytes were said", request.prompt.len());
///     Ok(Summary { text, truncated: false, input_tokens: None, output_tokens: None })
/// });
/// # let _: &dyn talktree::summarizer::Summarizer = &summarizer;
/// ```
pub fn from_fn<F, A>(function: F) -> FromFn<F>
where
    F: Fn(SummaryRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Summary, SummarizeError>> + Send + 'static,
{
    FromFn(function)
}

/// See [`from_fn`].
#[derive(Clone, Debug)]
pub struct FromFn<F>(F);

impl<F, A> Summarizer for FromFn<F>
where
    F: Fn(SummaryRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Summary, SummarizeError>> + Send + 'static,
{
    fn summarize<'a>(&'a self, request: &'a SummaryRequest) -> Summarizing<'a> {
        Box::pin((self.0)(request.clone()))
    }
}

/// The name of the case, which says nothing of what was summarized.
pub(crate) fn kind(error: &SummarizeError) -> &'static str {
    match error {
        SummarizeError::Unavailable(_) => "unavailable",
        SummarizeError::RateLimited(_) => "rate-limited",
        SummarizeError::TooLong(_) => "too-long",
        SummarizeError::Other(_) => "other",
    }
}

/// The sentence of an error.
pub(crate) fn sentence(error: &SummarizeError) -> &str {
    match error {
        SummarizeError::Unavailable(text)
        | SummarizeError::RateLimited(text)
        | SummarizeError::TooLong(text)
        | SummarizeError::Other(text) => text,
    }
}
