//! What the functions over a message's text promise.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod estimate;
mod generate;
mod preview;
mod properties;
mod reserved;
mod validity;

/// A message with these parts, as JSON text.
fn message(parts: &str) -> String {
    format!(r#"{{"id":"m","role":"user","parts":{parts}}}"#)
}

fn keys(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
