//! Integration tests of `sturdy-session`.

#![allow(clippy::unwrap_used, reason = "helpers of tests stop where a test would")]

mod events;
mod facts;
mod ids;
mod numbers;
mod rules;
mod titles;
mod types;
mod usage;
mod wire;
