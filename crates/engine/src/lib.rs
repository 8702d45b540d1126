//! Runs sessions: actors, effects, settings, feed.
//!
//! A session is an actor (`actor.rs`): it takes what happened, lets the pure machine decide, makes the
//! facts durable, shows them, and only then does what they ask for (`effects.rs`). Everybody who looks
//! reads the feed (`feed.rs`). A directory is an instance (`instance.rs`): its project, settings,
//! agents and models.
//!
//! This is the only crate that knows store, providers and worktree; each of them knows nothing of the
//! others.

pub mod behalf;
mod boot;
pub mod clock;
pub mod directory;
mod engine;
pub mod environment;
mod error;
pub mod extension;
pub mod feed;
pub mod files;
pub mod reads;
pub mod records;
mod requests;
mod run;
mod schema;
pub mod share;
pub mod task;
mod upkeep;
pub mod verify;

pub use directory::Instance;
pub use engine::{Engine, EngineOptions};
pub use environment::Environment;
pub use error::{BootError, EngineError};
pub use requests::{
    ChangedSettings, CommandRequest, LeftOutFile, NewSession, PlannedFile, ProjectEdit, PromptRequest,
    RevertPlan, RevertRequest, ShellRequest, Unreverted, WantedPermission,
};
pub use run::{Damage, Handle, View};
pub use sturdy_worktree::process::{SandboxOffer, keep_variables, sandbox_offer};
pub use upkeep::{Garbage, GarbageReport, TreesUsage, trees_usage};
