//! The imported model, as the engine asks for it.

use talktree_engine as engine;

use super::bindings::talktree::sessions::summarizer as imported;

/// Asks the imported summarizer. Nothing of the store is held meanwhile.
pub(super) fn summarize(request: &engine::SummaryRequest) -> Result<engine::Summary, engine::SummarizeError> {
    let request = imported::SummaryRequest {
        prompt: request.prompt.clone(),
        max_tokens: request.max_tokens,
        purpose: imported::Purpose::Compaction,
    };
    match imported::summarize(&request) {
        Ok(imported::Summary { text, truncated, input_tokens, output_tokens }) => {
            Ok(engine::Summary { text, truncated, input_tokens, output_tokens })
        }
        Err(error) => Err(match error {
            imported::SummarizeError::Unavailable(why) => engine::SummarizeError::Unavailable(why),
            imported::SummarizeError::RateLimited(why) => engine::SummarizeError::RateLimited(why),
            imported::SummarizeError::TooLong(why) => engine::SummarizeError::TooLong(why),
            imported::SummarizeError::Other(why) => engine::SummarizeError::Other(why),
        }),
    }
}
