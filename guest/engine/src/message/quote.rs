//! Writing a text as a JSON string.

/// The text as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            char if char < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_read_as_it_was() {
        let text = "a \"b\" \\ \n\r\t \u{0} \u{1f} é 部署 \u{2028} 👩‍👧";
        assert_eq!(serde_json::from_str::<String>(&quote(text)).ok().as_deref(), Some(text));
    }
}
