//! Messages that a surface makes up from a text, where a client gives no more than that.

use ring::rand::{SecureRandom as _, SystemRandom};

use crate::{
    error::{Error, ErrorKind, Result},
    rpc::Object,
};

/// A message of this role, with an id at random and one text: its id, and its JSON text.
///
/// # Errors
///
/// `other` where the system gives no random numbers.
pub fn text_message(role: &str, text: &str) -> Result<(String, String)> {
    let mut bytes = [0_u8; 12];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::new(ErrorKind::Other, "this system gives no random numbers"))?;
    let random: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let id = format!("msg-{random}");
    let mut part = Object::new();
    part.text("type", "text").text("text", text);
    let mut message = Object::new();
    message.text("id", &id).text("role", role);
    message.list("parts", &[part.finish()], |part, out| out.push_str(part));
    Ok((id, message.finish()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::text_message;

    #[test]
    fn every_message_has_an_id_of_its_own_and_says_what_was_given() {
        let (id, json) = text_message("user", "a \"b\" \u{0}\n😀").unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["id"], id.as_str());
        assert_eq!(value["parts"][0]["text"], "a \"b\" \u{0}\n😀");
        assert_ne!(text_message("user", "a").unwrap().0, text_message("user", "a").unwrap().0);
    }
}
