//! Looking for damage: in the pages of the file, in what the rows say of each other, and in what they hold.
//!
//! Of a store that is sound no read finds damage: everything that a read would refuse is looked at here as well.

mod content;
mod sessions;
mod strays;
mod sums;

use crate::error::{Kind, Result};
use crate::place::Place;
use crate::store::{Store, Tx};
use crate::types::CheckReport;

/// Lines of a report.
const MAX_PROBLEMS: usize = 100;

impl<P: Place> Store<P> {
    /// Looks for damage in the file: reads all of it.
    pub fn check(&mut self) -> Result<CheckReport> {
        self.read(|tx| {
            let mut problems = Vec::new();
            if let Err(error) = tx.look_for_damage(&mut problems) {
                // Damage that a look cannot get past is what was looked for.
                if error.kind != Kind::Corrupt {
                    return Err(error);
                }
                problems.push(error.message);
            }
            problems.truncate(MAX_PROBLEMS);
            Ok(CheckReport { sound: problems.is_empty(), problems })
        })
    }
}

impl Tx<'_> {
    fn look_for_damage(&mut self, problems: &mut Vec<String>) -> Result<()> {
        self.damaged_pages(problems)?;
        // Rows of a damaged file need not make sense: what is wrong with its pages says enough.
        if problems.is_empty() {
            self.wrong_sessions(problems)?;
            self.wrong_chains(problems)?;
            self.wrong_sums(problems)?;
            self.strays(problems)?;
            self.wrong_messages(problems)?;
            self.wrong_payloads(problems)?;
            self.wrong_parts_of_sessions(problems)?;
            self.wrong_events(problems)?;
            self.wrong_index(problems)?;
        }
        Ok(())
    }

    fn damaged_pages(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut statement = self.statement(&format!("PRAGMA integrity_check({MAX_PROBLEMS})"))?;
        let mut lines = statement.query([])?;
        while let Some(line) = lines.next()? {
            let line: String = line.get(0)?;
            if line != "ok" {
                problems.push(line);
            }
        }
        Ok(())
    }
}
