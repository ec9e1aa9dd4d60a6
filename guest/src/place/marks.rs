//! Taking turns by marks in the store's directory, where the host gives no locks; and for hosts that do, keeping the
//! others out.
//!
//! # How
//!
//! A turn is a *generation*: a number, and a file `owner.<number>` that says `busy` or `kept` with the time, or `free`.
//! Whoever has made the file of the highest generation has the turn.
//!
//! - **Taking**: find the highest generation `n`. If it is free, or was left behind, make `owner.<n+1>`: making a file
//!   that must not exist yet is one step, which only one instance can win. Write `busy` into it. Then look again:
//!   nothing higher may be there, and `n` must still say what it said; else what we saw was out of date, our file goes
//!   and we begin anew. Then delete the lower ones, **lowest first**.
//! - **Again**: who had the last turn makes `n+1` at once, and looks that there is no `n+2` and that `owner.<n>` still
//!   says what we wrote. Since lower ones go first, it would be gone if anybody had ever had `n+1` before us. So turns
//!   in a row need no listing.
//! - **Keeping**: when the database is about to be read or written, and when the turn ends, and a second has passed
//!   since the last look: write the time into the mark anew, **then** look that there is no `n+1` and that `owner.<n>`
//!   says what we wrote (in that order: if `n+1` had come and gone, `n` would have gone before it). Else the turn is
//!   lost: everything on the database fails from there on, and the end of the turn answers `busy`.
//! - **Giving back**: the file is rewritten as `free` and stays. So the numbers only rise.
//! - **For good**: who has a lock of the host (`TALKTREE_LOCKING=host`) takes one turn like everybody else, but writes
//!   `kept` into its mark. There is nothing to renew: such a mark never counts as left behind, and only another who has
//!   the host's lock may follow it, since then whoever wrote it has come to its end. It is given back like others; the
//!   very first one is deleted instead, so that nothing stays where only hosts with locks have ever been: nobody could
//!   follow it, so no number is used twice by those who have seen one.
//! - **Left behind**: a busy mark was left behind when it was *seen* unchanged for 5 s, or for 2 s where the time in it
//!   is at least 5 s away from now. The waiting is measured by the monotonic clock: a jump of the wall clock alone takes
//!   nothing from an owner at work.
//!
//! # Why it is safe
//!
//! Two instances never win the same generation. (One that was frozen on the way may make a low one once more, and finds
//! out when it looks again. So it is by what a mark says that it is known, never by its name: no two say the same.) What
//! is left is an owner that is taken for dead while it lives. Both sides first write and then look: the owner renews its
//! mark and looks for a higher one, the other makes the higher one and looks whether the mark was renewed. So at least
//! one of them sees the other, and gives way: the owner by failing, the other by beginning anew. And between two of its
//! looks, at most a second, nobody may take an owner for dead, since its mark has not been unchanged for two.
//!
//! An owner that lost its turn has written complete transactions, or a piece of one without its end, which recovery
//! skips. What was not known to be ours at the end of the turn is not acknowledged.
//!
//! # What remains
//!
//! - An instance that its host freezes for seconds between its look and the write that follows, writes after it has
//!   lost its turn; so does a host whose single write takes that long. No mark can help; a lock of the host does
//!   (`TALKTREE_LOCKING=host`).
//! - A call that works for more than 5 s without touching the database, while another instance waits, loses its turn
//!   and answers `busy`; nothing is harmed.
//! - A host with a lock that is killed leaves its mark: instances without one answer `busy` until a host with the lock
//!   has opened the store and closed it again, or somebody who knows that none is left deletes the mark.
//! - In a directory that can only be read there are no marks: reads go on, and a writer elsewhere is not kept out. The
//!   same goes for reads when the disk has no room for a mark.

use std::cmp::min;
use std::collections::BTreeSet;

use talktree_vfs::ErrorCode;

/// A mark that was seen unchanged for this long was left behind, whatever its time says. In ms.
const LEFT_BEHIND: u64 = 5_000;
/// So was one that was seen unchanged for this long and whose time is at least [`LEFT_BEHIND`] away from now. In ms.
const WATCHED: u64 = 2_000;
/// How old the last look may be before the database is touched. In ms; well below [`WATCHED`].
const LOOK_EVERY: u64 = 1_000;
/// Who has the host's lock follows a mark that was seen to say nothing for this long: after loss of power a kept one may
/// be empty. Its maker would find out, since it looks again after it has written. In ms.
const UNWRITTEN: u64 = 100;
/// First and longest pause between two looks at somebody else's mark, in ms.
const PAUSES: (u64, u64) = (2, 50);

const PREFIX: &str = "owner.";

