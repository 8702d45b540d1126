//! Runs sessions: actors, effects, settings, feed.
//!
//! A session is an actor (`actor.rs`): it takes what happened, lets the pure machine decide, makes the
//! facts durable, shows them, and only then does what they ask for (`effects.rs`). Everybody who looks
//! reads the feed (`feed.rs`). A directory is an instance (`instance.rs`): its project, settings,
//! agents and models.
//!
//! This is the only crate that knows store, providers and worktree; each of them knows nothing of the
//! others.

mod actor;
pub mod agents;
mod boot;
mod branch;
pub mod clock;
mod coalesce;
pub mod commands;
pub mod config;
pub mod context;
mod credentials;
mod data_url;
mod edits;
mod effects;
mod engine;
pub mod environment;
mod error;
pub mod extension;
pub mod feed;
mod fork;
mod formatters;
mod handle;
mod instance;
pub mod instructions;
mod intake;
mod invoke;
mod languages;
pub mod mcp;
mod mentions;
mod picture;
mod prompt;
mod registry;
mod request;
mod schema;
mod sessions;
mod shell;
pub mod skills;
mod structured;
mod summarize;
pub mod task;
mod upkeep;
mod window;

pub use engine::{Engine, EngineOptions};
pub use environment::Environment;
pub use error::{BootError, EngineError};
pub use handle::{Handle, View};
pub use instance::Instance;
pub use invoke::CommandRequest;
pub use prompt::PromptRequest;
pub use sessions::NewSession;
pub use shell::ShellRequest;
