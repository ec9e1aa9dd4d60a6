//! A summarizer that asks a chat-completions server, to be plugged into `sessions.wasm`.
//!
//! Environment of the component: `SUMMARIZER_URL` (up to and without `/chat/completions`), `SUMMARIZER_MODEL`, and
//! `SUMMARIZER_KEY` where the server wants one. The host must let it reach that server (`wasmtime run -S http`).

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package talktree:chat-completions;
            world component {
                export talktree:sessions/summarizer@0.1.0;
            }
        ",
        path: "../../wit",
    });
}

use bindings::exports::talktree::sessions::summarizer::{Guest, SummarizeError, Summary, SummaryRequest};
use completions::{Failure, Server};

struct ChatCompletions;

impl Guest for ChatCompletions {
    fn summarize(request: SummaryRequest) -> Result<Summary, SummarizeError> {
        let server = Server::from_environment("SUMMARIZER")
            .map_err(error)?
            .ok_or_else(|| SummarizeError::Unavailable("SUMMARIZER_URL names no server".to_owned()))?;
        let messages = [completions::message("user", &request.prompt)];
        let answer = server.complete(&messages, request.max_tokens).map_err(error)?;
        Ok(Summary {
            text: answer.text,
            truncated: answer.truncated,
            input_tokens: answer.input_tokens,
            output_tokens: answer.output_tokens,
        })
    }
}

fn error(failure: Failure) -> SummarizeError {
    match failure {
        Failure::Unavailable(sentence) => SummarizeError::Unavailable(sentence),
        Failure::RateLimited(sentence) => SummarizeError::RateLimited(sentence),
        Failure::TooLong(sentence) => SummarizeError::TooLong(sentence),
        Failure::Other(sentence) => SummarizeError::Other(sentence),
    }
}

bindings::export!(ChatCompletions with_types_in bindings);
