//! What can be wrong on a machine and in a root, and what to do about it.
//!
//! Nothing is changed, made or repaired: files are opened for reading only. A tenant that is looked at in depth is
//! [`busy`](crate::ErrorKind::Busy) for others meanwhile.
//!
//! ```no_run
//! # async fn example() -> talktree::Result<()> {
//! use talktree::doctor::{Examination, Level};
//!
//! for finding in Examination::default().root("data").run().await? {
//!     if finding.level >= Level::Warning {
//!         println!("{}: {}", finding.check, finding.sentence);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod file_system;
mod holders;
mod machine;
mod root;
mod store;
mod tenants;
mod token_file;

use std::path::PathBuf;
use std::time::SystemTime;

use crate::call::blocking;
use crate::error::Result;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// All is well.
    Ok,
    /// Worth knowing.
    Note,
    /// It works, and something should be done.
    Warning,
    /// Something does not work, or data are at risk.
    Problem,
}

impl Level {
    /// Its name: `ok`, `note`, `warning`, `problem`.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What was looked at: `component`, `cache`, `root`, `file-system`, `space`, `tenant`, `lock`, `left-over`, `schema`,
    /// `integrity`, `token-file`, `clock`, `limits`, `temporary`.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// Which one, where there are several: a tenant, a path.
    pub about: Option<String>,
    /// What was found, for a person.
    pub sentence: String,
    /// What to do.
    pub advice: Option<String>,
}

impl Finding {
    /// What was found by a check.
    pub fn new(check: &'static str, level: Level, sentence: impl Into<String>) -> Self {
        Self { check, level, about: None, sentence: sentence.into(), advice: None }
    }

    /// The same, with the thing that it is about.
    #[must_use]
    pub fn about(self, about: impl Into<String>) -> Self {
        Self { about: Some(about.into()), ..self }
    }

    /// The same, with what to do.
    #[must_use]
    pub fn advice(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// What is to be looked at.
#[derive(Clone, Debug)]
#[must_use = "nothing is looked at before `run`"]
pub struct Examination {
    root: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
    token_file: Option<PathBuf>,
    max_live_tenants: u64,
    max_connections: u64,
    component: bool,
    deep: bool,
    now: Option<SystemTime>,
}

impl Default for Examination {
    fn default() -> Self {
        Self {
            root: None,
            cache_dir: None,
            token_file: None,
            max_live_tenants: 256,
            max_connections: 1_024,
            component: true,
            deep: false,
            now: None,
        }
    }
}

impl Examination {
    /// The root with its tenants. Without one only the machine is looked at.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Where compiled code is kept, if not in the user's cache directory.
    pub fn cache_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(directory.into());
        self
    }

    /// The file with the hashes of tokens.
    pub fn token_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.token_file = Some(file.into());
        self
    }

    /// For how many live tenants and open connections the limits of the system have to do; 256 and 1,024 by default.
    pub fn load(mut self, live_tenants: u64, connections: u64) -> Self {
        (self.max_live_tenants, self.max_connections) = (live_tenants, connections);
        self
    }

    /// Whether the component is compiled, which takes some seconds; true by default.
    pub fn component(mut self, component: bool) -> Self {
        self.component = component;
        self
    }

    /// Whether all of every store is read, as [`Tenant::check`](crate::Tenant::check) does, without writing; false by
    /// default.
    pub fn deep(mut self, deep: bool) -> Self {
        self.deep = deep;
        self
    }

    /// What the clock says, instead of asking it.
    pub fn now(mut self, now: SystemTime) -> Self {
        self.now = Some(now);
        self
    }

    /// Looks at everything, and tells what it found: what is well, too, in one finding for each kind of check.
    ///
    /// # Errors
    ///
    /// `busy` where no thread can be started.
    pub async fn run(self) -> Result<Vec<Finding>> {
        blocking(move || {
            let mut found = Vec::new();
            machine::examine(&self, &mut found);
            if let Some(file) = &self.token_file {
                found.push(token_file::examine(file));
            }
            if let Some(root) = &self.root {
                root::examine(root, &mut found);
                if root.is_dir() {
                    tenants::examine(root, &self, &mut found);
                }
            }
            Ok(found)
        })
        .await
    }

    fn clock(&self) -> SystemTime {
        self.now.unwrap_or_else(SystemTime::now)
    }
}
