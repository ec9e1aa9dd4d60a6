//! The text of a message: what is accepted, what is kept, what is derived from it.
