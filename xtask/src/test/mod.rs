//! `cargo xtask test`: everything that must hold before a change goes in, in stages, cheap ones first.

mod cases;
mod examples;
mod mcp;
mod readme;
mod supply;

use std::{
    env,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    components::{self, components_cargo},
    ecosystem, fuzz,
    guest::{self, guest_cargo},
    host::native,
    process::{cargo, run},
    project::{root, target_dir},
    setup,
};

/// How much is tested.
#[derive(Args, Clone)]
pub(crate) struct Options {
    /// Leave out slow tests, documentation, examples and conformance cases
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Compile what else is of use where nobody has it ready-made (cargo-deny takes minutes) and test with it
    #[arg(long)]
    full: bool,
    /// Build, and run Talktree in all other hosts and languages, with their own tools: what is too long for every run, too
    #[arg(long, conflicts_with_all = ["quick", "full"])]
    ecosystem: bool,
    /// Run only the stages with this in their name; what they need of earlier ones has to be there
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

impl Options {
    fn want(&self, stage: &Stage) -> bool {
        let wanted = match stage.when {
            When::Building => true,
            When::Quick => !self.ecosystem,
            When::Full => !self.ecosystem && !self.quick,
            When::Client => !self.quick,
            When::Ecosystem => self.ecosystem,
        };
        wanted && self.only.as_ref().is_none_or(|text| stage.name.contains(text.as_str()))
    }
}

/// One stage.
pub(crate) struct Stage {
    /// What it tests, for `--only` and the times at the end.
    pub(crate) name: &'static str,
    /// Which runs it is part of.
    pub(crate) when: When,
    /// Tests it.
    pub(crate) run: fn(&Options) -> Result<Outcome>,
}

/// Which runs a stage is part of.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// All, since the others need what it makes.
    Building,
    /// `--quick`, and whatever is more.
    Quick,
    /// All but `--quick` and `--ecosystem`.
    Full,
    /// All but `--quick`: another host or language that is tested within a minute or two.
    Client,
    /// `--ecosystem` alone.
    Ecosystem,
}

/// How a stage ended that did not fail.
pub(crate) enum Outcome {
    /// All that it tests holds.
    Passed,
    /// With the reason.
    Skipped(&'static str),
}

/// The stages in order, before those with other hosts and languages. The first that fails ends the run.
const STAGES: &[Stage] = &[
    Stage { name: "set-up", when: When::Building, run: |_| passed(setup::install(setup::For::Testing, true)) },
    Stage { name: "format", when: When::Quick, run: |_| passed(check_format()) },
    Stage { name: "component", when: When::Building, run: |_| passed(build_guests()) },
    Stage { name: "lints of the guest", when: When::Quick, run: |_| passed(lint_guest()) },
    Stage { name: "lints", when: When::Quick, run: |_| passed(lint_native()) },
    Stage { name: "licences", when: When::Full, run: supply::check_licences },
    Stage { name: "advisories", when: When::Full, run: supply::check_advisories },
    Stage {
        name: "build of all targets",
        when: When::Building,
        run: |_| passed(run(native(&["build"]).arg("--all-targets"))),
    },
    Stage { name: "tests", when: When::Quick, run: |options| passed(tests(options)) },
    Stage { name: "fuzz targets", when: When::Full, run: |_| passed(fuzz::smoke()) },
    Stage { name: "documentation", when: When::Full, run: |_| passed(document()) },
    Stage { name: "documentation tests", when: When::Full, run: |_| passed(run(native(&["test"]).arg("--doc"))) },
    Stage { name: "examples", when: When::Full, run: |_| passed(examples::run_all()) },
    Stage { name: "README", when: When::Full, run: |_| passed(readme::check()) },
    Stage { name: "MCP client", when: When::Client, run: |_| mcp::run_client() },
    Stage { name: "conformance cases", when: When::Full, run: |_| cases::run_resolved() },
];

fn passed(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}

/// Runs the stages and closes with how long each took.
pub(crate) fn command(options: &Options) -> Result<()> {
    let mut times = Vec::new();
    let ended = STAGES.iter().chain(ecosystem::STAGES).filter(|stage| options.want(stage)).try_for_each(|stage| {
        eprintln!("\n== {}", stage.name);
        let begun = Instant::now();
        let outcome = (stage.run)(options);
        let word = match &outcome {
            Ok(Outcome::Passed) => "passed",
            Ok(Outcome::Skipped(reason)) => reason,
            Err(_) => "FAILED",
        };
        times.push((stage.name, begun.elapsed(), word.to_owned()));
        outcome.map(drop).with_context(|| format!("stage {:?} failed", stage.name))
    });
    anyhow::ensure!(ended.is_err() || !times.is_empty(), "no stage has that in its name");
    print_times(&times);
    ended
}

fn print_times(times: &[(&str, Duration, String)]) {
    eprintln!();
    for (name, time, word) in times {
        eprintln!("{:>7.1} s  {name:<22} {word}", time.as_secs_f64());
    }
    let all: Duration = times.iter().map(|(_, time, _)| *time).sum();
    eprintln!("{:>7.1} s", all.as_secs_f64());
}

/// Both workspaces.
fn check_format() -> Result<()> {
    let format = ["fmt", "--all", "--check"];
    run(cargo().current_dir(root()).args(format))?;
    run(cargo().current_dir(components::directory()).args(format))
}

/// The component, and what tests run in a sandbox beside it.
fn build_guests() -> Result<()> {
    guest::build()?;
    run(guest_cargo()?.args(["build", "--package", "talktree-vfs", "--examples"]).args(guest::BUILD))
}

fn lint_native() -> Result<()> {
    run(native(&["clippy"]).args(["--all-targets", "--", "--deny", "warnings"]))
}

/// Lints the component with the crates of ours inside it, and what else is built for its target.
fn lint_guest() -> Result<()> {
    let packages = ["--package", guest::PACKAGE, "--package", "talktree-vfs", "--lib", "--examples"];
    run(guest_cargo()?.arg("clippy").args(packages).args(guest::BUILD).args(["--", "--deny", "warnings"]))?;
    run(components_cargo("clippy")?.args(["--", "--deny", "warnings"]))
}

fn tests(options: &Options) -> Result<()> {
    let mut nextest = native(&["nextest", "run"]);
    if options.quick {
        nextest.args(["--profile", "quick"]);
    }
    run(&mut nextest)?;
    // What of the component needs no sandbox: whose turn it is in a directory, and what a host sets.
    run(cargo().current_dir(root()).args(["nextest", "run", "--release", "--package", guest::PACKAGE]))?;
    // The same of the components beside it.
    let others = ["nextest", "run", "--release", "--locked", "--package", "chat", "--package", "completions"];
    run(cargo().current_dir(components::directory()).args(others).arg("--target-dir").arg(target_dir()?))
}

/// The documentation of all crates, without a warning.
fn document() -> Result<()> {
    let flags = format!("{} --deny warnings", env::var("RUSTDOCFLAGS").unwrap_or_default());
    run(native(&["doc"]).arg("--no-deps").env("RUSTDOCFLAGS", &flags))?;
    // Nothing in the component is public to Rust: its documentation is for those who work on it, links included.
    let component = ["doc", "--no-deps", "--document-private-items", "--package", guest::PACKAGE];
    let flags = format!("{flags} --allow rustdoc::private_intra_doc_links");
    run(guest_cargo()?.args(component).args(guest::BUILD).env("RUSTDOCFLAGS", &flags))
}
