//! The hands: all code that touches the user's files, processes and git.
//!
//! A path becomes a file only through [`path`], a command becomes a process only through
//! [`process`], [`pty`] and [`git`], and everything a model may do is a [`tool`]. What is decided, stored
//! or shown is decided, stored and shown elsewhere.

pub mod bound;
pub mod format;
pub mod git;
pub mod limit;
pub mod lsp;
pub mod mcp;
pub mod packages;
pub mod path;
pub mod process;
pub mod project;
pub mod pty;
pub mod search;
pub mod shell;
pub mod snapshot;
pub mod tool;
pub mod tools;
pub mod vcs;
mod walk;
pub mod worktrees;
