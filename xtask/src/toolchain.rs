//! What the guest is compiled with, found and not installed: the standard library of its target, a C compiler for the
//! SQLite inside it, the C headers of WASI. `setup` installs what is missing here.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context, Result};

use crate::{
    process::{on_path, read, rustc},
    project::{cache_dir, root, target_dir},
};

/// The guest's target.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// How the SQLite inside the guest is compiled, on top of what `libsqlite3-sys` says for every target.
///
/// They go into the C flags of this one target: `LIBSQLITE3_FLAGS` would change the native SQLite too.
///
/// - `SQLITE_OS_OTHER`: no unix VFS, so none of wasi-libc's emulations is linked; the guest brings its own VFS.
/// - The others make the component a tenth smaller and reads a few percent faster: the documentation of `talktree-vfs` says
///   what each leaves out.
const SQLITE_FLAGS: &[&str] = &[
    "-DSQLITE_OS_OTHER=1",
    "-DSQLITE_DEFAULT_MEMSTATUS=0",
    "-DSQLITE_LIKE_DOESNT_MATCH_BLOBS",
    "-DSQLITE_OMIT_SHARED_CACHE",
    "-DSQLITE_OMIT_DEPRECATED",
    "-DSQLITE_MAX_MMAP_SIZE=0",
    "-DSQLITE_DQS=0",
    "-USQLITE_ENABLE_FTS3",
    "-USQLITE_ENABLE_FTS3_PARENTHESIS",
    "-USQLITE_ENABLE_RTREE",
    "-USQLITE_SOUNDEX",
    "-USQLITE_ENABLE_LOAD_EXTENSION",
    "-USQLITE_ENABLE_API_ARMOR",
];

/// The compiler that runs, as `rustc -vV` describes it.
pub(crate) struct Rustc {
    /// `1.95.0`.
    pub(crate) release: String,
    /// `1.95.0-59807616e`: a standard library fits exactly one compiler.
    pub(crate) build: String,
    /// The kind of machine that it runs on, `x86_64-unknown-linux-gnu`.
    pub(crate) host: String,
    /// Where its libraries are.
    pub(crate) sysroot: PathBuf,
}

impl Rustc {
    /// Asks the compiler once.
    pub(crate) fn get() -> Result<&'static Self> {
        static RUSTC: OnceLock<Rustc> = OnceLock::new();
        if let Some(known) = RUSTC.get() {
            return Ok(known);
        }
        let text = read(rustc().arg("-vV"))?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let release = field("release:").context("`rustc -vV` names no release")?.to_owned();
        let host = field("host:").context("`rustc -vV` names no host")?.to_owned();
        let hash = field("commit-hash:").unwrap_or("unknown");
        let build = format!("{release}-{}", hash.get(..9).unwrap_or(hash));
        let sysroot = read(rustc().args(["--print", "sysroot"]))?.trim().into();
        Ok(RUSTC.get_or_init(|| Self { release, build, host, sysroot }))
    }

    /// Where a standard library that was built from source is kept, as a sysroot of its own.
    pub(crate) fn own_sysroot(&self) -> Result<PathBuf> {
        Ok(cache_dir()?.join(format!("std-{}", self.build)))
    }
}

/// Where a sysroot keeps the libraries of the guest's target.
pub(crate) fn target_libs(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib").join(TARGET).join("lib")
}

/// Where the standard library of the target is.
pub(crate) enum Std {
    /// With the compiler, where it belongs.
    Toolchain,
    /// In a sysroot of its own, which the compiler must be told.
    Own(PathBuf),
}

/// Finds the standard library.
pub(crate) fn find_std() -> Result<Option<Std>> {
    let rustc = Rustc::get()?;
    if has_std(&rustc.sysroot) {
        return Ok(Some(Std::Toolchain));
    }
    let own = rustc.own_sysroot()?;
    Ok(has_std(&own).then_some(Std::Own(own)))
}

/// Whether the target's `std` is complete in that sysroot.
fn has_std(sysroot: &Path) -> bool {
    let libs = target_libs(sysroot);
    let is_std = |name: &str| name.starts_with("libstd-") && name.ends_with(".rlib");
    let rlib =
        fs::read_dir(&libs).is_ok_and(|dir| dir.flatten().any(|entry| entry.file_name().to_str().is_some_and(is_std)));
    rlib && libs.join("self-contained/crt1-reactor.o").is_file()
}

/// A C compiler that can build for the target.
#[derive(Debug, PartialEq)]
pub(crate) enum CCompiler {
    /// The user's own choice, `CC_wasm32_wasip2`, whatever it is.
    Named(String),
    /// Of the wasi-sdk in `WASI_SDK_PATH`, which knows its headers.
    Sdk(PathBuf),
    /// A clang that needs to be told where the headers are.
    Clang {
        /// The compiler.
        clang: PathBuf,
        /// Its archiver.
        ar: PathBuf,
    },
}

