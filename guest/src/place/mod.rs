//! Where the component keeps its store: the directory that the host has opened for it, and whose turn it is there.

mod marks;
#[cfg(target_arch = "wasm32")]
mod preopened;

#[cfg(target_arch = "wasm32")]
pub(crate) use preopened::Preopened;
