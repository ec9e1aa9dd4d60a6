//! Compaction with a model: what to cover, what to ask, and putting the answer in place.
//!
//! A plan is made in one call and committed in another, so that nothing of the store is held while a model writes. Only
//! as much of the path is read as the plan takes: the tail that is kept, from the leaf up, and the stretch that fits one
//! prompt, from the protected head down.

use rusqlite::params;

use crate::append::now;
use crate::config::{scaled, scaled_by};
use crate::correction::Sum;
use crate::cursor::{Purpose, stale};
use crate::cut::Cut;
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::message;
use crate::overlay::{NewOverlay, Overlay};
use crate::pairing::{Pairing, is_user_turn};
use crate::place::Place;
use crate::prompt::{FRAME_TOKENS, Prompt};
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::types::{
    AutoCompact, Compaction, CompactionPlan, Configuration, EventKind, MediaMode, SummarizeError, Summary,
    SummaryRequest,
};
use crate::view::{Item, Step, View};

/// A summary is asked to have at most this many tokens, and at least the smaller number where that is not more than
/// a quarter of what it covers.
const SUMMARY_TOKENS: std::ops::RangeInclusive<u32> = 256..=4096;

/// Characters of one text, input or output in a prompt: what is longer is cut.
const MAX_TEXT_CHARACTERS: usize = 24_000;

/// Below this many, texts are not cut for the sake of the length of a prompt.
const MIN_TEXT_CHARACTERS: usize = 200;

/// Steps of one `compact`, so that it ends.
const MAX_STEPS: usize = 1000;

impl<P: Place> Store<P> {
    /// Prepares a compaction of the path to a leaf. None: there is nothing to compact.
    pub fn prepare_compaction(&mut self, session: &str, leaf_id: Option<&str>) -> Result<Option<CompactionPlan>> {
        self.read(|tx| {
            let found = tx.session(session)?;
            let view = tx.find_view(found.as_ref(), leaf_id, true)?;
            let (Some(session), Some(view)) = (found, view) else { return Ok(None) };
            let config = tx.configuration(Some(session.key))?;
            let Some(range) = tx.range_to_compact(&view, &config)? else { return Ok(None) };
            tx.plan(&session, &view, range, &config).map(Some)
        })
    }

    /// Puts a summary in the place of what a plan covers.
    pub fn commit_compaction(&mut self, session: &str, token: &str, summary: &Summary) -> Result<Compaction> {
        let mut refused = None;
        let committed = self.write(|tx| {
            refused = None;
            let outdated = || Error::new(Kind::PlanOutdated, "what the plan covers has changed; prepare again");
            let mut found = tx.session(session)?.ok_or_else(outdated)?;
            let planned = tx.planned(&found, token)?.ok_or_else(outdated)?;
            if let Some(sentence) = tx.objection(&planned, summary) {
                // The refusal itself is kept, so the transaction must go through.
                let count = tx.refuse(&found, &planned.view)?;
                refused = Some(
                    Error::new(Kind::NoProgress, format!("{sentence}; {count} refused since the last compaction"))
                        .numbers(count.into(), planned.tokens),
                );
                return Ok(None);
            }
            let event = tx.next_quiet_event()?;
            let new = NewOverlay {
                first: planned.first,
                last: planned.last,
                count: planned.count,
                summary: summary.text.trim(),
                created_at: now(),
                automatic: true,
                input_tokens: summary.input_tokens,
                output_tokens: summary.output_tokens,
            };
            let overlay = tx.insert_overlay(&mut found, &new, event)?;
            tx.write_event(event, &found.key, EventKind::Compacted, None, &[&overlay.id])?;
            tx.save_session(&found)?;
            tx.forget_refusals(&found)?;
            tx.compaction(&overlay, None).map(Some)
        })?;
        match (committed, refused) {
            (Some(compaction), _) => Ok(compaction),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::new(Kind::Other, "the compaction came to nothing")),
        }
    }

    /// When a session's path above its threshold is compacted.
    pub fn auto_compact(&mut self, session: &str) -> Result<AutoCompact> {
        self.read(|tx| {
            let session = tx.session(session)?.map(|session| session.key);
            Ok(tx.configuration(session)?.auto_compact)
        })
    }

    /// Says that no summary came for a plan: automatic attempts wait until the path has grown.
    pub fn abandon_compaction(&mut self, session: &str, token: &str) -> Result<()> {
        self.write(|tx| {
            let Some(session) = tx.session(session)? else { return Ok(()) };
            match tx.planned(&session, token)? {
                Some(planned) => tx.refuse(&session, &planned.view).map(drop),
                None => Ok(()),
            }
        })
    }

    /// Compacts the path to a leaf with a model, step by step until nothing is left to cover. None: there was nothing.
    pub fn compact(
        &mut self,
        session: &str,
        leaf_id: Option<&str>,
        mut summarize: impl FnMut(&SummaryRequest) -> Result<Summary, SummarizeError>,
    ) -> Result<Option<Compaction>> {
        let mut last = None;
        for _ in 0..MAX_STEPS {
            let Some(plan) = self.prepare_compaction(session, leaf_id)? else { return Ok(last) };
            let request = SummaryRequest::for_plan(&plan);
            let summary = match summarize(&request) {
                Ok(summary) => summary,
                Err(error) => {
                    self.abandon_compaction(session, &plan.token)?;
                    return Err(Error::new(Kind::SummarizerFailed, format!("no summary was given: {error}")));
                }
            };
            match self.commit_compaction(session, &plan.token, &summary) {
                Ok(compaction) => last = Some(compaction),
                // A later step that gains nothing does not undo the ones before it.
                Err(error) if error.kind == Kind::NoProgress && last.is_some() => return Ok(last),
                Err(error) => return Err(error),
            }
        }
        Ok(last)
    }
}