/// Finds the C compiler: the user's own, that of a wasi-sdk, or a clang that knows WebAssembly.
pub(crate) fn find_compiler() -> Result<Option<CCompiler>> {
    if let Some(cc) = target_var("CC") {
        return Ok(Some(CCompiler::Named(cc)));
    }
    if let Some(sdk) = env::var_os("WASI_SDK_PATH").filter(|path| !path.is_empty()).map(PathBuf::from) {
        let clang = exe(&sdk.join("bin/clang"));
        let headers = sdk.join("share/wasi-sysroot/include").join(TARGET);
        anyhow::ensure!(
            clang.is_file() && headers.is_dir(),
            "WASI_SDK_PATH is {}, but that is no wasi-sdk that knows {TARGET} (there is no bin/clang, or no \
             share/wasi-sysroot/include/{TARGET})",
            sdk.display(),
        );
        return Ok(Some(CCompiler::Sdk(sdk)));
    }
    Ok(clang_candidates().into_iter().find_map(|clang| {
        let ar = archiver_of(&clang)?;
        knows_wasm(&clang).then_some(CCompiler::Clang { clang, ar })
    }))
}

/// Clangs in the order of trying: versions that are known to do, then any.
fn clang_candidates() -> Vec<PathBuf> {
    let versions = [19, 20, 21, 22, 23, 18].map(|version| format!("clang-{version}"));
    let mut found: Vec<_> = versions.iter().filter_map(|name| on_path(name)).collect();
    found.extend(on_path("clang"));
    // Homebrew keeps its LLVM off the path; the system's own clang on a Mac does not know WebAssembly.
    let brewed = ["/opt/homebrew/opt/llvm/bin/clang", "/usr/local/opt/llvm/bin/clang"];
    found.extend(brewed.iter().map(PathBuf::from).filter(|clang| clang.is_file()));
    found
}

/// The `llvm-ar` of the same version, beside the compiler or on the path. Other archivers write no index of wasm objects.
fn archiver_of(clang: &Path) -> Option<PathBuf> {
    let name = clang.file_stem()?.to_str()?.replace("clang", "llvm-ar");
    let beside = exe(&clang.with_file_name(&name));
    if beside.is_file() { Some(beside) } else { on_path(&name).or_else(|| on_path("llvm-ar")) }
}

/// Whether a clang was built with the WebAssembly target.
fn knows_wasm(clang: &Path) -> bool {
    read(Command::new(clang).arg("--print-targets"))
        .is_ok_and(|text| text.lines().any(|line| line.split_whitespace().next() == Some("wasm32")))
}

/// A program's file name on this system.
fn exe(program: &Path) -> PathBuf {
    let mut name = program.as_os_str().to_owned();
    name.push(env::consts::EXE_SUFFIX);
    name.into()
}

/// Where the set-up unpacks Debian's wasi-libc.
pub(crate) fn own_wasi_libc() -> Result<PathBuf> {
    Ok(cache_dir()?.join("wasi-libc"))
}

/// Finds C headers of the target: those of `WASI_SYSROOT`, of the set-up, or of the system.
pub(crate) fn find_headers() -> Result<Option<PathBuf>> {
    let sysroot = env::var_os("WASI_SYSROOT").filter(|path| !path.is_empty()).map(PathBuf::from);
    let places = [
        sysroot.map(|dir| dir.join("include")),
        Some(own_wasi_libc()?.join("usr/include")),
        Some("/usr/include".into()),
        Some("/usr/share/wasi-sysroot/include".into()),
        Some("/opt/homebrew/opt/wasi-libc/share/wasi-sysroot/include".into()),
    ];
    Ok(places.into_iter().flatten().map(|dir| dir.join(TARGET)).find(|dir| dir.join("stdio.h").is_file()))
}

/// A variable that the `cc` crate reads for the target, in either spelling.
fn target_var(name: &str) -> Option<String> {
    [format!("{name}_{}", TARGET.replace('-', "_")), format!("{name}_{TARGET}")]
        .into_iter()
        .find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
}

/// Everything that the guest is built with.
pub(crate) struct Toolchain {
    /// The standard library.
    pub(crate) std: Std,
    /// The C compiler.
    pub(crate) compiler: CCompiler,
    /// The C headers, where the compiler does not know them.
    pub(crate) headers: Option<PathBuf>,
}

impl Toolchain {
    /// Finds all of it, or none when a piece is missing.
    pub(crate) fn find() -> Result<Option<Self>> {
        let (Some(std), Some(compiler)) = (find_std()?, find_compiler()?) else { return Ok(None) };
        let headers = if matches!(compiler, CCompiler::Clang { .. }) {
            let Some(headers) = find_headers()? else { return Ok(None) };
            Some(headers)
        } else {
            None
        };
        Ok(Some(Self { std, compiler, headers }))
    }

