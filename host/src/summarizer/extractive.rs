//! Summaries without a model.

use std::future::ready;

use super::{Summarizer, Summarizing, Summary, SummaryRequest};

/// Picks sentences of the conversation: built in, deterministic, without a model and without a network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

impl Summarizer for Extractive {
    fn summarize<'a>(&'a self, request: &'a SummaryRequest) -> Summarizing<'a> {
        let text = talktree_extractive::summary(&request.prompt, request.max_tokens as usize);
        Box::pin(ready(Ok(Summary { text, truncated: false, input_tokens: None, output_tokens: None })))
    }
}