/// What the marks need of the world; the tests bring a world of their own.
pub(crate) trait Surroundings {
    /// An open mark.
    type Mark;

    /// The names of everything in the directory.
    fn names(&self) -> Result<Vec<String>, ErrorCode>;
    /// Makes a file that must not exist yet.
    fn create(&self, name: &str) -> Result<Self::Mark, ErrorCode>;
    /// Replaces the content of a mark, which always has the same length.
    fn write(&self, mark: &Self::Mark, content: &str) -> Result<(), ErrorCode>;
    /// The content of a file; none if it is not there.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, ErrorCode>;
    /// Whether a file is there.
    fn is_there(&self, name: &str) -> Result<bool, ErrorCode>;
    /// Deletes a file, if it is there.
    fn delete(&self, name: &str) -> Result<(), ErrorCode>;
    /// Unix time in ms.
    fn wall(&self) -> u64;
    /// A clock that never jumps, in ms.
    fn monotonic(&self) -> u64;
    /// Waits this many ms.
    fn sleep(&self, milliseconds: u64);
}

/// Why there is no turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Somebody else has it, and was waited for this many ms.
    Busy(u64),
    /// Somebody with a lock of the host has the store, or was killed while it had it; waited for this many ms.
    Kept(u64),
    /// It was ours and somebody else took it.
    Lost,
    /// No mark can be made here: the directory can only be read.
    ReadOnly,
    /// No mark can be made here: no room.
    NoRoom,
    /// The host failed.
    Host(ErrorCode),
}

/// The marks of one directory, as one instance sees them.
pub(crate) struct Marks<S: Surroundings> {
    surroundings: S,
    /// Told apart from other instances by this.
    instance: u64,
    /// We have the host's lock.
    locked: bool,
    turn: Turn<S::Mark>,
    /// The generation of our last turn, if it ended well, and what we wrote into its mark.
    last: Option<(u64, String)>,
    /// The highest mark as it was first seen: generation, content, when.
    watched: Option<(u64, Vec<u8>, u64)>,
    /// Counts what we write into marks, so that no two are alike.
    beat: u64,
}

enum Turn<M> {
    None,
    Held(Own<M>),
    /// Reading without a mark.
    Unmarked,
    /// It was ours, with this mark.
    Lost(M),
}

struct Own<M> {
    generation: u64,
    mark: M,
    /// The time before our last look: it was ours then.
    looked: u64,
}

impl<S: Surroundings> Marks<S> {
    /// Nobody's turn.
    pub(crate) fn new(surroundings: S, instance: u64) -> Self {
        Self { surroundings, instance, locked: false, turn: Turn::None, last: None, watched: None, beat: 0 }
    }

    /// Nobody's turn, for who has the host's lock.
    pub(crate) fn locked(surroundings: S, instance: u64) -> Self {
        Self { locked: true, ..Self::new(surroundings, instance) }
    }

    /// Takes the turn, and waits at most this many ms for whoever has it, or 3 s longer where the mark looks left behind.
    /// So even instances that live shortly and wait little get past it. True: somebody else may have had it since our last one.
    /// (False can come too late, in an instance that was frozen just then: the first look, or the end, tells.)
    pub(crate) fn begin(&mut self, timeout: u64) -> Result<bool, Refusal> {
        if let Some((last, content)) = self.last.take()
            && let Some(own) = self.create(last + 1)?
        {
            let alone = self.is_alone(last + 2, last, &content);
            if alone == Ok(true) {
                self.take(own, [last]);
                return Ok(false);
            }
            self.remove(own.generation)?;
            alone?;
        }
        self.begin_among_others(timeout).map(|()| true)
    }

    /// Takes the turn for good, with the host's lock in hand; [`release`](Self::release) gives it back. Waits at most this
    /// many ms for whoever has it.
    pub(crate) fn keep(&mut self, timeout: u64) -> Result<(), Refusal> {
        self.begin_among_others(timeout)
    }

    /// Gives a turn back that was taken for good. Where this fails the others are told that the store is still kept.
    pub(crate) fn release(&mut self) {
        let free = self.content("free");
        if let Turn::Held(own) = std::mem::replace(&mut self.turn, Turn::None) {
            let _ = match own.generation {
                // Nobody can have followed a mark that was kept, so nobody has seen another one here.
                1 => self.remove(1),
                _ => self.surroundings.write(&own.mark, &free).map_err(refusal),
            };
        }
    }

    /// Reads without a turn, where none can be had: a writer elsewhere is not kept out.
    pub(crate) fn begin_unmarked(&mut self) {
        self.turn = Turn::Unmarked;
    }

