//! Providers over real sockets: scripted servers on loopback, written for these tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod anthropic;
mod auth;
mod catalog;
mod chat;
mod chat_request;
mod demo;
mod gemini;
mod matrix;
mod options;
mod responses;
mod server;
mod strict;
mod transport;
mod unlisted;