/// What a plan covers, found again.
struct Planned {
    view: View,
    first: Key,
    last: Key,
    count: i64,
    /// Tokens of what it covers, as it is read now.
    tokens: u64,
}

/// The items of a view that a compaction covers.
struct Range {
    first: Key,
    last: Key,
    unanswered: Vec<Key>,
}

/// An item on the way down from the root.
struct Candidate {
    first: Key,
    last: Key,
    messages: i64,
    tokens: u64,
    overlay: bool,
    has_calls: bool,
}

impl Tx<'_> {
    /// The first item of the tail that is kept. None: all of the path is.
    fn tail_of(&self, view: &View, config: &Configuration) -> Result<Option<Key>> {
        let most = u64::from(config.keep_recent_tokens);
        let least = config.min_tail as usize;
        let mut cut = Cut::default();
        let mut begins: Vec<Key> = Vec::new();
        let (mut tokens, mut within, mut tail) = (0, 0, None);
        self.walk_view(view, None, true, "key, role, calls, tokens", |item| {
            let (begin, size) = match &item {
                Item::Overlay(overlay) => (overlay.first, overlay.tokens),
                Item::Row(row) => (row.get(0)?, row.get(3)?),
            };
            tokens += scaled(size, config);
            if tokens > most && begins.len() > least {
                tail = cut.tail(within, least);
                if tail.is_some() {
                    return Ok(Step::Refused);
                }
            }
            if tokens <= most {
                within += 1;
            }
            begins.push(begin);
            match item {
                Item::Overlay(_) => cut.pass("assistant", &[]),
                Item::Row(row) => {
                    let (role, calls) = role_and_calls(row, 1)?;
                    cut.pass(&role, &calls);
                }
            }
            Ok(Step::Taken)
        })?;
        let tail = match tail {
            // The walk was ended, so something is above.
            Some(tail) => tail,
            None => match cut.tail_at_root(within, least) {
                all if all >= begins.len() => return Ok(None),
                tail => tail,
            },
        };
        Ok(tail.checked_sub(1).and_then(|last| begins.get(last).copied()))
    }

    /// The middle of a path that a compaction covers, as far as it fits one prompt.
    fn range_to_compact(&self, view: &View, config: &Configuration) -> Result<Option<Range>> {
        let tail = match self.tail_of(view, config)? {
            Some(tail) => Some(tail),
            None => return Ok(None),
        };
        let budget = u64::from(config.max_prompt_tokens).saturating_sub(u64::from(FRAME_TOKENS)).max(1);
        let mut pairing = Pairing::default();
        let mut items: Vec<Candidate> = Vec::new();
        let (mut head, mut head_messages) = (0, 0);
        let (mut tokens, mut fit, mut turns_behind) = (0, 0, 0);
        self.walk_view(view, None, false, "key, role, calls, tokens", |item| {
            let candidate = match &item {
                Item::Overlay(overlay) => Candidate {
                    first: overlay.first,
                    last: overlay.last,
                    messages: overlay.count,
                    tokens: scaled(overlay.tokens, config),
                    overlay: true,
                    has_calls: false,
                },
                Item::Row(row) => {
                    let key = row.get(0)?;
                    let tokens = scaled(row.get(3)?, config);
                    Candidate { first: key, last: key, messages: 1, tokens, overlay: false, has_calls: false }
                }
            };
            if Some(candidate.first) == tail {
                return Ok(Step::Refused);
            }
            let (role, calls) = match item {
                Item::Overlay(_) => ("assistant".to_owned(), Vec::new()),
                Item::Row(row) => role_and_calls(row, 1)?,
            };
            pairing.read(&role, &calls);
            if head_messages < i64::from(config.protect_head) {
                head_messages += candidate.messages;
                head += 1;
                fit = head;
            } else {
                tokens += candidate.tokens.min(MAX_TEXT_CHARACTERS as u64);
                if tokens <= budget {
                    fit = items.len() + 1;
                } else {
                    // Results of what fits may still follow, within two turns of the user's.
                    turns_behind += u32::from(is_user_turn(&role, &calls));
                }
            }
            items.push(Candidate { has_calls: !calls.is_empty(), ..candidate });
            Ok(if turns_behind < 2 { Step::Taken } else { Step::TakenAsLast })
        })?;
        let Some(first) = (head..items.len()).find(|&first| !pairing.parts(first)) else { return Ok(None) };
        // As much as fits; where not even one unit does, that unit.
        let allowed = |end: &usize| !pairing.parts(*end) && !pairing.open_between(first, end - 1);
        let shorter = (first + 1..=fit.min(items.len())).rev().find(allowed);
        let Some(end) = shorter.or_else(|| (first + 1..=items.len()).find(allowed)) else { return Ok(None) };
        let covered = items.get(first..end).unwrap_or_default();
        if covered.iter().all(|item| item.overlay) {
            return Ok(None);
        }
        let unanswered = (first..end)
            .filter(|&at| items.get(at).is_some_and(|item| item.has_calls) && pairing.is_unanswered(at))
            .filter_map(|at| items.get(at).map(|item| item.first))
            .collect();
        Ok(match (covered.first(), covered.last()) {
            (Some(first), Some(last)) => Some(Range { first: first.first, last: last.last, unanswered }),
            _ => None,
        })
    }

    fn plan(&mut self, session: &Session, view: &View, range: Range, config: &Configuration) -> Result<CompactionPlan> {
        let covered = self.covered(view, range.first, range.last)?;
        let before = self.view_sum(session, view)?;
        let covered_tokens = scaled(covered.sum.tokens, config);
        let max_tokens = summary_tokens(covered_tokens);
        let mut limit = MAX_TEXT_CHARACTERS;
        let prompt = loop {
            let prompt = self.prompt(&covered, &range, max_tokens, limit)?;
            let tokens = scaled(i64::from(message::tokens::estimate(&prompt)), config);
            // One unit alone may be too much: then its texts are cut shorter.
            if tokens <= u64::from(config.max_prompt_tokens) || limit < MIN_TEXT_CHARACTERS {
                break prompt;
            }
            limit /= 2;
        };
        let tokens_before = scaled(before.tokens, config);
        let token = self.encode_cursor(
            Purpose::Plan,
            &[
                session.key.unsigned_abs(),
                view.path.leaf.number(),
                range.first.number(),
                range.last.number(),
                covered.count.unsigned_abs(),
                covered.fingerprint,
            ],
        )?;
        Ok(CompactionPlan {
            token,
            prompt,
            max_tokens,
            first_id: self.message_id(range.first)?,
            last_id: self.message_id(range.last)?,
            count: u32::try_from(covered.count).unwrap_or(u32::MAX),
            tokens_before: u32::try_from(tokens_before).unwrap_or(u32::MAX),
            tokens_after: u32::try_from(tokens_before.saturating_sub(covered_tokens) + u64::from(max_tokens))
                .unwrap_or(u32::MAX),
        })
    }

    fn prompt(&self, covered: &CoveredItems, range: &Range, max_tokens: u32, limit: usize) -> Result<String> {
        let mut prompt = Prompt::new(max_tokens);
        for item in &covered.items {
            match item {
                Covered::Overlay(overlay) => prompt.earlier_summary(&self.summary(overlay)?, overlay.count),
                &Covered::Message(key) => {
                    let (head, text) = self.load(key, MediaMode::Reference)?;
                    let transcript = message::transcript(&text, limit);
                    prompt.message(&head.role, &transcript, range.unanswered.contains(&key));
                }
            }
        }
        Ok(prompt.finish())
    }

    /// What a token's plan covers, if that is still there and unchanged.
    fn planned(&mut self, session: &Session, token: &str) -> Result<Option<Planned>> {
        let foreign = |_| Error::new(Kind::PlanOutdated, "the token is none of this store's; prepare again");
        let [of, leaf, first, last, count, fingerprint] = self.decode_cursor(Purpose::Plan, token).map_err(foreign)?;
        let ends = (Key::from_number(leaf), Key::from_number(first), Key::from_number(last));
        let (Some(leaf), Some(first), Some(last)) = ends else { return Ok(None) };
        if of != session.key.unsigned_abs()
            || self.find_chain(last.chain())?.is_none()
            || !self.is_on_path_to(first, last)?
        {
            return Ok(None);
        }
        // The leaf may have gone meanwhile: what is covered decides.
        let path = match self.find_chain(leaf.chain())? {
            Some(_) if self.is_on_path_to(last, leaf)? => self.path_to(leaf)?,
            _ => self.path_to(last)?,
        };
        let shown = self.shown(session, &path, i64::MAX)?;
        let view = View { path, shown };
        let covered = match self.covered(&view, first, last) {
            Err(error) if error.kind == Kind::StaleCursor => return Ok(None),
            other => other?,
        };
        if (covered.count.unsigned_abs(), covered.fingerprint) != (count, fingerprint) {
            return Ok(None);
        }
        let config = self.configuration(Some(session.key))?;
        let tokens = scaled(covered.sum.tokens, &config);
        Ok(Some(Planned { view, first, last, count: covered.count, tokens }))
    }

    /// The items of a view between two places, and what tells them from others.
    fn covered(&self, view: &View, first: Key, last: Key) -> Result<CoveredItems> {
        let mut covered =
            CoveredItems { items: Vec::new(), sum: Sum::default(), count: 0, fingerprint: 0xcbf2_9ce4_8422_2325 };
        let mut ended = false;
        let mut texts = Vec::new();
        let begin = first.before();
        self.stretch_of(&view.path, first)?;
        self.walk_view(view, Some(begin), false, "key, bytes, tokens", |item| {
            let end = match item {
                Item::Overlay(overlay) => {
                    covered.count += overlay.count;
                    covered.sum += Sum { bytes: overlay.bytes, tokens: overlay.tokens, ..Sum::default() };
                    covered.mix(&[overlay.key.unsigned_abs(), overlay.count.unsigned_abs()]);
                    covered.items.push(Covered::Overlay(overlay.clone()));
                    overlay.last
                }
                Item::Row(row) => {
                    let key: Key = row.get(0)?;
                    covered.count += 1;
                    covered.sum += Sum { bytes: row.get(1)?, tokens: row.get(2)?, ..Sum::default() };
                    covered.mix(&[key.number(), covered.sum.bytes.unsigned_abs()]);
                    covered.items.push(Covered::Message(key));
                    texts.push(key);
                    key
                }
            };
            ended = end == last;
            Ok(if ended { Step::TakenAsLast } else { Step::Taken })
        })?;
        if !ended {
            return Err(stale("what was to be covered has changed"));
        }
        // An edit need not change a length: the texts themselves count.
        for key in texts {
            let (_, text) = self.load(key, MediaMode::Reference)?;
            covered.mix_text(&text);
        }
        Ok(covered)
    }

    /// Why a summary is refused.
    fn objection(&self, planned: &Planned, summary: &Summary) -> Option<String> {
        let text = summary.text.trim();
        if text.is_empty() {
            return Some("the summary is blank".to_owned());
        }
        if summary.truncated {
            return Some("the model stopped in the middle of the summary".to_owned());
        }
        let tokens = u64::from(message::tokens::estimate(text));
        (tokens >= planned.tokens).then(|| {
            format!("the summary has {tokens} tokens, not fewer than the {} that it would replace", planned.tokens)
        })
    }

    /// Notes that an attempt came to nothing, and from which size of the path on the next automatic one is made.
    fn refuse(&self, session: &Session, view: &View) -> Result<u32> {
        let config = self.configuration(Some(session.key))?;
        let tokens = scaled(self.view_sum(session, view)?.tokens, &config);
        let wait = tokens + u64::from(config.compact_after.unwrap_or(0) / 4).max(1);
        Ok(self
            .statement(
                "INSERT INTO refusal(session, count, wait) VALUES (?1, 1, ?2)
                 ON CONFLICT DO UPDATE SET count = count + 1, wait = excluded.wait RETURNING count",
            )?
            .query_row(params![session.key, wait as i64], |row| row.get(0))?)
    }

    fn forget_refusals(&self, session: &Session) -> Result<()> {
        self.statement("DELETE FROM refusal WHERE session = ?1")?.execute([session.key])?;
        Ok(())
    }

    /// Whether an automatic compaction of the present path is due: it is above the threshold, nothing is waited for,
    /// and there is something to cover.
    pub(crate) fn compaction_due(&mut self, session: &Session) -> Result<bool> {
        let threshold = match self.memo.threshold {
            Some((of, threshold)) if of == session.key => threshold,
            _ => self.compact_after(session.key)?,
        };
        self.memo.threshold = Some((session.key, threshold));
        let (Some((threshold, factor)), Some(leaf)) = (threshold, session.present_leaf()) else { return Ok(false) };
        let path = self.path_to(leaf)?;
        let view = View { path, shown: self.shown(session, &path, i64::MAX)? };
        // What the path amounts to is known from the sums along its chains: no message of it is read.
        let tokens = scaled_by(self.view_sum(session, &view)?.tokens, factor);
        if tokens <= u64::from(threshold) {
            return Ok(false);
        }
        let wait: Option<i64> = self
            .statement("SELECT max(wait) FROM refusal WHERE session = ?1")?
            .query_row([session.key], |row| row.get(0))?;
        if wait.is_some_and(|wait| tokens < wait.unsigned_abs()) {
            return Ok(false);
        }
        let config = self.configuration(Some(session.key))?;
        Ok(self.range_to_compact(&view, &config)?.is_some())
    }
}

