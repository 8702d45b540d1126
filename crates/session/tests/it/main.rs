//! Integration tests of `sturdy-session`.

#![allow(clippy::unwrap_used, reason = "helpers of tests stop where a test would")]

mod bench;
mod commands;
mod compaction;
mod depth;
mod events;
mod facts;
mod file_stories;
mod forks;
mod history;
mod ids;
mod lower;
mod numbers;
mod overflow;
mod placeholders;
mod plan_stories;
mod properties;
mod queue_stories;
mod retry;
mod rules;
mod sample;
mod side_stories;
mod step_stories;
mod stories;
mod structured;
mod tail;
mod titles;
mod told;
mod types;
mod usage;
mod wire;
