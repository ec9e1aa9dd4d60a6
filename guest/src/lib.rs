//! The component of Talktree: the engine behind the WIT package `talktree:sessions`.
//!
//! There is nothing here but seams: [`glue`] turns the contract's types into the engine's and back, `place` is the
//! directory that the host has opened and whose turn it is there, `settings` is what a host sets. What a conversation
//! is lives in `talktree-engine`, how SQLite reaches files in `talktree-vfs`.
//!
//! It is built for `wasm32-wasip2` (`cargo xtask guest`); natively only what needs no host is compiled, for its tests.

#[cfg(target_arch = "wasm32")]
mod glue;
#[cfg(any(test, target_arch = "wasm32"))]
mod place;
#[cfg(any(test, target_arch = "wasm32"))]
mod settings;
