//! Packages of Debian without installing them: fetched through apt, from the machine's own mirror, and unpacked into a
//! directory. That takes no root rights and changes nothing of the system.
//!
//! The wasi-libc of Debian 12 and 13 themselves is too old for wasm32-wasip2; their backports have one. It is for all
//! architectures and has no dependencies, so it can be unpacked on any Debian.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    process::{on_path, read, run},
    project::{cache_dir, unfinished},
};

/// Where wasi-libc and Rust's sources come from.
pub(super) const BACKPORTS: &str = "trixie-backports";

/// Whether this is Debian itself: relatives such as Ubuntu have mirrors without Debian's suites.
pub(crate) fn is_debian() -> bool {
    os_release("ID").as_deref() == Some("debian") && on_path("apt-get").is_some()
}

/// A field of the system's description.
fn os_release(field: &str) -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix('='))?;
    Some(value.trim_matches('"').to_owned())
}

/// Whether this process may install packages.
pub(crate) fn is_root() -> Result<bool> {
    Ok(read(Command::new("id").arg("-u"))?.trim() == "0")
}

/// Whether apt's lists have a package to install.
pub(super) fn knows_package(name: &str) -> bool {
    read(Command::new("apt-cache").args(["policy", name]))
        .is_ok_and(|text| text.lines().any(|line| line.contains("Candidate:") && !line.contains("(none)")))
}

/// Fetches a package of a suite and unpacks it as `to`, which is complete or not there.
///
/// Of several versions it takes the newest that begins with `version`, or the newest of all.
pub(crate) fn unpack(suite: &str, package: &str, version: Option<&str>, to: &Path) -> Result<()> {
    let apt = Apt::of_the_machine(suite)?;
    let wanted = match version {
        Some(prefix) => format!("{package}={}", apt.newest(package, prefix)?),
        None => package.to_owned(),
    };
    let work = unfinished(to);
    let files = work.join("files");
    fs::create_dir_all(&files).with_context(|| format!("create {}", files.display()))?;
    let done = (|| {
        run(apt.command("apt-get").args(["-qq", "download", &wanted]).current_dir(&work))?;
        let deb = fs::read_dir(&work)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|ending| ending == "deb"))
            .with_context(|| format!("apt-get downloaded no {wanted}"))?;
        run(Command::new("dpkg-deb").arg("--extract").arg(deb).arg(&files))?;
        if to.exists() {
            fs::remove_dir_all(to)?;
        }
        fs::rename(&files, to).with_context(|| format!("rename to {}", to.display()))
    })();
    // What is left is a package file that nobody needs, whether this went well or not.
    fs::remove_dir_all(&work).ok();
    done
}

/// A view of the machine's mirror and keys with one other suite in it, in a directory of ours.
struct Apt {
    dir: PathBuf,
    suite: String,
}

impl Apt {
    /// Sets the view up and fetches the suite's list of packages.
    fn of_the_machine(suite: &str) -> Result<Self> {
        let apt = Self { dir: cache_dir()?.join("apt"), suite: suite.to_owned() };
        for sub in ["lists/partial", "cache/archives/partial"] {
            let dir = apt.dir.join(sub);
            fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        }
        let key = keyring()?;
        let source = format!("deb [signed-by={}] {} {suite} main\n", key.display(), mirror()?);
        fs::write(apt.dir.join("sources.list"), source)?;
        run(apt.command("apt-get").args(["-qq", "update"]))?;
        Ok(apt)
    }

    /// An apt program that sees only this view.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let option = |name: &str, value: &Path| format!("-o{name}={}", value.display());
        command
            .arg(option("Dir::Etc::sourcelist", &self.dir.join("sources.list")))
            .arg("-oDir::Etc::sourceparts=/dev/null")
            .arg(option("Dir::State::Lists", &self.dir.join("lists")))
            .arg(option("Dir::Cache", &self.dir.join("cache")))
            // Root's apt would fetch as another user, who cannot write here.
            .arg("-oAPT::Sandbox::User=root");
        command
    }

    /// The newest version of a package that begins with `prefix`.
    fn newest(&self, package: &str, prefix: &str) -> Result<String> {
        let text = read(self.command("apt-cache").args(["madison", package]))?;
        newest_of(&text, prefix).with_context(|| format!("{} has no {package} {prefix}", self.suite))
    }
}

/// The first version in the output of `apt-cache madison`, which is sorted, that begins with `prefix`.
fn newest_of(madison: &str, prefix: &str) -> Option<String> {
    let versions = madison.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim);
    versions.into_iter().find(|version| version.starts_with(prefix)).map(str::to_owned)
}

/// Debian's public keys.
fn keyring() -> Result<PathBuf> {
    let places = ["gpg", "pgp"].map(|ending| format!("/usr/share/keyrings/debian-archive-keyring.{ending}"));
    let found = places.iter().map(PathBuf::from).find(|file| file.is_file());
    found.context("no keyring of Debian's archive: install the package debian-archive-keyring")
}

/// The mirror that the machine is set up to use.
fn mirror() -> Result<String> {
    let format = "$(COMPONENT) $(RELEASE) $(REPO_URI)";
    let text = read(Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]))?;
    mirror_among(&text, &os_release("VERSION_CODENAME").unwrap_or_default())
        .context("apt knows no mirror of Debian: is there none in its list of sources?")
}

/// The mirror of the release itself, among lines of component, release and address. A release without a code name in
/// the system's description is testing or unstable.
fn mirror_among(lines: &str, codename: &str) -> Option<String> {
    let releases = [codename, "stable", "testing", "sid", "unstable"];
    lines.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (component, release, address) = (words.next()?, words.next()?, words.next()?);
        (component == "main" && releases.contains(&release)).then(|| address.to_owned())
    })
}

/// Installs packages with apt-get, as root.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if !packages.iter().all(|package| knows_package(package)) {
        run(Command::new("apt-get").args(["-qq", "update"]))?;
    }
    let words = ["-qq", "install", "-y", "--no-install-recommends"];
    run(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(words).args(packages))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn the_mirror_is_the_releases_own_and_not_that_of_another_repository() {
        let lines = "stable bookworm http://docker.example/debian\n\
                     main bookworm-security http://mirror.example/debian-security/\n\
                     main bookworm http://mirror.example/debian/\n";
        assert_eq!(mirror_among(lines, "bookworm").unwrap(), "http://mirror.example/debian/");
        assert_eq!(mirror_among(lines, "trixie"), None);
        assert_eq!(
            mirror_among("main sid http://mirror.example/debian/\n", "").unwrap(),
            "http://mirror.example/debian/"
        );
    }

    #[test]
    fn a_version_is_chosen_by_its_beginning() {
        let madison = " rust-src | 1.97.1+dfsg1-1~bpo13+1 | http://mirror.example trixie-backports/main\n \
                        rust-src | 1.95.0+dfsg1-2~bpo13+1 | http://mirror.example trixie-backports/main\n";
        assert_eq!(newest_of(madison, "1.95.0+").unwrap(), "1.95.0+dfsg1-2~bpo13+1");
        assert_eq!(newest_of(madison, "1.96.0+"), None);
    }
}
