//! The contract's interfaces over the engine: what bindings generate, and the conversions between the two.

mod answers;
mod arguments;
mod context;
mod error;
mod instance;
mod store;
mod summarizer;
mod whole;

mod bindings {
    #![allow(missing_docs, reason = "generated; the WIT has the documentation")]
    #![allow(clippy::undocumented_unsafe_blocks, unreachable_pub, reason = "generated")]

    wit_bindgen::generate!({
        path: "../wit",
        world: "sessions",
    });

    export!(Component with_types_in self);

    /// What exports the interfaces.
    pub(super) struct Component;
}

use bindings::Component;
use bindings::talktree::sessions::types as wit;
