//! HTTP against a real socket, with the demo provider, in a world of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod api;
mod asks;
mod auth;
mod bodies;
mod door;
mod edge;
mod events;
mod events_resumed;
mod files;
mod formatters;
mod grants;
mod history;
mod languages;
mod mcp;
mod messages;
mod metrics;
mod page;
mod prompts;
mod protocols;
mod protocols_heard;
mod reads;
mod relay;
mod room;
mod rpc;
mod secrets;
mod sessions;
mod share_sending;
mod shares;
mod stream;
mod tokens;
mod trust;
mod turns;
mod vcs;
mod world;
