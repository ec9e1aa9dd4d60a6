//! What to type where the set-up cannot install a piece itself.

use std::env::consts::{ARCH, OS};

use super::ByHand;

/// The version of wasi-sdk that is named: any from 22 on does.
const WASI_SDK: &str = "25";

/// Another way than the one that failed or is not there: wasi-sdk, by hand.
pub(super) fn wasi_sdk(reason: &str) -> ByHand {
    let arch = if ARCH == "aarch64" { "arm64" } else { ARCH };
    let system = if OS == "macos" || OS == "windows" { OS } else { "linux" };
    let name = format!("wasi-sdk-{WASI_SDK}.0-{arch}-{system}");
    let address =
        format!("https://github.com/WebAssembly/wasi-sdk/releases/download/wasi-sdk-{WASI_SDK}/{name}.tar.gz");
    let commands = if OS == "windows" {
        format!(
            "    curl.exe -LO {address}\n    tar -xf {name}.tar.gz -C $HOME\n    \
             setx WASI_SDK_PATH $HOME\\{name}\n\nThen open a new terminal and run the same command again."
        )
    } else {
        format!(
            "    curl -LO {address}\n    tar -xf {name}.tar.gz -C $HOME\n    \
             export WASI_SDK_PATH=$HOME/{name}\n\nThen run the same command again (and keep the last line in your shell's profile)."
        )
    };
    let packages = match OS {
        "macos" => "\nHomebrew's compiler and headers do as well: brew install llvm wasi-libc\n",
        "linux" => {
            "\nA clang that knows wasm32, with its llvm-ar, and wasi-libc's headers for wasm32-wasip2 do as well, from \
             whatever packages: clang is looked for on the path, the headers below WASI_SYSROOT, /usr or \
             /usr/share/wasi-sysroot.\n"
        }
        _ => "",
    };
    ByHand(format!(
        "{reason}\n\nInstall wasi-sdk, which has a C compiler for wasm32 and the headers:\n\n{commands}\n{packages}"
    ))
}

/// How to get the target's standard library where nothing here could.
pub(super) fn rust_target(reason: &str) -> ByHand {
    ByHand(format!(
        "{reason}\n\nInstall the target of the guest with rustup:\n\n    rustup target add wasm32-wasip2\n\nA Rust that \
         does not come from rustup has it in a package of its own, or not at all; rustup installs beside it."
    ))
}

/// What to type as root.
pub(super) fn as_root(reason: &str, command: &str) -> ByHand {
    ByHand(format!("{reason}\n\n    sudo {command}\n\nThen run the same command again."))
}
