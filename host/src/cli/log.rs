//! The log: on stderr, as much of it as is asked for.

use std::io;

use tracing_subscriber::{EnvFilter, filter::Directive};

/// Starts the log of this process. A filter that makes no sense is said so, and warnings are logged.
pub(crate) fn start(wanted: Option<&str>) {
    // What serves MCP logs whole messages: whatever is asked for, they stay out.
    let quiet = "rmcp=error".parse::<Directive>().ok();
    let (filter, refused) = match EnvFilter::try_new(wanted.unwrap_or("warn")) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("warn"), Some(error)),
    };
    let filter = quiet.into_iter().fold(filter, EnvFilter::add_directive);
    let colours = !matches!(anstream::AutoStream::choice(&io::stderr()), anstream::ColorChoice::Never);
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(colours).init();
    if let Some(error) = refused {
        tracing::warn!("the level of the log (--log, TALKTREE_LOG) is no filter ({error}); warnings are logged");
    }
}
