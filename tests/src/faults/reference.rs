//! A life that was lived undisturbed.

use anyhow::{Result, bail};
use talktree::Durability;
use tempfile::TempDir;

use super::{
    Store,
    life::{Step, generate},
    state::{self, State, difference},
};

/// A life, and the state after each of its steps.
#[derive(Debug)]
pub struct Reference {
    /// What decided about it.
    pub seed: u64,
    /// Its calls.
    pub steps: Vec<Step>,
    /// Before the first step, and after each.
    states: Vec<State>,
}

impl Reference {
    /// Lives a life of a length.
    ///
    /// # Errors
    /// A call fails, although nothing goes wrong.
    pub fn new(seed: u64, steps: usize) -> Result<Self> {
        let steps = generate(seed, steps);
        let root = scratch()?;
        let mut store = Store::open(root.path(), Durability::Normal, |builder| builder)?;
        let mut states = vec![state::read(&mut store)?];
        for step in &steps {
            if let Err(failure) = store.perform(step)? {
                bail!("seed {seed}: an undisturbed {step:?} failed: {failure}");
            }
            states.push(state::read(&mut store)?);
        }
        store.close()?;
        Ok(Self { seed, steps, states })
    }

    /// How many steps have been done in this state: one of so many, the latest of those that fit.
    ///
    /// # Errors
    /// It is none of these states.
    pub fn find(&self, state: &str, from: usize, to: usize) -> Result<usize> {
        match (from..=to).rev().find(|&done| self.states.get(done).is_some_and(|known| known == state)) {
            Some(done) => Ok(done),
            None => {
                let last = self.steps.get(to.saturating_sub(1));
                let elsewhere = self.states.iter().position(|known| known == state);
                bail!(
                    "the store is in the state of no number of steps from {from} to {to} (of all steps: {elsewhere:?}); the last would be {last:.300?}{}",
                    self.states.get(to).map(|known| difference(known, state)).unwrap_or_default()
                )
            }
        }
    }

    /// The state after so many steps.
    pub(super) fn state(&self, done: usize) -> &str {
        &self.states[done]
    }
}

/// A directory in memory, where there is a file system in memory.
pub(super) fn scratch() -> std::io::Result<TempDir> {
    crate::subject::temporary()
}
