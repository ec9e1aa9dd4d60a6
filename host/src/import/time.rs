//! Times as transcripts write them: milliseconds or seconds since 1970 as a number, or ISO 8601.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::json;

/// Below this a number counts seconds: in milliseconds it would be before March 1973.
const SECONDS_BELOW: f64 = 1e11;

/// The last moment of the year 9999. What is later is not a time.
const LATEST: f64 = 253_402_300_799_999.0;

/// The time that a JSON value stands for, in ms. None for what is no time, and for 0 and less: there it means that the
/// time is not known.
pub(crate) fn of_json(raw: &str) -> Option<i64> {
    if raw.starts_with('"') {
        return of_text(json::text(raw)?.trim());
    }
    let number: f64 = raw.parse().ok()?;
    let ms = if number < SECONDS_BELOW { number * 1_000.0 } else { number };
    // Infinity is not in the range.
    (1.0..=LATEST).contains(&ms).then_some(ms as i64)
}

fn of_text(text: &str) -> Option<i64> {
    let moment = match text.parse::<Timestamp>() {
        Ok(moment) => moment,
        // Without an offset UTC is meant.
        Err(_) => text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp(),
    };
    let ms = moment.as_millisecond();
    (ms > 0).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_moment_is_the_same_moment() {
        for spelling in [
            r#""2026-11-02T08:00:00.250Z""#,
            r#""2026-11-02T09:00:00.250+01:00""#,
            r#""2026-11-02T08:00:00.250""#,
            r#"" 2026-11-02 08:00:00.250Z ""#,
            "1793606400250",
            "1793606400.25",
            "1.79360640025e12",
        ] {
            assert_eq!(of_json(spelling), Some(1_793_606_400_250), "{spelling}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for raw in
            ["0", "-5", "-0", "1e400", "null", "true", "{}", r#""""#, r#""soon""#, r#""1969-01-01T00:00:00Z""#, "1e300"]
        {
            assert_eq!(of_json(raw), None, "{raw}");
        }
    }
}
