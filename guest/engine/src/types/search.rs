//! What a search takes and gives.

/// What a search looks at. Nothing named: text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SearchFields {
    /// Text parts.
    pub text: bool,
    /// Inputs and outputs of tools.
    pub tools: bool,
    /// Reasoning.
    pub reasoning: bool,
    /// Summaries.
    pub summaries: bool,
}

/// How a search is done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchOptions {
    /// One session; none: all of the store.
    pub session: Option<String>,
    /// Results per page: 1 to 1,000, by default 20.
    pub limit: Option<u32>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// Only messages of this role.
    pub role: Option<String>,
    /// Only messages written at this time or later, in ms since 1970.
    pub after: Option<i64>,
    /// Only messages written at this time or earlier, in ms since 1970.
    pub before: Option<i64>,
    /// What to look at.
    pub fields: SearchFields,
}

/// One message that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// Its session.
    pub session_id: String,
    /// Its id.
    pub id: String,
    /// Its role.
    pub role: String,
    /// Its number in the session.
    pub seq: u32,
    /// Its text parts, joined by newlines, at most 64 KiB.
    pub content: String,
    /// `content` was cut.
    pub content_truncated: bool,
    /// A part of the text with the matches between `[` and `]`.
    pub snippet: String,
    /// Higher is better.
    pub score: f64,
}
