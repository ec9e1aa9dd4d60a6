//! `cargo xtask setup`: finds what the build needs, and installs what is missing.
//!
//! Each piece is looked for first; what is there is left alone. What will be installed, and from where, is said before
//! it happens. Where this program cannot install a piece (no root rights, a system that it does not know), it ends with
//! the commands to type and exit code 3.

mod c_compiler;
pub(crate) mod debian;
mod headers;
mod manual;
mod rust_std;
mod test_tools;

use std::{env, fmt};

use anyhow::Result;

use crate::toolchain::{CCompiler, Std, Toolchain, find_compiler, find_headers, find_std};

/// What somebody has to do by hand: the reason and the commands.
#[derive(Debug)]
pub(crate) struct ByHand(pub(crate) String);

impl fmt::Display for ByHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ByHand {}

/// What a machine is set up for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum For {
    /// Building the component and the host.
    Building,
    /// Building and testing.
    Testing,
}

/// One thing that has to be on the machine.
struct Piece {
    /// What it is, for a person.
    what: &'static str,
    /// What needs it.
    needed: For,
    /// Where it was found, or none.
    find: fn() -> Result<Option<String>>,
    /// What installing it does, in one sentence.
    plan: fn() -> String,
    /// Installs it.
    install: fn() -> Result<()>,
}

/// All pieces, in the order in which they are installed.
const PIECES: &[Piece] = &[
    Piece {
        what: "Rust's standard library for wasm32-wasip2",
        needed: For::Building,
        find: || {
            Ok(find_std()?.map(|std| match std {
                Std::Toolchain => "with the toolchain".to_owned(),
                Std::Own(sysroot) => sysroot.display().to_string(),
            }))
        },
        plan: rust_std::plan,
        install: rust_std::install,
    },
    Piece {
        what: "a C compiler for wasm32",
        needed: For::Building,
        find: || {
            Ok(find_compiler()?.map(|compiler| match compiler {
                CCompiler::Named(cc) => format!("{cc} (CC_wasm32_wasip2)"),
                CCompiler::Sdk(sdk) => format!("{} (WASI_SDK_PATH)", sdk.display()),
                CCompiler::Clang { clang, .. } => clang.display().to_string(),
            }))
        },
        plan: c_compiler::plan,
        install: c_compiler::install,
    },
    Piece {
        what: "C headers of WASI",
        needed: For::Building,
        find: || {
            Ok(match find_compiler()? {
                Some(CCompiler::Named(_) | CCompiler::Sdk(_)) => Some("with the C compiler".to_owned()),
                _ => find_headers()?.map(|dir| dir.display().to_string()),
            })
        },
        plan: headers::plan,
        install: headers::install,
    },
    Piece {
        what: "rustfmt and clippy",
        needed: For::Testing,
        find: test_tools::find_components,
        plan: test_tools::plan_components,
        install: test_tools::install_components,
    },
    Piece {
        what: "cargo-nextest",
        needed: For::Testing,
        find: test_tools::find_nextest,
        plan: test_tools::plan_nextest,
        install: test_tools::install_nextest,
    },
];

/// `cargo xtask setup`: reports on every piece and installs what is missing; with `check` it only reports.
pub(crate) fn command(check: bool) -> Result<()> {
    if !check {
        return install(For::Testing, true);
    }
    let mut missing = Vec::new();
    for piece in PIECES {
        if let Some(place) = (piece.find)()? {
            println!("there    {}: {place}", piece.what);
        } else {
            println!("missing  {}: `cargo xtask setup` would {}", piece.what, (piece.plan)());
            missing.push(piece.what);
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(ByHand(format!("missing: {}", missing.join(", "))).into()) }
}

/// Installs what is missing for building (and testing). Where `talkative`, it also says what is there.
pub(crate) fn install(purpose: For, talkative: bool) -> Result<()> {
    for piece in PIECES.iter().filter(|piece| piece.needed <= purpose) {
        if let Some(place) = (piece.find)()? {
            if talkative {
                println!("there    {}: {place}", piece.what);
            }
            continue;
        }
        if env::var_os("TALKTREE_INSTALL").is_some_and(|choice| choice == "never") {
            let text = format!("missing: {}; `cargo xtask setup` would {}", piece.what, (piece.plan)());
            return Err(ByHand(text).into());
        }
        eprintln!("setup: missing: {}. Going to {}.", piece.what, (piece.plan)());
        (piece.install)()?;
        match (piece.find)()? {
            Some(place) => println!("new      {}: {place}", piece.what),
            None => anyhow::bail!("{} was installed and is still not found: please report this", piece.what),
        }
    }
    Ok(())
}

/// The toolchain of the guest, set up where it is not.
pub(crate) fn toolchain() -> Result<Toolchain> {
    install(For::Building, false)?;
    Toolchain::find()?.ok_or_else(|| anyhow::anyhow!("the toolchain of the guest went away during the set-up"))
}
