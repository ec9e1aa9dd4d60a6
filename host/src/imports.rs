//! What the component may ask of the host: the imports of its world, and nothing else.

use wasmtime::component::{HasData, HasSelf, Linker, ResourceTable};
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::sync::filesystem::types;
use wasmtime_wasi::p2::bindings::sync::io::{poll, streams};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem::preopens, random};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView as _};
use wasmtime_wasi_io::bindings::wasi::io::error;

use crate::bindings::talktree::sessions::summarizer;
use crate::filesystem::TenantFiles;
use crate::sandbox::Guest;
use crate::waiting::LimitedWaiting;

/// Streams and their errors are in the table.
struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

/// Links them: files through the quota, waiting with an end, the rest as wasmtime has it. No sockets.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let l = linker;
    summarizer::add_to_linker::<_, HasSelf<Guest>>(l, |guest| guest)?;

    types::add_to_linker::<_, TenantFiles>(l, Guest::files)?;
    preopens::add_to_linker::<_, WasiFilesystem>(l, Guest::filesystem)?;

    poll::add_to_linker::<_, LimitedWaiting>(l, Guest::waiting)?;
    error::add_to_linker::<_, Table>(l, |guest| guest.ctx().table)?;
    streams::add_to_linker::<_, Table>(l, |guest| guest.ctx().table)?;

    clocks::wall_clock::add_to_linker::<_, WasiClocks>(l, Guest::clocks)?;
    clocks::monotonic_clock::add_to_linker::<_, WasiClocks>(l, Guest::clocks)?;
    random::random::add_to_linker::<_, WasiRandom>(l, Guest::random)?;
    random::insecure_seed::add_to_linker::<_, WasiRandom>(l, Guest::random)?;

    cli::environment::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    cli::exit::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    cli::stdin::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    cli::stdout::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    cli::stderr::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(l, Guest::cli)?;
    Ok(())
}
