//! The built program: what it prints, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(target_os = "linux")]
mod disk;
mod hang;
mod program;
mod run;
mod serve;
mod sessions;
mod tidy;
mod undo;
mod verify;