    /// The variables to build with, by name.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let given = |name| target_var(name).unwrap_or_default();
        let var = |name: &str, value: String| (format!("{name}_{}", TARGET.replace('-', "_")), value);
        let mut all = Vec::new();
        let mut own_flags = vec![format!("--target={TARGET}")];
        match &self.compiler {
            CCompiler::Named(_) => own_flags.clear(),
            CCompiler::Sdk(sdk) => {
                all.push(var("CC", exe(&sdk.join("bin/clang")).display().to_string()));
                all.push(var("AR", exe(&sdk.join("bin/llvm-ar")).display().to_string()));
                // Its clang knows this by itself, but one that was taken from elsewhere does not. Flags are split at
                // white space, so a path with some is left to the clang.
                let sysroot = sdk.join("share/wasi-sysroot").display().to_string();
                if !sysroot.contains(char::is_whitespace) {
                    own_flags.push(format!("--sysroot={sysroot}"));
                }
            }
            CCompiler::Clang { clang, ar } => {
                all.push(var("CC", clang.display().to_string()));
                all.push(var("AR", ar.display().to_string()));
            }
        }
        own_flags.extend(self.headers.iter().map(|dir| format!("-I{}", dir.display())));
        own_flags.extend(SQLITE_FLAGS.iter().map(|flag| (*flag).to_owned()));
        all.push(var("CFLAGS", joined(&given("CFLAGS"), &own_flags)));
        let mut flags = without_paths();
        if let Std::Own(sysroot) = &self.std {
            flags.push(format!("--sysroot={}", sysroot.display()));
        }
        // Cargo reads one of the two, and the general one first.
        let name = ["RUSTFLAGS", "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS"]
            .into_iter()
            .find(|name| env::var_os(name).is_some())
            .unwrap_or("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS");
        let given = env::var(name).unwrap_or_default();
        all.push((name.to_owned(), joined(&given, &flags)));
        all
    }
}

/// Flags by which the component says nothing of where it was built, and is the same wherever that is.
///
/// Of several prefixes of one path, the compiler takes the last.
fn without_paths() -> Vec<String> {
    let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from);
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".cargo")));
    let places = [
        (Some(root().to_owned()), "/talktree"),
        (target_dir().ok(), "/target"),
        (cargo_home, "/cargo"),
        (cache_dir().ok(), "/cache"),
    ];
    let flag = |(place, name): (Option<PathBuf>, &str)| {
        let place = place?.to_str()?.to_owned();
        // Flags are split at white space.
        (!place.contains(char::is_whitespace)).then(|| format!("--remap-path-prefix={place}={name}"))
    };
    places.into_iter().filter_map(flag).collect()
}

/// Flags with ours behind them, each once: what `cargo xtask env` printed may be in force already.
fn joined(given: &str, own: &[String]) -> String {
    let mut flags: Vec<&str> = given.split_whitespace().collect();
    for flag in own {
        if !flags.contains(&flag.as_str()) {
            flags.push(flag);
        }
    }
    flags.join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn flags_that_are_in_force_are_not_said_twice() {
        let own = ["-DA=1".to_owned(), "-I/x".to_owned()];
        let once = joined("-O2", &own);
        assert_eq!(once, "-O2 -DA=1 -I/x");
        assert_eq!(joined(&once, &own), once);
    }

    #[test]
    fn a_clang_is_told_its_target_its_headers_and_how_sqlite_is_built() {
        let tools = Toolchain {
            std: Std::Own("/cache/std".into()),
            compiler: CCompiler::Clang { clang: "/bin/clang-19".into(), ar: "/bin/llvm-ar-19".into() },
            headers: Some("/cache/include".into()),
        };
        let all = tools.environment();
        let get = |name: &str| all.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).unwrap();
        assert_eq!(get("CC_wasm32_wasip2"), "/bin/clang-19");
        assert_eq!(get("AR_wasm32_wasip2"), "/bin/llvm-ar-19");
        for flag in ["--target=wasm32-wasip2", "-I/cache/include", "-DSQLITE_OS_OTHER=1"] {
            assert!(get("CFLAGS_wasm32_wasip2").split(' ').any(|word| word == flag), "{flag}");
        }
        assert!(all.iter().any(|(name, value)| name.ends_with("RUSTFLAGS") && value.contains("--sysroot=/cache/std")));
    }

    #[test]
    fn a_directory_without_libraries_is_no_sysroot() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!has_std(dir.path()));
        let libs = target_libs(dir.path());
        fs::create_dir_all(libs.join("self-contained")).unwrap();
        fs::write(libs.join("libstd-0123.rlib"), "").unwrap();
        assert!(!has_std(dir.path()), "without the start files nothing links");
        fs::write(libs.join("self-contained/crt1-reactor.o"), "").unwrap();
        assert!(has_std(dir.path()));
    }
}
