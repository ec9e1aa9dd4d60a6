//! A summarizer without a model, to be plugged into `sessions.wasm` where the host has no `summarizer` to offer.
//!
//! It gives the very summaries that the runtime's built-in summarizer gives.

// As a dependency it would be a package outside of this workspace. Cargo puts the path of such a one into the names of its
// symbols, and the same sources would give other bytes in another place.
#[path = "../../../guest/extractive/src/lib.rs"]
pub mod talktree_extractive;

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package talktree:extractive;
            world component {
                export talktree:sessions/summarizer@0.1.0;
            }
        ",
        path: "../../wit",
    });
}

use bindings::exports::talktree::sessions::summarizer::{Guest, SummarizeError, Summary, SummaryRequest};

struct Extractive;

impl Guest for Extractive {
    fn summarize(request: SummaryRequest) -> Result<Summary, SummarizeError> {
        let text = talktree_extractive::summary(&request.prompt, request.max_tokens as usize);
        Ok(Summary { text, truncated: false, input_tokens: None, output_tokens: None })
    }
}

bindings::export!(Extractive with_types_in bindings);
