//! Search: words, an index of them that is built when it is first asked for, and what is found by it.

mod matches;
mod query;
mod stem;
mod words;

pub(crate) use matches::{relevance, snippet};
pub(crate) use query::Query;
