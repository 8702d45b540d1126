//! Everything the hands do, done to real files and processes.

#![allow(clippy::unwrap_used, reason = "a helper that cannot set the scene fails the test")]

mod bound;
mod path;
mod process;
mod project;
mod shell;
