//! What can be given as a message.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};

/// What can be given as a message: its JSON text, or something that is written as such.
///
/// A text (`&str`, `String`, serde_json's `RawValue`) is stored byte for byte, but for white space outside strings. A
/// [`serde_json::Value`] or anything in [`Json`] is written as JSON first: what such a value does not keep (the order
/// of keys, numbers as they were spelled) is lost before it comes here.
pub trait IntoMessage {
    /// The JSON text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidMessage`] if the value cannot be written as JSON.
    fn into_message(self) -> Result<String>;
}

/// Any value that serde can write, as a message.
///
/// ```
/// use talktree::{IntoMessage, Json};
///
/// #[derive(serde::Serialize)]
/// struct Message<'a> { id: &'a str, role: &'a str, parts: Vec<()> }
///
/// let text = Json(&Message { id: "m1", role: "user", parts: vec![] }).into_message()?;
/// assert_eq!(text, r#"{"id":"m1","role":"user","parts":[]}"#);
/// # Ok::<(), talktree::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(
    /// The value.
    pub T,
);

impl<T: Serialize> IntoMessage for Json<T> {
    fn into_message(self) -> Result<String> {
        serde_json::to_string(&self.0).map_err(|error| {
            Error::new(ErrorKind::InvalidMessage, format!("the message cannot be written as JSON: {error}"))
        })
    }
}

impl IntoMessage for String {
    fn into_message(self) -> Result<String> {
        Ok(self)
    }
}

impl IntoMessage for &String {
    fn into_message(self) -> Result<String> {
        Ok(self.clone())
    }
}

impl IntoMessage for &str {
    fn into_message(self) -> Result<String> {
        Ok(self.to_owned())
    }
}

impl IntoMessage for Cow<'_, str> {
    fn into_message(self) -> Result<String> {
        Ok(self.into_owned())
    }
}

impl IntoMessage for Box<RawValue> {
    fn into_message(self) -> Result<String> {
        Ok(Box::<str>::from(self).into_string())
    }
}

impl IntoMessage for &RawValue {
    fn into_message(self) -> Result<String> {
        Ok(self.get().to_owned())
    }
}

impl IntoMessage for Value {
    fn into_message(self) -> Result<String> {
        Json(self).into_message()
    }
}

impl IntoMessage for &Value {
    fn into_message(self) -> Result<String> {
        Json(self).into_message()
    }
}
