//! `cargo xtask test --ecosystem`: Talktree in other hosts and other languages, with their real tools, on the artifacts
//! that users get.
//!
//! One file a host or language. Each fetches what it needs by itself, pinned, below the target directory. Those that end
//! within a minute or two are part of every `cargo xtask test`.

mod environments;
mod node;
mod python_package;

use crate::test::{Stage, When};

pub(crate) use environments::{Environment, python};

/// The stages, in order. A quick one says `When::Client`, one that takes its time `When::Ecosystem`.
pub(crate) const STAGES: &[Stage] = &[
    Stage { name: "Python package", when: When::Client, run: |_| python_package::test() },
    Stage { name: "Node package", when: When::Client, run: |_| node::test() },
    Stage { name: "Bun and Deno", when: When::Ecosystem, run: |_| node::test_other_runtimes() },
];
