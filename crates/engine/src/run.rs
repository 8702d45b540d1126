//! Sessions that run: the actor of each, the registry that finds them, and the effects they want done.
//!
//! An actor decides, commits, shows, acts (`actor.rs`); effects come back as inputs (`effects/`); what is
//! sent to a model is put together in `request.rs`.

pub(crate) mod actor;
pub(crate) mod background;
mod coalesce;
pub(crate) mod data_url;
pub(crate) mod effects;
pub(crate) mod gate;
pub(crate) mod handle;
pub(crate) mod image;
pub(crate) mod kept;
pub(crate) mod lookup;
pub(crate) mod memory;
pub(crate) mod reading;
pub(crate) mod registry;
pub(crate) mod request;
pub(crate) mod structured;
pub(crate) mod subagents;
pub(crate) mod supervise;
pub(crate) mod trees;
mod wait;
pub(crate) mod window;

pub use handle::{Handle, View};
pub use supervise::Damage;

use crate::clock::Clock;
use crate::directory::Directories;
use crate::environment::Environment;
use crate::extension::Extensions;
use crate::feed::Feed;
use crate::files::FileWork;
use crate::task::{PanicPlan, Tasks};
use background::Backgrounds;
use registry::Registry;
use std::path::PathBuf;
use std::sync::Arc;
use sturdy_store::Store;
use subagents::Subagents;
use supervise::{Quarantine, UnsettledSessions};
use trees::Trees;

/// The sessions that run, and what they run with.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub(crate) store: Store,
    pub(crate) feed: Feed,
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
    pub(crate) files: Arc<FileWork>,
    pub(crate) environment: Environment,
    pub(crate) extensions: Extensions,
    /// Tests let a task panic.
    pub(crate) panics: PanicPlan,
    /// Where the store lives, and captured trees beside it.
    pub(crate) data_dir: PathBuf,
    pub(crate) directories: Arc<Directories>,
    pub(crate) subagents: Subagents,
    pub(crate) registry: Registry,
    /// What commands left running.
    pub(crate) backgrounds: Backgrounds,
    /// Those whose task ended before its work did.
    pub(crate) lost: UnsettledSessions,
    pub(crate) quarantine: Quarantine,
    pub(crate) trees: Trees,
}
