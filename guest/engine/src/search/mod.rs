//! Search: words, an index of them that is built when it is first asked for, and what is found by it.
//!
//! `words` and `stem` turn text into what is compared, `query` reads what is asked for, `matches` finds it in a text
//! without an index. `parts` says what of a message goes into the index, `index` keeps it, `find` asks it (or lets `scan`
//! read everything, where there is none and none can be made), `found` puts what there is in order.

mod find;
mod found;
mod index;
mod matches;
mod parts;
mod query;
mod scan;
mod size;
mod stem;
mod words;

pub(crate) use matches::relevance;
pub(crate) use query::Query;
