//! The log: on stderr, as much of it as `TALKTREE_LOG` asks for.

use std::io;

use tracing_subscriber::EnvFilter;

/// Names the variable that says how much is logged.
const VARIABLE: &str = "TALKTREE_LOG";

/// Starts the log of this process. A filter that makes no sense is said so, and warnings are logged.
pub(crate) fn start() {
    let wanted = std::env::var(VARIABLE).ok().filter(|filter| !filter.is_empty());
    let (filter, refused) = match EnvFilter::try_new(wanted.as_deref().unwrap_or("warn")) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("warn"), Some(error)),
    };
    let colours = !matches!(anstream::AutoStream::choice(&io::stderr()), anstream::ColorChoice::Never);
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(colours).init();
    if let Some(error) = refused {
        tracing::warn!("{VARIABLE} is no filter ({error}); warnings are logged");
    }
}
