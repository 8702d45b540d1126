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
mod credentials;
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
