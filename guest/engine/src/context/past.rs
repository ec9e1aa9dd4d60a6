//! The search of past messages, as a model reads its results.

use std::fmt::Write as _;

use rusqlite::OptionalExtension;

use super::arguments::Arguments;
use super::call::Told;
use crate::error::Result;
use crate::place::Place;
use crate::store::{Store, Tx};
use crate::types::{SearchOptions, SearchResult};

/// Messages that an answer gives.
const MAX_RESULTS: u32 = 10;

/// Characters up to which a message is given whole; of a longer one it is a part around what was found.
const MAX_WHOLE_CHARACTERS: usize = 600;

impl<P: Place> Store<P> {
    /// Searches the messages of all sessions: they are of one user, who does not care which conversation it was in.
    pub(super) fn session_search(&mut self, session: &str, given: &Arguments) -> Result<Told> {
        let query = match given.query() {
            Ok(query) => query,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let options = SearchOptions { limit: Some(MAX_RESULTS), ..SearchOptions::default() };
        let page = self.search(query, &options)?;
        if page.items.is_empty() {
            return Ok(Ok(format!(
                "No results found for {query:?} in past messages. A message must have all the words: try fewer."
            )));
        }
        let more = if page.cursor.is_some() { "; there are more: search for more words" } else { "" };
        let mut answer = format!("Found in past messages, best first{more}.");
        let times = self.read(|tx| page.items.iter().map(|result| tx.time_of(result)).collect::<Result<Vec<_>>>())?;
        for (result, time) in page.items.iter().zip(times) {
            let time = time.map(|time| format!(", {}", date(time))).unwrap_or_default();
            // Writing to a string does not fail.
            let _ = write!(answer, "\n---\n[{}{time}", result.role);
            if result.session_id != session {
                let _ = write!(answer, ", in the session {:?}", result.session_id);
            }
            let _ = write!(answer, "]\n{}", shown(result));
        }
        Ok(Ok(answer))
    }
}

impl Tx<'_> {
    /// When a message was written; none if it has gone since it was found.
    fn time_of(&self, result: &SearchResult) -> Result<Option<i64>> {
        Ok(self
            .statement(
                "SELECT m.created_at FROM session s JOIN message m ON m.session = s.key WHERE s.id = ?1 AND m.id = ?2",
            )?
            .query_row([&result.session_id, &result.id], |row| row.get(0))
            .optional()?)
    }
}

/// What a message says, or the part of it that was found.
fn shown(result: &SearchResult) -> &str {
    let whole = !result.content_truncated && result.content.chars().nth(MAX_WHOLE_CHARACTERS).is_none();
    if whole { &result.content } else { &result.snippet }
}

/// A time in ms since 1970 as a date and time of day.
fn date(milliseconds: i64) -> String {
    let minutes = milliseconds.div_euclid(60_000);
    let (days, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
    // Years begin in March here, so that a leap day is the last day of one; 400 of them have 146,097 days.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    format!("{:04}-{month:02}-{day:02} {:02}:{:02} UTC", era * 400 + year, minute / 60, minute % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_and_times_of_day() {
        for (milliseconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (-1, "1969-12-31 23:59 UTC"),
            (951_782_399_999, "2000-02-28 23:59 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (951_868_800_000, "2000-03-01 00:00 UTC"),
            (1_709_251_199_000, "2024-02-29 23:59 UTC"),
            (1_735_689_600_000, "2025-01-01 00:00 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00 UTC"),
            (-62_135_596_800_000, "0001-01-01 00:00 UTC"),
        ] {
            assert_eq!(date(milliseconds), expected);
        }
        // The largest time that a message can have.
        assert!(date((1 << 53) - 1).starts_with("287396-10-12 "));
    }
}
