//! Integration tests of `sturdy-engine`: whole turns against a scripted provider.

#![allow(clippy::unwrap_used, reason = "helpers of tests stop where a test would")]

mod addresses;
mod agents;
mod approvals;
mod bad_provider;
mod commands;
mod compaction;
mod config;
mod context;
mod copies;
mod crash;
mod depth;
mod desk;
mod edits_at_once;
mod extensions;
mod feed;
mod files;
mod intake;
mod invoke;
mod log_size;
mod matrix;
mod mcp;
mod mcp_login;
mod mcp_web;
mod permits;
mod projects;
mod refusals;
mod running;
mod structured;
mod supervise;
mod table;
mod tools;
mod trust;
mod turns;
mod undo;
mod undo_crash;
mod undo_edges;
mod undo_keeping;
mod unused;
mod verify;
