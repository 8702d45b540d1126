//! The built program: what it prints, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(target_os = "linux")]
mod disk;
mod environment;
mod hang;
#[cfg(target_os = "linux")]
mod migrate;
#[cfg(target_os = "linux")]
mod mount;
#[cfg(target_os = "linux")]
mod preload;
mod program;
#[cfg(target_os = "linux")]
mod pry;
mod run;
mod serve;
mod sessions;
mod share;
mod tidy;
mod traces;
mod undo;
mod undo_api;
mod undo_disk;
mod undo_kill;
mod verify;
