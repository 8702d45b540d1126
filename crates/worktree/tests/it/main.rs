//! Everything the hands do, done to real files and processes.

#![allow(clippy::unwrap_used, reason = "a helper that cannot set the scene fails the test")]

mod background;
mod bash;
mod bench;
mod bound;
mod change;
mod find;
mod format;
mod git;
mod lsp;
mod mcp;
mod others;
mod path;
mod process;
mod project;
mod pty;
mod read;
mod sandbox;
mod shell;
mod snapshot;
mod tricks;
mod vcs;
mod webfetch;
mod worktrees;