    /// Whether the database may be read now, or written. Looks whether the turn is still ours, when that is due.
    pub(crate) fn may(&mut self, writing: bool) -> bool {
        match &self.turn {
            Turn::None | Turn::Lost(_) => return false,
            Turn::Unmarked => return !writing,
            Turn::Held(_) => {}
        }
        // A look that itself took longer than it may be old is of no use.
        loop {
            let now = self.surroundings.monotonic();
            let Turn::Held(own) = &self.turn else { return false };
            if now.saturating_sub(own.looked) < LOOK_EVERY {
                return true;
            }
            let generation = own.generation;
            let content = self.content("busy");
            let Turn::Held(own) = &self.turn else { return false };
            let kept = self.surroundings.write(&own.mark, &content).is_ok()
                // What cannot be looked at is not ours.
                && self.is_alone(generation + 1, generation, &content) == Ok(true);
            self.turn = match std::mem::replace(&mut self.turn, Turn::None) {
                Turn::Held(own) if kept => Turn::Held(Own { looked: now, ..own }),
                Turn::Held(own) => Turn::Lost(own.mark),
                other => other,
            };
        }
    }

    /// Gives the turn back. An error: it was lost meanwhile, and what was done in it must not be acknowledged.
    pub(crate) fn end(&mut self) -> Result<(), Refusal> {
        self.may(true);
        let free = self.content("free");
        match std::mem::replace(&mut self.turn, Turn::None) {
            Turn::Held(own) => {
                // Where this fails others wait until the mark counts as left behind; what was done is done.
                if self.surroundings.write(&own.mark, &free).is_ok() {
                    self.last = Some((own.generation, free));
                }
                Ok(())
            }
            Turn::Lost(mark) => {
                // Whoever took it may have given way to us at the same moment.
                let _ = self.surroundings.write(&mark, &free);
                Err(Refusal::Lost)
            }
            Turn::None | Turn::Unmarked => Ok(()),
        }
    }

    fn begin_among_others(&mut self, timeout: u64) -> Result<(), Refusal> {
        let begun = self.surroundings.monotonic();
        let mut pause = PAUSES.0;
        let mut looks = 0;
        loop {
            let seen = self.generations()?;
            let highest = seen.last().copied();
            // Nothing is there only once in the life of a store. A host that lists a directory in pieces may miss a
            // mark that is being followed by the next, so it is believed on the third look.
            looks += 1;
            if highest.is_none() && looks < 3 {
                // Who has the host's lock meets this at every opening, and is on a disk, which shows a small directory at once.
                if !self.locked {
                    self.surroundings.sleep(pause);
                }
                continue;
            }
            match highest.map_or(Ok(Seen::Free), |highest| self.look_at(highest))? {
                Seen::Free => {
                    if let Some(own) = self.create(highest.unwrap_or(0) + 1)? {
                        let seen = self.generations()?;
                        let alone = seen.last() == Some(&own.generation);
                        if alone && highest.map_or(Ok(true), |highest| self.is_as_it_was(highest))? {
                            let highest = own.generation;
                            self.take(own, seen.into_iter().filter(|&generation| generation < highest));
                            return Ok(());
                        }
                        self.remove(own.generation)?;
                    }
                }
                Seen::Gone => {}
                Seen::Kept => {
                    let waited = self.surroundings.monotonic().saturating_sub(begun);
                    if waited >= timeout {
                        return Err(Refusal::Kept(waited));
                    }
                    self.surroundings.sleep(pause);
                    pause = min(pause * 2, PAUSES.1);
                }
                Seen::Busy { perhaps_left_behind } => {
                    let waited = self.surroundings.monotonic().saturating_sub(begun);
                    if waited >= timeout
                        && !(perhaps_left_behind && waited < timeout.saturating_add(WATCHED + LOOK_EVERY))
                    {
                        return Err(Refusal::Busy(waited));
                    }
                    self.surroundings.sleep(pause);
                    pause = min(pause * 2, PAUSES.1);
                }
            }
        }
    }

    /// The generations that are there, in order.
    fn generations(&self) -> Result<BTreeSet<u64>, Refusal> {
        let names = self.surroundings.names().map_err(Refusal::Host)?;
        Ok(names.iter().filter_map(|name| name.strip_prefix(PREFIX)?.parse().ok()).collect())
    }

