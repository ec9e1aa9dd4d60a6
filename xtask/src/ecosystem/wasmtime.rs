//! The raw component under `wasmtime run --invoke`: docs/bindings/wasmtime.md.

use anyhow::Result;

use super::{
    Environment,
    page::{Scene, run_page},
    programs::{no_shell, standalone, wasmtime},
};
use crate::test::Outcome;

/// Runs the commands of the page.
pub(super) fn run() -> Result<Outcome> {
    if let Some(reason) = no_shell() {
        return Ok(Outcome::Skipped(reason));
    }
    let programs = match wasmtime()? {
        Environment::Ready(dir) => dir,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let scene = Scene { files: vec![standalone()?], programs: vec![programs], ..Scene::default() };
    run_page("wasmtime", &scene)?;
    Ok(Outcome::Passed)
}
