//! How the tree hangs together, and what belongs to a session beside its messages.

use crate::error::{Error, Kind, Result};
use crate::overlay::Overlay;
use crate::session::Session;
use crate::store::Tx;

/// Adds the damage that a look has come upon, and passes on what is none.
fn note(problems: &mut Vec<String>, what: &str, looked: Result<Option<String>>) -> Result<()> {
    match looked {
        Ok(None) => Ok(()),
        Ok(Some(problem)) => {
            problems.push(format!("{what}: {problem}"));
            Ok(())
        }
        Err(Error { kind: Kind::Corrupt | Kind::InvalidArgument, message, .. }) => {
            problems.push(format!("{what}: {message}"));
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn wrong(is_wrong: bool, problem: &str) -> Option<String> {
    is_wrong.then(|| problem.to_owned())
}

impl Tx<'_> {
    /// Chains whose depth, or way up, is not what their places make it.
    pub(super) fn wrong_chains(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut keys = self.statement("SELECT key FROM chain ORDER BY key")?;
        let mut keys = keys.query([])?;
        while let Some(row) = keys.next()? {
            let key: u32 = row.get(0)?;
            let looked = self.chain(key).and_then(|chain| {
                let hung = self.hang(chain.attach)?;
                Ok(wrong(!chain.hangs_as(hung), "its depth or its way up is wrong"))
            });
            note(problems, &format!("chain {key}"), looked)?;
        }
        Ok(())
    }

    /// What sessions have beside their messages: summaries, blocks, prompts, settings.
    pub(super) fn wrong_parts_of_sessions(&mut self, problems: &mut Vec<String>) -> Result<()> {
        let ids: Vec<String> = self
            .statement("SELECT id FROM session ORDER BY key")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let looked = self.wrong_blocks(0);
        note(problems, "the store", looked)?;
        for id in ids {
            let Some(session) = self.session(&id)? else { continue };
            let what = format!("session {id:?}");
            let looked = self.wrong_blocks(session.key);
            note(problems, &what, looked)?;
            let looked = self.wrong_overlays(&session, problems);
            note(problems, &what, looked)?;
            let looked = self.wrong_prompt(session.key);
            note(problems, &what, looked)?;
        }
        Ok(())
    }

    fn wrong_blocks(&self, owner: i64) -> Result<Option<String>> {
        let scope = (owner != 0).then_some(owner);
        self.own_configuration(owner)?;
        self.configuration(scope)?;
        for label in self.carried_labels(owner)? {
            match self.carry_block(owner, &label)? {
                Some(block) => self.look_at_block(owner, &block)?,
                None => return Ok(Some(format!("the block {label:?} is hidden by another one"))),
            }
        }
        Ok(None)
    }

    fn wrong_prompt(&self, session: i64) -> Result<Option<String>> {
        self.carry_loaded(session)?;
        self.title(session)?;
        let frozen = self.frozen(session)?;
        Ok(wrong(frozen.is_some_and(|frozen| !frozen.is_sound()), "its frozen prompt does not hold together"))
    }

    fn wrong_overlays(&self, session: &Session, problems: &mut Vec<String>) -> Result<Option<String>> {
        let count: i64 = self
            .statement("SELECT count(*) FROM overlay WHERE session = ?1")?
            .query_row([session.key], |row| row.get(0))?;
        if count != session.overlays {
            return Ok(Some(format!("it says {} summaries; there are {count}", session.overlays)));
        }
        for overlay in self.overlays(session)? {
            let looked = self.wrong_overlay(&overlay);
            note(problems, &format!("summary {:?}", overlay.id), looked)?;
        }
        Ok(None)
    }

    fn wrong_overlay(&self, overlay: &Overlay) -> Result<Option<String>> {
        let compaction = self.compaction(overlay, None)?;
        if !self.is_on_path_to(overlay.first, overlay.last)? || !self.is_on_path_to(overlay.last, overlay.place)? {
            return Ok(Some("what it covers is on no path to its place".to_owned()));
        }
        let ends = [(overlay.first, &overlay.first_id), (overlay.last, &overlay.last_id)];
        for (key, id) in ends {
            if self.message_id(key)? != *id {
                return Ok(Some(format!("{id:?} is not where it covers it")));
            }
        }
        if self.message_at_or_above(overlay.place)? != Some(overlay.last) {
            return Ok(Some("there are messages between what it covers and its place".to_owned()));
        }
        if self.count_between(overlay.first, overlay.last)? != overlay.count {
            return Ok(Some("it covers another number of messages than it says".to_owned()));
        }
        Ok(wrong(!overlay.is_measured(&compaction.summary), "its length is another one than it says"))
    }

    /// Events that say nothing, or whose numbers no event can have.
    pub(super) fn wrong_events(&mut self, problems: &mut Vec<String>) -> Result<()> {
        let (floor, end) = (self.feed_floor()?, self.last_event()?);
        let mut after = floor;
        while let Some(last) = self.look_at_events(after, end)? {
            after = last;
        }
        let wrong: i64 = self
            .statement(
                "SELECT (SELECT count(*) FROM event WHERE number <= ?1 OR number > ?2)
                   + (SELECT count(*) FROM message WHERE event < 1 OR event > ?2)
                   + (SELECT count(*) FROM run WHERE event < 1 OR event > ?2)
                   + (SELECT count(*) FROM session WHERE rank > ?2 OR last_event > ?2)",
            )?
            .query_row([floor, end], |row| row.get(0))?;
        if wrong > 0 {
            problems.push(format!("{wrong} numbers of events that there cannot be"));
        }
        Ok(())
    }
}