    /// How the highest mark looks.
    fn look_at(&mut self, generation: u64) -> Result<Seen, Refusal> {
        // We may be frozen beside the reading: what was seen first counts from after it, what was seen last until before.
        let before = self.surroundings.monotonic();
        let Some(content) = self.surroundings.read(&name(generation)).map_err(Refusal::Host)? else {
            return Ok(Seen::Gone);
        };
        // None: its maker has not come to writing it yet, or was killed there.
        let state = parse(&content);
        let since = match &self.watched {
            Some((known, same, since)) if *known == generation && *same == content => *since,
            _ => {
                let now = self.surroundings.monotonic();
                self.watched = Some((generation, content, now));
                now
            }
        };
        let time = match state {
            Some(State::Free) => return Ok(Seen::Free),
            Some(State::Kept) => return Ok(if self.locked { Seen::Free } else { Seen::Kept }),
            Some(State::Busy(time)) => Some(time),
            None => None,
        };
        let unchanged = before.saturating_sub(since);
        let off = time.is_some_and(|time| self.surroundings.wall().abs_diff(time) >= LEFT_BEHIND);
        let enough = match state {
            None if self.locked => UNWRITTEN,
            _ if off => WATCHED,
            _ => LEFT_BEHIND,
        };
        if unchanged >= enough {
            return Ok(Seen::Free);
        }
        Ok(Seen::Busy { perhaps_left_behind: off })
    }

    /// Whether the mark that we are about to follow still says what we decided on.
    fn is_as_it_was(&self, generation: u64) -> Result<bool, Refusal> {
        let content = self.surroundings.read(&name(generation)).map_err(Refusal::Host)?;
        Ok(matches!((&self.watched, content), (Some((known, same, _)), Some(content))
            if *known == generation && *same == content))
    }

    /// Whether there is no mark of the higher generation, and then that of the lower one says what we wrote.
    fn is_alone(&self, higher: u64, lower: u64, content: &str) -> Result<bool, Refusal> {
        if self.surroundings.is_there(&name(higher)).map_err(Refusal::Host)? {
            return Ok(false);
        }
        let found = self.surroundings.read(&name(lower)).map_err(Refusal::Host)?;
        Ok(found.is_some_and(|found| found == content.as_bytes()))
    }

    /// Makes the mark of a generation and writes it. None: somebody else has made it.
    fn create(&mut self, generation: u64) -> Result<Option<Own<S::Mark>>, Refusal> {
        let looked = self.surroundings.monotonic();
        let mark = match self.surroundings.create(&name(generation)) {
            Ok(mark) => mark,
            Err(ErrorCode::Exist) => return Ok(None),
            Err(error) => return Err(refusal(error)),
        };
        let content = self.content(if self.locked { "kept" } else { "busy" });
        if let Err(error) = self.surroundings.write(&mark, &content) {
            self.remove(generation)?;
            return Err(refusal(error));
        }
        Ok(Some(Own { generation, mark, looked }))
    }

    /// Takes the turn with the mark that was made, and deletes the lower ones in their order.
    fn take(&mut self, own: Own<S::Mark>, lower: impl IntoIterator<Item = u64>) {
        for generation in lower {
            // The order is what matters: where one cannot be deleted the higher ones stay too.
            if self.remove(generation).is_err() {
                break;
            }
        }
        self.watched = None;
        self.turn = Turn::Held(own);
    }

    /// Deletes a mark that gives no turn.
    fn remove(&self, generation: u64) -> Result<(), Refusal> {
        self.surroundings.delete(&name(generation)).map_err(Refusal::Host)
    }

    /// What a mark is to say now; never the same twice.
    fn content(&mut self, state: &str) -> String {
        self.beat += 1;
        let (time, instance, beat) = (self.surroundings.wall(), self.instance, self.beat);
        format!("talktree 1 {state} {time:020} {instance:016x} {beat:020}\n")
    }
}

/// How a mark looks to somebody who wants the turn.
enum Seen {
    /// It can be followed.
    Free,
    /// It was deleted meanwhile, so there is a higher one.
    Gone,
    /// Somebody with a lock of the host has the store.
    Kept,
    Busy {
        perhaps_left_behind: bool,
    },
}

enum State {
    Free,
    Kept,
    /// Since, in Unix ms.
    Busy(u64),
}

/// What a mark that cannot be made means.
fn refusal(error: ErrorCode) -> Refusal {
    match error {
        ErrorCode::ReadOnly | ErrorCode::NotPermitted | ErrorCode::Access => Refusal::ReadOnly,
        ErrorCode::InsufficientSpace | ErrorCode::Quota => Refusal::NoRoom,
        error => Refusal::Host(error),
    }
}

fn name(generation: u64) -> String {
    format!("{PREFIX}{generation}")
}

fn parse(content: &[u8]) -> Option<State> {
    let text = std::str::from_utf8(content).ok()?.strip_suffix('\n')?;
    let mut words = text.strip_prefix("talktree 1 ")?.split(' ');
    match words.next()? {
        "free" => Some(State::Free),
        "kept" => Some(State::Kept),
        "busy" => Some(State::Busy(words.next()?.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
