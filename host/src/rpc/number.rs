//! JSON numbers as whole numbers, by value and exactly.
//!
//! `50`, `50.0` and `5e1` are the same number (some languages write every number with a fraction), so all are taken;
//! `1.5` is no whole number. Nothing goes through a float, so that no digit is lost on the way.

/// What the text of a JSON number is, as a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// This one.
    Is(i128),
    /// Whole, and beyond any range that is used here.
    Huge,
    /// Not whole.
    Fraction,
}

/// Digits that surely fit an `i128`.
const DIGITS: usize = 37;

/// Reads the text of a JSON number, which is taken to be well formed.
pub(super) fn whole(text: &str) -> Whole {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // Zeros at either end say nothing; what is left is `digits` times ten to the `shift`.
    let all = [integer, fraction].concat();
    let digits = all.trim_start_matches('0');
    if digits.is_empty() {
        return Whole::Is(0);
    }
    let significant = digits.trim_end_matches('0');
    let exponent = match exponent.map(|text| (text.starts_with('-'), text.parse::<i64>())) {
        None => 0,
        Some((_, Ok(exponent))) => exponent,
        Some((true, Err(_))) => return Whole::Fraction,
        Some((false, Err(_))) => return Whole::Huge,
    };
    let trailing = (digits.len() - significant.len()) as i64;
    let shift = exponent.saturating_sub(fraction.len() as i64).saturating_add(trailing);
    if shift < 0 {
        return Whole::Fraction;
    }
    if significant.len() > DIGITS || shift > (DIGITS - significant.len()) as i64 {
        return Whole::Huge;
    }
    let value = significant.bytes().fold(0i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    let value = value * 10i128.pow(shift as u32);
    Whole::Is(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_taken_in_any_spelling() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0e-7", 0),
            ("50", 50),
            ("50.0", 50),
            ("5e1", 50),
            ("0.5E+2", 50),
            ("5000e-2", 50),
            ("-12", -12),
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("18446744073709551615", 18_446_744_073_709_551_615),
            ("1.8446744073709551615e19", 18_446_744_073_709_551_615),
        ] {
            assert_eq!(whole(text), Whole::Is(value), "{text}");
        }
    }

    #[test]
    fn fractions_and_huge_numbers_are_told_apart() {
        for text in ["1.5", "-0.1", "1e-1", "15e-1", "1e-99999999999999999999", "0.00001"] {
            assert_eq!(whole(text), Whole::Fraction, "{text}");
        }
        for text in ["1e400", "1e99999999999999999999", "-1e38", "100000000000000000000000000000000000000001"] {
            assert_eq!(whole(text), Whole::Huge, "{text}");
        }
    }
}
