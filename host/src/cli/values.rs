//! Values of options: sizes and spans of time with their units.

use std::time::Duration;

/// Reads `65536`, `64KiB`, `4MiB`, `1GiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err("a number of bytes, or one with KiB, MiB or GiB behind it, such as 64KiB".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "this needs a whole number, such as 64KiB".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "this is more than any machine has".to_owned())
}

/// The same, as the size of something that is there at once: not 0.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    match usize::try_from(bytes(text)?) {
        Ok(0) => Err("this has to be more than 0".to_owned()),
        Ok(size) => Ok(size),
        Err(_) => Err("this is more than this machine can address".to_owned()),
    }
}

/// A size of any file, or `none` for no limit.
pub(crate) fn quota(text: &str) -> Result<Quota, String> {
    match text.trim() {
        "none" => Ok(Quota(None)),
        text => bytes(text).map(|bytes| Quota(Some(bytes))).map_err(|why| format!("{why}; or none")),
    }
}

/// See [`quota`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota(pub(crate) Option<u64>);

/// The same, as the memory of a sandbox: at most 4 GiB, since its addresses have 32 bits.
pub(crate) fn memory(text: &str) -> Result<usize, String> {
    match size(text)? {
        bytes if bytes as u64 <= 4 << 30 => Ok(bytes),
        _ => Err("a sandbox cannot have more than 4GiB".to_owned()),
    }
}

/// The name of a tenant: any text of 1 to 512 bytes.
pub(crate) fn tenant(text: &str) -> Result<String, String> {
    match text.len() {
        1..=512 => Ok(text.to_owned()),
        0 => Err("a tenant's name is not empty".to_owned()),
        bytes => Err(format!("a tenant's name has at most 512 bytes, this one has {bytes}")),
    }
}

/// Reads `500ms`, `30s`, `30` (seconds), `2min`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let number: u64 = number.parse().map_err(|_| "this needs a whole number, such as 30s".to_owned())?;
    let ms = match unit.to_ascii_lowercase().as_str() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        _ => return Err("a number of seconds, or one with ms, s or min behind it, such as 500ms".to_owned()),
    };
    match number.checked_mul(ms) {
        Some(0) => Err("this has to be more than 0".to_owned()),
        // A hundred years, so that no clock overflows.
        Some(ms) if ms <= 100 * 365 * 86_400_000 => Ok(Duration::from_millis(ms)),
        _ => Err("this is longer than anybody waits".to_owned()),
    }
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    (number, unit.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(bytes("65536"), Ok(65_536));
        assert_eq!(bytes("64KiB"), Ok(65_536));
        assert_eq!(bytes("4 MiB"), Ok(4 << 20));
        assert_eq!(bytes("1g"), Ok(1 << 30));
        for bad in ["", "KiB", "-1", "1.5MiB", "7 apples", "99999999999999999999", "18446744073709551615k"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
        assert!(size("0").is_err());
        assert_eq!(quota("2GiB"), Ok(Quota(Some(2 << 30))));
        assert_eq!(quota("none"), Ok(Quota(None)));
        assert!(quota("nothing").is_err());
    }

    #[test]
    fn a_sandbox_has_at_most_what_its_addresses_reach() {
        assert_eq!(memory("4GiB"), Ok(4 << 30));
        for bad in ["5GiB", "4294967297", "0"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_tenant_has_a_name() {
        assert_eq!(tenant("easy:test1"), Ok("easy:test1".to_owned()));
        assert!(tenant("").is_err() && tenant(&"a".repeat(512)).is_ok() && tenant(&"a".repeat(513)).is_err());
    }

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2min"), Ok(Duration::from_secs(120)));
        for bad in ["", "s", "0", "1.5s", "5 days", "18446744073709551615", "99999999999999999999s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
