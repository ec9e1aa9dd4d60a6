//! Keys for entries that come without one: readable, and the same for the same words.

/// Characters of a key that are taken from a title.
const TITLE_CHARACTERS: usize = 60;

/// Characters of a key that are taken from a content.
const CONTENT_CHARACTERS: usize = 32;

/// A key for an entry, of its title or else of its content. It has no control characters and at most 256 bytes.
pub(super) fn derive(title: Option<&str>, content: &str, taken: impl Fn(&str) -> bool) -> String {
    let key = match title.map(|title| slug(title, TITLE_CHARACTERS)) {
        Some(slug) if !slug.is_empty() => slug,
        _ => {
            let slug = slug(content, CONTENT_CHARACTERS);
            let hash = blake3::hash(content.as_bytes()).to_hex();
            let hash = hash.get(..8).unwrap_or_default();
            if slug.is_empty() { format!("entry-{hash}") } else { format!("{slug}-{hash}") }
        }
    };
    if !taken(&key) {
        return key;
    }
    let mut number = 2_u32;
    loop {
        let numbered = format!("{key}-{number}");
        if !taken(&numbered) {
            return numbered;
        }
        number += 1;
    }
}

/// The letters and digits of any script, in lower case, with a hyphen for all that is between them.
fn slug(text: &str, characters: usize) -> String {
    let mut slug = String::new();
    let mut count = 0;
    let mut gap = false;
    for char in text.chars().flat_map(char::to_lowercase) {
        if count >= characters {
            break;
        }
        if char.is_alphanumeric() {
            if gap && !slug.is_empty() {
                slug.push('-');
                count += 1;
            }
            gap = false;
            slug.push(char);
            count += 1;
        } else {
            gap = true;
        }
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_of_the_words_of_the_title() {
        let free = |_: &str| false;
        assert_eq!(derive(Some("  Release window: Friday!"), "x", free), "release-window-friday");
        assert_eq!(derive(Some("发布窗口"), "x", free), "发布窗口");
        assert_eq!(derive(Some("a".repeat(500).as_str()), "x", free), "a".repeat(60));
        assert!(derive(Some(&"\u{20000}-".repeat(200)), "x", free).len() <= 256);
    }

    #[test]
    fn without_a_title_equal_contents_have_equal_keys_and_others_do_not() {
        let free = |_: &str| false;
        let key = derive(None, "The window is Friday", free);
        assert!(key.starts_with("the-window-is-friday-"), "{key}");
        assert_eq!(derive(None, "The window is Friday", free), key);
        assert_ne!(derive(None, "The window is Friday.", free), key);
        assert!(derive(Some("!!!"), "???", free).starts_with("entry-"));
    }

    #[test]
    fn a_key_that_is_taken_gets_a_number() {
        let taken = |key: &str| ["a", "a-2"].contains(&key);
        assert_eq!(derive(Some("A"), "x", taken), "a-3");
    }
}
