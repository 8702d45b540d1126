//! The built program: what it prints, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod program;
mod serve;
mod tidy;
mod verify;
