//! `cargo xtask test --ecosystem`: Talktree in other hosts and other languages, with their real tools, on the artifacts
//! that users get.
//!
//! One file a host or language. Each fetches what it needs by itself, pinned, below the target directory. Those that end
//! within a minute or two are part of every `cargo xtask test`.

mod c;
mod composition;
pub(crate) mod differential;
mod environments;
mod machines;
mod node;
mod page;
pub(crate) mod peers;
mod programs;
mod python_package;
mod registry;
mod reproducible;
mod runtimes;
mod spin;
mod wasmcloud;
mod wasmtime;
mod wassette;
mod web_page;

use crate::{
    published,
    test::{Outcome, Stage, When},
};

pub(crate) use environments::{Environment, python};
pub(crate) use node::build_npm_package;
pub(crate) use python_package::wheel;
pub(crate) use web_page::picture;

/// The stages, in order. A quick one says `When::Client`, one that takes its time `When::Ecosystem`.
pub(crate) const STAGES: &[Stage] = &[
    Stage { name: "page and chat", when: When::Client, run: |_| web_page::test() },
    Stage { name: "composition", when: When::Client, run: |_| composition::quick() },
    Stage { name: "composition, whole", when: When::Ecosystem, run: |_| composition::whole() },
    Stage { name: "reproducible components", when: When::Ecosystem, run: |_| reproducible::check() },
    Stage { name: "Python package", when: When::Client, run: |_| python_package::test() },
    Stage { name: "Node package", when: When::Client, run: |_| node::test() },
    Stage { name: "differential", when: When::Client, run: |_| differential::test() },
    Stage { name: "lost machine", when: When::Client, run: |_| machines::test() },
    Stage { name: "TypeScript client of MCP", when: When::Client, run: |_| runtimes::typescript_client() },
    Stage { name: "agent runtimes", when: When::Ecosystem, run: |_| runtimes::agent_runtimes() },
    Stage { name: "Bun and Deno", when: When::Ecosystem, run: |_| node::test_other_runtimes() },
    Stage { name: "page: wasmtime", when: When::Client, run: |_| wasmtime::run() },
    Stage { name: "page: wassette", when: When::Ecosystem, run: |_| wassette::run() },
    Stage { name: "page: wasmcloud", when: When::Ecosystem, run: |_| wasmcloud::run() },
    Stage { name: "page: spin", when: When::Ecosystem, run: |_| spin::run() },
    Stage { name: "wkg", when: When::Ecosystem, run: |_| registry::run_wkg() },
    Stage { name: "page: c", when: When::Ecosystem, run: |_| c::run() },
    Stage { name: "published crate", when: When::Ecosystem, run: |_| published::check().map(|()| Outcome::Passed) },
];
