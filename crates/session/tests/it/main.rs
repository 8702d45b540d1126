//! Integration tests of `sturdy-session`.

#![allow(clippy::unwrap_used, reason = "helpers of tests stop where a test would")]

mod commands;
mod events;
mod facts;
mod history;
mod bench;
mod ids;
mod lower;
mod numbers;
mod overflow;
mod retry;
mod rules;
mod sample;
mod tail;
mod titles;
mod types;
mod usage;
mod wire;
mod stories;
mod properties;
