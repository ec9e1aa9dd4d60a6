//! What goes wrong around a store, made to happen: power that goes, a disk that fails or is full, memory that is not
//! given, processes that are killed, several instances on one directory.
//!
//! A [`life`] is a list of calls that a seed decides. It is lived once undisturbed, and the whole [state] of the
//! store is read after each call. Then it is lived again with something going wrong: the store must be in the state of
//! before the call that was under way or of after it, and go on from there to the same end. [`power`] builds what a disk
//! may hold after power was lost, [`requests`] lets the n-th request for the disk or for memory fail, [`kills`] ends processes, and
//! [`together`] has several on one directory. `cargo xtask proof` runs all of them at full length, the tests in short forms.

mod image;
pub mod kills;
pub mod life;
pub mod power;
mod record;
mod reference;
pub mod requests;
pub mod state;
mod store;
pub mod together;

pub use crate::load::{Random, new_seed};
pub use reference::Reference;
pub use store::{Failure, Store};

/// How long something is done.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Of so many moments one is tried. 1: every one.
    pub one_in: u64,
}

impl Amount {
    /// Which moments are tried: each n-th, from a drawn one on.
    fn picks(self, random: &mut Random) -> impl FnMut() -> bool + use<> {
        let one_in = self.one_in.max(1);
        let mut next = random.below(one_in);
        move || {
            let picked = next == 0;
            next = if picked { one_in - 1 } else { next - 1 };
            picked
        }
    }
}
