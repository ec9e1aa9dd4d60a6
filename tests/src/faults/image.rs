//! What a disk may hold after the power was lost.
//!
//! What was synced is there. Of what was not, anything may be: each write, cut, new name or deleted name by itself, and of
//! a write each sector or page by itself, in spite of the order in which they were asked for.

use std::collections::{BTreeMap, HashMap};

use super::{
    Random,
    record::{Event, Inode},
};

/// Up to so many things that are in the air, every combination of them is an image.
const ALL_COMBINATIONS: usize = 5;
/// Beyond that, so many drawn ones, beside those that begin or end at some point.
const DRAWN: usize = 6;
/// What survives of a write as a whole, in bytes. 0: all of it or nothing.
const TORN_AT: [u64; 3] = [0, 4_096, 512];

/// The files of a directory.
pub(super) type Image = BTreeMap<String, Vec<u8>>;

/// Something that has not been synced.
#[derive(Clone, Debug)]
enum Pending {
    Write(Inode, u64, Vec<u8>),
    SetSize(Inode, u64),
    Create(String, Inode),
    Rename(String, String),
    Unlink(String),
}

/// A disk: what is safe on it, and what is in the air.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    names: BTreeMap<String, Inode>,
    contents: HashMap<Inode, Vec<u8>>,
    pending: Vec<Pending>,
}

impl Disk {
    /// One event later.
    pub(super) fn apply(&mut self, event: &Event) {
        let pending = match event {
            Event::Write(inode, offset, bytes) => Pending::Write(*inode, *offset, bytes.clone()),
            Event::SetSize(inode, size) => Pending::SetSize(*inode, *size),
            Event::Create(name, inode) => Pending::Create(name.clone(), *inode),
            Event::Rename(from, to) => Pending::Rename(from.clone(), to.clone()),
            Event::Unlink(name) => Pending::Unlink(name.clone()),
            Event::Sync(synced) => return self.settle(|pending| pending.is_of(*synced)),
            Event::SyncDirectory => return self.settle(Pending::is_of_directory),
            Event::Acknowledged(_) => return,
        };
        self.pending.push(pending);
    }

    fn settle(&mut self, is_safe: impl Fn(&Pending) -> bool) {
        let (safe, rest) = std::mem::take(&mut self.pending).into_iter().partition(is_safe);
        self.pending = rest;
        for pending in Vec::from_iter::<Vec<Pending>>(safe) {
            self.happen(&pending);
        }
    }

    fn happen(&mut self, pending: &Pending) {
        match pending {
            Pending::Write(inode, offset, bytes) => {
                let content = self.contents.entry(*inode).or_default();
                let offset = *offset as usize;
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[offset..end].copy_from_slice(bytes);
            }
            Pending::SetSize(inode, size) => self.contents.entry(*inode).or_default().resize(*size as usize, 0),
            Pending::Create(name, inode) => {
                self.names.insert(name.clone(), *inode);
            }
            Pending::Rename(from, to) => {
                if let Some(inode) = self.names.remove(from) {
                    self.names.insert(to.clone(), inode);
                }
            }
            Pending::Unlink(name) => {
                self.names.remove(name);
            }
        }
    }

    /// What may be there if the power goes now.
    pub(super) fn images(&self, random: &mut Random) -> Vec<Image> {
        let mut images = Vec::new();
        for torn_at in TORN_AT {
            let atoms: Vec<Pending> = self.pending.iter().flat_map(|pending| pending.torn(torn_at)).collect();
            for chosen in choices(atoms.len(), random) {
                let mut disk = Self { names: self.names.clone(), contents: self.contents.clone(), pending: Vec::new() };
                for atom in atoms.iter().zip(chosen).filter_map(|(atom, happens)| happens.then_some(atom)) {
                    disk.happen(atom);
                }
                images.push(disk.image());
            }
            if self.pending.is_empty() {
                break;
            }
        }
        images.sort_unstable();
        images.dedup();
        images
    }

