//! The stores that a run works on, made when they are first needed, and whose turn it is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;

use crate::arguments::{Arguments, Scale};
use crate::contender::{Durability, Side, Subject};

pub(crate) struct Lab {
    pub(crate) scale: Scale,
    sides: Vec<Side>,
    subjects: HashMap<(Side, u64), Subject>,
    /// Removed last.
    scratch: TempDir,
}

impl Lab {
    pub(crate) fn new(arguments: &Arguments) -> Result<Self> {
        let scratch = match &arguments.scratch {
            Some(directory) => TempDir::with_prefix_in("talktree-bench", directory)?,
            None => TempDir::with_prefix("talktree-bench")?,
        };
        Ok(Self { scale: arguments.scale(), sides: arguments.sides(), subjects: HashMap::new(), scratch })
    }

    /// Where everything is.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The contenders in the order of this round: forwards and backwards in turn, so that none is always the first.
    pub(crate) fn sides_of_round(&self, round: u32) -> Vec<Side> {
        let mut sides = self.sides.clone();
        if round % 2 == 1 {
            sides.reverse();
        }
        sides
    }

    /// The store of this size that is kept through the run; measuring appends makes it a little larger.
    pub(crate) fn subject(&mut self, side: Side, size: u64) -> Result<&mut Subject> {
        match self.subjects.entry((side, size)) {
            Entry::Occupied(kept) => Ok(kept.into_mut()),
            Entry::Vacant(place) => {
                let mut subject = Subject::new(side, self.scratch.path(), Durability::Full)?;
                if size >= 10_000 {
                    eprintln!("filling {} with {size} messages", side.name());
                }
                subject.fill(size)?;
                Ok(place.insert(subject))
            }
        }
    }

    /// A store of this size for a single use.
    pub(crate) fn new_subject(&self, side: Side, size: u64, durability: Durability) -> Result<Subject> {
        let mut subject = Subject::new(side, self.scratch.path(), durability)?;
        subject.fill(size)?;
        Ok(subject)
    }

    /// Says on standard error where the run is.
    pub(crate) fn progress(&self, what: &str) {
        eprintln!("{what}");
    }
}
