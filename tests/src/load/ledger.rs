//! What one client has written, as far as it was told, and whether a store agrees.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::{
    client::{Client, Outcome},
    message,
};

/// Messages that are read at a time.
const AHEAD: usize = 64;

/// A session of a tenant.
pub type Place = (String, &'static str);

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was acknowledged.
    There,
    /// Nobody knows whether it was written.
    Maybe,
    /// That it is gone was acknowledged.
    Gone,
    /// Nobody knows whether it is gone.
    MaybeGone,
}

/// A message that was sent.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its id.
    pub id: String,
    /// What is known of it.
    pub fate: Fate,
    /// Of its texts, the one that was acknowledged last.
    pub version: u32,
    /// The one that nobody knows of whether it was written.
    pub maybe_version: Option<u32>,
    /// It came with others that are there together or not at all.
    pub batch: Option<u32>,
    /// It answers what was the newest message then, so that it comes behind all that were acknowledged before.
    pub in_order: bool,
}

/// What one client has written.
#[derive(Debug, Default)]
pub struct Ledger {
    /// By place, in the order in which it was sent.
    pub places: BTreeMap<Place, Vec<Written>>,
}

/// The text of a version of a message: another one for each, of different lengths.
pub fn text(id: &str, version: u32) -> String {
    let sum: usize = id.bytes().map(usize::from).sum();
    format!("{id} {version} {}", "word ".repeat((sum * 7 + version as usize) % 300))
}

/// What was found in all stores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Messages, of any fate.
    pub messages: usize,
    /// Those whose text was read and compared.
    pub compared: usize,
}

/// Compares what is stored in a place with what its clients know. Fails with the first difference.
pub fn compare(client: &mut Client, place: &Place, ledgers: &[Ledger]) -> Result<Found> {
    let stored = list(client, place)?;
    let mut positions = BTreeMap::new();
    for (position, id) in stored.iter().enumerate() {
        ensure!(positions.insert(id.as_str(), position).is_none(), "{place:?}: {id} is there twice");
    }
    let mut found = Found { messages: stored.len(), compared: 0 };
    let mut known = 0;
    let mut to_read = Vec::new();
    for ledger in ledgers {
        let Some(written) = ledger.places.get(place) else { continue };
        known += written.iter().filter(|written| positions.contains_key(written.id.as_str())).count();
        compare_ids(place, written, &positions)?;
        to_read.extend(written.iter().filter(|written| written.version > 0 || positions.len() <= 300));
    }
    ensure!(known == stored.len(), "{place:?}: {} messages that nobody has sent", stored.len() - known);
    to_read.retain(|written| positions.contains_key(written.id.as_str()));
    for some in to_read.chunks(AHEAD) {
        compare_texts(client, place, some)?;
        found.compared += some.len();
    }
    Ok(found)
}

fn compare_ids(place: &Place, written: &[Written], positions: &BTreeMap<&str, usize>) -> Result<()> {
    let mut last = None;
    let mut batches: BTreeMap<u32, [usize; 2]> = BTreeMap::new();
    for Written { id, fate, in_order, batch, .. } in written {
        let position = positions.get(id.as_str()).copied();
        match (fate, position) {
            (Fate::There, None) => bail!("{place:?}: {id} was acknowledged and is not there"),
            (Fate::Gone, Some(_)) => bail!("{place:?}: {id} was deleted and is there"),
            _ => {}
        }
        if *fate == Fate::There && *in_order {
            ensure!(position > last, "{place:?}: {id} is not where it was sent");
            last = position;
        }
        // One that was deleted by itself later says nothing of its batch.
        if let (Some(batch), Fate::There | Fate::Maybe) = (batch, fate) {
            batches.entry(*batch).or_default()[usize::from(position.is_some())] += 1;
        }
    }
    match batches.iter().find(|(_, [missing, there])| *missing > 0 && *there > 0) {
        Some((batch, [missing, there])) => {
            bail!("{place:?}: of batch {batch} {there} messages are there and {missing} are not")
        }
        None => Ok(()),
    }
}

fn compare_texts(client: &mut Client, (tenant, session): &Place, written: &[&Written]) -> Result<()> {
    let call = |written: &&Written| ("getMessage", json!({"tenant": tenant, "session": session, "id": written.id}));
    let calls: Vec<_> = written.iter().map(call).collect();
    for (written, outcome) in written.iter().zip(client.call_all(&calls)) {
        let Outcome::Done(found) = outcome else { bail!("{tenant} {}: {outcome:?}", written.id) };
        let versions = [Some(written.version), written.maybe_version];
        let fits = versions
            .into_iter()
            .flatten()
            .any(|version| found["message"] == message(&written.id, &text(&written.id, version)));
        let found = found["message"].to_string();
        ensure!(fits, "{tenant} {}: it has none of the texts that it may have: {found:.200}", written.id);
    }
    Ok(())
}

/// The ids of all messages of a session, in the order in which they were written.
fn list(client: &mut Client, (tenant, session): &Place) -> Result<Vec<String>> {
    let (mut ids, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = json!({"tenant": tenant, "session": session, "limit": 1000, "cursor": cursor});
        let page = client.must("listMessages", params)?;
        let messages = page["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        ids.extend(messages.iter().filter_map(|node| node["id"].as_str().map(str::to_owned)));
        cursor = page["cursor"].clone();
        if cursor.is_null() {
            return Ok(ids);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(id: &str, fate: Fate, batch: Option<u32>) -> Written {
        Written { id: id.to_owned(), fate, version: 0, maybe_version: None, batch, in_order: true }
    }

    fn agree(written: &[Written], stored: &[&str]) -> bool {
        let positions = stored.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        compare_ids(&("t".to_owned(), ""), written, &positions).is_ok()
    }

    #[test]
    fn what_was_acknowledged_has_to_be_there_and_in_order() {
        let two = [written("a", Fate::There, None), written("b", Fate::There, None)];
        assert!(agree(&two, &["a", "b"]));
        assert!(!agree(&two, &["a"]) && !agree(&two, &["b"]) && !agree(&two, &["b", "a"]));
    }

    #[test]
    fn what_was_deleted_has_to_be_gone_and_what_is_unknown_may_be_either() {
        assert!(agree(&[written("a", Fate::Gone, None)], &[]) && !agree(&[written("a", Fate::Gone, None)], &["a"]));
        for fate in [Fate::Maybe, Fate::MaybeGone] {
            assert!(agree(&[written("a", fate, None)], &[]) && agree(&[written("a", fate, None)], &["a"]));
        }
    }

    #[test]
    fn a_batch_is_there_as_a_whole_or_not_at_all() {
        let batch = [written("a", Fate::Maybe, Some(1)), written("b", Fate::Maybe, Some(1))];
        assert!(agree(&batch, &["a", "b"]) && agree(&batch, &[]) && !agree(&batch, &["b"]));
    }

    #[test]
    fn every_version_of_a_message_has_another_text() {
        assert_ne!(text("a", 0), text("a", 1));
        assert_ne!(text("a", 0), text("b", 0));
    }
}
