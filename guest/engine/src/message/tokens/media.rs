//! What images and files cost: what providers charge for them, not what their bytes would cost as text.

use crate::message::json::Raw;

/// What an image costs.
pub const IMAGE_TOKENS: u32 = 765;

/// The tokens of a string that holds the bytes of an image or a file, by its `data:` URL or as base64; none if it is
/// text. `key` is the name of the member that it is in.
pub(in crate::message) fn media_in(key: Option<&Raw<'_>>, raw: &Raw<'_>) -> Option<u32> {
    let written = raw.as_written();
    // What a text says is text, whatever it looks like.
    if key.is_some_and(|key| key.is("text")) {
        return None;
    }
    if let Some(url) = written.strip_prefix("data:") {
        let head = url.as_bytes().iter().take(256).position(|&byte| byte == b',')?;
        let (head, payload) = url.split_at_checked(head)?;
        let media_type = head.split(';').next().unwrap_or_default();
        if head.ends_with(";base64") {
            return Some(media_tokens(media_type, payload.len() / 4 * 3));
        }
        return media_type.starts_with("image").then_some(IMAGE_TOKENS);
    }
    if written.len() < 64 {
        return None;
    }
    let media_type = MAGIC.iter().find(|(magic, _)| written.starts_with(magic)).map(|(_, media_type)| *media_type);
    let by_name = || written.len() >= 256 && key.is_some_and(|key| DATA_KEYS.contains(&key.as_written()));
    if (media_type.is_some() || by_name()) && is_base64(written) {
        return Some(media_tokens(media_type.unwrap_or_default(), written.len() / 4 * 3));
    }
    None
}

/// How common files begin, in base64.
const MAGIC: [(&str, &str); 6] = [
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("\\/9j\\/", "image/jpeg"),
    ("R0lGODl", "image/gif"),
    ("UklGR", "image/webp"),
    ("JVBERi0", "application/pdf"),
];

/// Members that hold bytes in the formats that are about.
const DATA_KEYS: [&str; 7] = ["data", "base64", "bytes", "blob", "b64_json", "file_data", "image"];

/// Whether there is nothing but the digits of base64 in a text, slashes possibly escaped.
fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\\'))
}

/// What a file costs, by its media type (full, or only its first half) and its size in bytes, 0 if that is not known.
pub fn media_tokens(media_type: &str, bytes: usize) -> u32 {
    let kind = media_type.split('/').next().unwrap_or_default();
    let (least, per_token, most) = match kind {
        "image" => return IMAGE_TOKENS,
        // Sound: about ten tokens for a second, at about 16 KiB a second.
        "audio" => (64, 1600, 100_000),
        // Moving pictures: about 260 tokens for a second, at about 250 KiB a second.
        "video" => (512, 1000, 1_000_000),
        // What is text in the file is text for the model.
        "text" => (16, 4, 1_000_000),
        // Documents: a page is about a thousand tokens and about 32 KiB.
        _ => (256, 32, 100_000),
    };
    u32::try_from(bytes / per_token).unwrap_or(most).clamp(least, most)
}
