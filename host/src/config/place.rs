//! Which configuration file is meant.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{ConfigError, Result};

/// Whether somebody has named the file, so that it has to be there.
pub(crate) fn is_named(option: Option<&OsStr>, variable: Option<&OsStr>) -> bool {
    option.is_some() || variable.is_some()
}

/// The file that is named, or else the user's own. None: this user has no directory for such files.
pub(crate) fn find(option: Option<&OsStr>, variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<PathBuf>> {
    if let Some(named) = option.map(OsStr::to_owned).or_else(|| variable("TALKTREE_CONFIG")) {
        // Absolute, so that what lies beside it is found from anywhere.
        return std::path::absolute(&named)
            .map(Some)
            .map_err(|error| ConfigError(format!("the configuration file {}: {error}", Path::new(&named).display())));
    }
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configurations = if cfg!(windows) {
        absolute("APPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))
    };
    Ok(configurations.map(|directory| directory.join("talktree").join("config.toml")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn found(option: Option<&str>, variables: &[(&str, &str)]) -> Option<PathBuf> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        find(option.map(OsStr::new), variable).unwrap()
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn the_option_counts_before_the_variable_and_that_before_the_user_s_directory() {
        let variables = [("TALKTREE_CONFIG", "/b.toml"), ("XDG_CONFIG_HOME", "/xdg"), ("HOME", "/home/easy")];
        assert_eq!(found(Some("/a.toml"), &variables), Some("/a.toml".into()));
        assert_eq!(found(None, &variables), Some("/b.toml".into()));
        assert_eq!(found(None, &variables[1..]), Some("/xdg/talktree/config.toml".into()));
        assert_eq!(found(None, &variables[2..]), Some("/home/easy/.config/talktree/config.toml".into()));
        assert_eq!(found(None, &[("XDG_CONFIG_HOME", "not/absolute")]), None);
        assert_eq!(found(None, &[]), None);
    }

    #[test]
    fn a_named_file_is_found_from_anywhere() {
        assert!(found(Some("talktree.toml"), &[]).unwrap().is_absolute());
    }
}
