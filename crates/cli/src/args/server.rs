//! Which server a command talks to.

use super::DataDir;
use clap::Args;
use std::path::PathBuf;

/// Without `--server` the server of the store is used; if none runs, one is started inside this program
/// and ends with it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerChoice {
    /// Talk to the server at this URL instead of the one that serves the store
    #[arg(long, value_name = "URL", env = "STURDY_SERVER")]
    pub(crate) server: Option<String>,

    /// Work in this directory; by default the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) data: DataDir,
}