    fn image(mut self) -> Image {
        let mut content = |inode| self.contents.remove(&inode).unwrap_or_default();
        self.names.into_iter().map(|(name, inode)| (name, content(inode))).collect()
    }
}

impl Pending {
    fn is_of(&self, synced: Inode) -> bool {
        matches!(self, Self::Write(inode, ..) | Self::SetSize(inode, _) if *inode == synced)
    }

    fn is_of_directory(&self) -> bool {
        matches!(self, Self::Create(..) | Self::Rename(..) | Self::Unlink(_))
    }

    /// The pieces of it that may be there or not, each by itself.
    fn torn(&self, at: u64) -> Vec<Self> {
        let Self::Write(inode, offset, bytes) = self else { return vec![self.clone()] };
        if at == 0 {
            return vec![self.clone()];
        }
        let mut pieces = Vec::new();
        let (mut from, end) = (*offset, offset + bytes.len() as u64);
        while from < end {
            let to = end.min((from / at + 1) * at);
            let piece = bytes[(from - offset) as usize..(to - offset) as usize].to_vec();
            pieces.push(Self::Write(*inode, from, piece));
            from = to;
        }
        pieces
    }
}

/// Which of so many happen: all combinations, or the likeliest and some drawn ones.
fn choices(count: usize, random: &mut Random) -> Vec<Vec<bool>> {
    if count <= ALL_COMBINATIONS {
        return (0..1_usize << count).map(|bits| (0..count).map(|at| bits >> at & 1 == 1).collect()).collect();
    }
    let mut all = vec![vec![false; count], vec![true; count]];
    for _ in 0..2 {
        let at = random.below(count as u64) as usize;
        // All before a point, all behind it, all but one, one alone.
        all.push((0..count).map(|one| one < at).collect());
        all.push((0..count).map(|one| one >= at).collect());
        all.push((0..count).map(|one| one != at).collect());
        all.push((0..count).map(|one| one == at).collect());
    }
    for _ in 0..DRAWN {
        let often = 1 + random.below(8);
        all.push((0..count).map(|_| random.below(9) < often).collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(events: &[Event]) -> Vec<Image> {
        let mut disk = Disk::default();
        events.iter().for_each(|event| disk.apply(event));
        disk.images(&mut Random::new(1, 1))
    }

    fn image(files: &[(&str, &[u8])]) -> Image {
        files.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect()
    }

    #[test]
    fn what_was_synced_is_there_and_of_the_rest_anything_may_be() {
        let write = |at, text: &str| Event::Write(0, at, text.as_bytes().to_vec());
        let begin = [Event::Create("a".into(), 0), write(0, "one"), Event::Sync(0), Event::SyncDirectory];
        assert_eq!(images(&begin), [image(&[("a", b"one")])]);
        let more = [&begin[..], &[write(0, "two"), write(3, "!"), Event::SetSize(0, 2)]].concat();
        let found = images(&more);
        for possible in [&b"one"[..], b"two", b"on", b"tw", b"one!", b"two!"] {
            assert!(found.contains(&image(&[("a", possible)])), "{possible:?} is missing");
        }
    }

    #[test]
    fn a_name_that_was_not_synced_may_be_missing_although_its_file_was() {
        let found = images(&[Event::Create("a".into(), 0), Event::Write(0, 0, b"x".to_vec()), Event::Sync(0)]);
        assert_eq!(found, [image(&[]), image(&[("a", b"x")])]);
    }

    #[test]
    fn a_write_is_torn_at_sectors() {
        let events = [Event::Create("a".into(), 0), Event::SyncDirectory, Event::Write(0, 500, vec![7; 600])];
        let lengths: Vec<usize> = images(&events).iter().map(|image| image["a"].len()).collect();
        for length in [0, 512, 1_024, 1_100] {
            assert!(lengths.contains(&length), "{length} is missing of {lengths:?}");
        }
    }
}