/// An item that a plan covers.
enum Covered {
    Message(Key),
    Overlay(Overlay),
}

struct CoveredItems {
    items: Vec<Covered>,
    sum: Sum,
    /// Messages, those under overlays included.
    count: i64,
    fingerprint: u64,
}

impl CoveredItems {
    fn mix(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.fingerprint = (self.fingerprint ^ number).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn mix_text(&mut self, text: &str) {
        let hash = blake3::hash(text.as_bytes());
        let (bytes, _) = hash.as_bytes().split_at(8);
        self.mix(&[bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))]);
    }
}

impl SummaryRequest {
    /// What to ask for a plan.
    pub fn for_plan(plan: &CompactionPlan) -> Self {
        Self { prompt: plan.prompt.clone(), max_tokens: plan.max_tokens }
    }
}

fn summary_tokens(covered: u64) -> u32 {
    let quarter = u32::try_from(covered / 4).unwrap_or(u32::MAX);
    quarter.clamp(*SUMMARY_TOKENS.start(), *SUMMARY_TOKENS.end())
}

fn role_and_calls(row: &rusqlite::Row<'_>, at: usize) -> Result<(String, Vec<message::Call>)> {
    let role = row.get(at)?;
    let calls = row.get_ref(at + 1)?.as_str_or_null().map_err(rusqlite::Error::from)?;
    Ok((role, calls.map(message::decode).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_asked_to_be_a_quarter_of_what_it_covers_within_limits() {
        assert_eq!(summary_tokens(400), 256);
        assert_eq!(summary_tokens(4000), 1000);
        assert_eq!(summary_tokens(1_000_000), 4096);
    }
}
