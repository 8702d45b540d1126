//! What a directory says: its project, settings, agents, commands, skills, instructions, and the MCP and
//! language servers it names.
//!
//! An [`Instance`] is one directory as the server knows it. Everything here is read, never decided: what a
//! session does with it stands in `run`, what a person asks for in `requests`.

pub mod agents;
pub(crate) mod asking;
pub(crate) mod branch;
pub(crate) mod checkouts;
pub mod commands;
pub mod config;
pub mod context;
mod formatters;
pub(crate) mod instance;
pub(crate) mod instances;
pub mod instructions;
mod languages;
pub mod mcp;
pub(crate) mod permits;
pub(crate) mod sandbox;
pub(crate) mod scratch;
pub mod skills;
pub mod trust;
pub(crate) mod variables;

pub use instance::Instance;

use crate::clock::Clock;
use crate::environment::Environment;
use crate::extension::Extensions;
use crate::feed::Feed;
use crate::files::FileWork;
use crate::task::{PanicPlan, Tasks};
use asking::Asking;
use checkouts::Checkouts;
use instances::Instances;
use mcp::Callback;
use std::path::PathBuf;
use std::sync::Arc;
use sturdy_llm::Http;
use sturdy_store::Store;
use sturdy_worktree::mcp::auth::Logins;
use trust::Trusting;

/// The directories that are served, and what is needed to know them.
#[derive(Debug)]
pub(crate) struct Directories {
    pub(crate) store: Store,
    pub(crate) feed: Feed,
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
    pub(crate) http: Http,
    pub(crate) files: Arc<FileWork>,
    pub(crate) environment: Environment,
    pub(crate) extensions: Extensions,
    pub(crate) panics: PanicPlan,
    /// Where the store lives.
    pub(crate) data_dir: PathBuf,
    /// Where the server works when a request names no directory.
    pub(crate) default_directory: PathBuf,
    pub(crate) instances: Instances,
    /// At MCP servers; one file for all directories.
    pub(crate) logins: Logins,
    pub(crate) returns: Callback,
    pub(crate) trust: Arc<Trusting>,
    /// Where they were when they were last opened.
    pub(crate) checkouts: Arc<Checkouts>,
    pub(crate) asking: Asking,
}

impl Directories {
    /// Where outputs too long for a model are kept whole.
    pub(crate) fn output_dir(&self) -> PathBuf {
        self.data_dir.join("tool-output")
    }

    /// The name under which commands of this store are known to the system.
    pub(crate) fn realm(&self) -> String {
        let place = self.data_dir.canonicalize().unwrap_or_else(|_| self.data_dir.clone());
        place.to_string_lossy().into_owned()
    }
}
