//! What a model is to the agent.

use futures::stream::BoxStream;

use crate::Tool;

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// The system prompt.
    pub system: String,
    /// What has changed in the memory since the system prompt was made; to be told after the messages, so that the
    /// beginning stays the same for the provider's cache.
    pub reminder: Option<String>,
    /// The messages, oldest first, as the JSON texts of AI SDK `UIMessage`s.
    pub messages: Vec<String>,
    /// The tools that it may call.
    pub tools: Vec<Tool>,
}

/// A piece of an answer, as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// More text.
    Text(String),
    /// A call of a tool, whole.
    Call {
        /// Its id, which the result will carry.
        id: String,
        /// The tool's name.
        name: String,
        /// Its arguments, as the JSON text that the model wrote.
        arguments: String,
    },
    /// The answer was cut off, since it was as long as the model may write.
    Cut,
}

/// Why a model does not answer: a sentence without content and keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelError(pub String);

/// An answer that is under way. Its end is the end of the answer.
pub type Answering = BoxStream<'static, Result<Piece, ModelError>>;

/// A model that answers messages.
pub trait Model: Send + Sync + 'static {
    /// Begins an answer. Dropping it breaks it off.
    fn answer(&self, question: Question) -> Answering;
}
